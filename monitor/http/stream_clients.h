// A stream of messages and its clients: the readings of /api/v1/stream, or a view of an instrument.
//
// Thread safety: the server's I/O thread.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "monitor/http/counts.h"

namespace lapwing {

using StreamMessage = std::shared_ptr<const std::string>;  // a JSON object with at least one key

class StreamClient {
 public:
  virtual ~StreamClient() = default;
  // Sends the message now. If another one is still being sent, sends it afterwards, unless a newer
  // one replaces it first.
  virtual void offer(const StreamMessage& message) = 0;
  virtual void close() = 0;
};

class StreamClients {
 public:
  // Several streams may share counts.
  explicit StreamClients(std::shared_ptr<StreamCounts> counts) : counts_(std::move(counts)) {}

  // The client receives the newest message at once.
  void add(const std::shared_ptr<StreamClient>& client) {
    forget_the_gone();
    clients_.push_back(client);
    if (newest_) client->offer(newest_);
  }
  void offer(StreamMessage message) {
    newest_ = std::move(message);
    forget_the_gone();
    for (const auto& weak : std::vector(clients_)) {
      if (const auto client = weak.lock()) client->offer(newest_);
    }
  }
  StreamCounts& counts() { return *counts_; }

 private:
  // Also called by add(). Otherwise a view that sends nothing would keep an
  // entry for each past client.
  void forget_the_gone() {
    std::erase_if(clients_, [](const auto& client) { return client.expired(); });
  }

  const std::shared_ptr<StreamCounts> counts_;
  std::vector<std::weak_ptr<StreamClient>> clients_;
  StreamMessage newest_;
};

}  // namespace lapwing
