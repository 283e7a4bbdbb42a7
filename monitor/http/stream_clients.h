// The clients of /api/v1/stream.
//
// Thread safety: the server's I/O thread.
#pragma once

#include <memory>
#include <vector>

#include "monitor/http/snapshot.h"

namespace lapwing {

class StreamClient {
 public:
  virtual ~StreamClient() = default;
  // Sends it now or, where another one is under way, afterwards, unless a newer one comes first.
  virtual void offer(const std::shared_ptr<const Snapshot>& snapshot) = 0;
  virtual void close() = 0;
};

class StreamClients {
 public:
  void add(std::weak_ptr<StreamClient> client) { clients_.push_back(std::move(client)); }
  void offer(const std::shared_ptr<const Snapshot>& snapshot) {
    std::erase_if(clients_, [](const auto& client) { return client.expired(); });
    for (const auto& weak : std::vector(clients_)) {
      if (const auto client = weak.lock()) client->offer(snapshot);
    }
  }

 private:
  std::vector<std::weak_ptr<StreamClient>> clients_;
};

}  // namespace lapwing
