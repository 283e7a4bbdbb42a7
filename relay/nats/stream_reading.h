// A reading of the stream: checks that no message is missing and that the consumer is alive.
//
// The messages of a consumer are numbered. If one is missing, if heartbeats stop or if the server ends
// the consumer, the reading ends. The caller begins a new one, with a new consumer.
//
// Flow control: the server requests an answer after about half of the bytes that it may have on their
// way, which are at most 32 MiB. The answer is due once all messages before the request are taken, so
// the request waits in the inbox.
//
// Thread safety: any thread.
#pragma once

#include <cstdint>
#include <mutex>
#include <string>

#include "relay/nats/jetstream.h"
#include "relay/nats/nats_inbox.h"

namespace lapwing {

class StreamReading {
 public:
  explicit StreamReading(NatsInbox& inbox) : inbox_(inbox) {}

  // Messages belong to a new reading from now on.
  void begin(std::uint64_t now_ns);
  void set_consumer(std::string consumer);
  // Ends the reading without kReadEnded. Later messages are ignored. Returns its consumer, which is to
  // be deleted; empty if there is none.
  std::string stop();
  // Whether an arrival belongs to the current reading.
  bool is_current(const NatsArrival& arrival) const;

  // Called by the thread of the connection.
  void receive(NatsMessage message, std::uint64_t now_ns);
  void tick(std::uint64_t now_ns);

 private:
  void receive_control(const NatsMessage& message);  // the lock is held, also in the others
  void add_flow_control(std::string_view reply_to);
  void end(std::string why);

  NatsInbox& inbox_;
  mutable std::mutex mutex_;
  std::uint64_t reading_ = 0;
  bool is_active_ = false;
  std::uint64_t delivered_ = 0;  // consumer sequence of the last message
  std::uint64_t heard_ns_ = 0;
  std::string consumer_;
  std::string flow_control_;  // the newest request
};

}  // namespace lapwing
