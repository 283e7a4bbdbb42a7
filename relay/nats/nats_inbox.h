// The arrivals on a connection that the owner has not yet taken.
//
// Messages beyond kRelayInboxBytesMax are dropped and counted. Acks and entries without a message are
// always kept: there is one ack per append, and a reading adds few entries of its own.
//
// Thread safety: any thread; only one thread takes.
#pragma once

#include <nats/nats.h>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/statusor.h"
#include "os/unique_fd.h"
#include "relay/transport.h"

namespace lapwing {

// A message that libnats has allocated.
class NatsMessage {
 public:
  NatsMessage() = default;
  explicit NatsMessage(natsMsg* message) : message_(message) {}

  natsMsg* get() const { return message_.get(); }
  std::string_view subject() const { return natsMsg_GetSubject(get()); }
  std::string_view reply_to() const {
    const char* const reply = natsMsg_GetReply(get());
    return reply == nullptr ? std::string_view() : reply;
  }
  std::span<const std::byte> bytes() const {
    return std::as_bytes(std::span(natsMsg_GetData(get()), size()));
  }
  std::size_t size() const { return static_cast<std::size_t>(natsMsg_GetDataLength(get())); }
  // Empty if the message does not have it.
  std::string_view header(const char* name) const {
    const char* value = nullptr;
    const natsStatus status = natsMsgHeader_Get(get(), name, &value);
    return status == NATS_OK && value != nullptr ? value : std::string_view();
  }

 private:
  struct Destroy {
    void operator()(natsMsg* message) const { natsMsg_Destroy(message); }
  };
  std::unique_ptr<natsMsg, Destroy> message_;
};

struct NatsArrival {
  RelayArrivalKind kind{};
  NatsMessage message{};
  RelaySubject subject{};             // kPublished
  RelayAskId ask = 0;                 // kAnswer
  std::uint64_t reading = 0;          // kStored, kReadEnded: number of the reading
  std::uint64_t stream_sequence = 0;  // kStored; 0: a request for flow control, to be answered once
  std::uint64_t stream_pending = 0;   //   all arrivals before it are taken
  std::string text{};                 // kReadEnded: reason; flow control: subject of the answer
};

struct NatsAckArrival {
  std::uint64_t append = 0;  // 0: of the oldest append, because no stream has its subject
  NatsMessage message{};
};

class NatsInbox {
 public:
  // Errors: kLimit, kSystem.
  static absl::StatusOr<std::unique_ptr<NatsInbox>> make();

  // Returns false if the inbox is full. The message is dropped.
  bool add(NatsArrival arrival);
  void add_ack(NatsAckArrival ack);
  // Makes fd() readable for good.
  void end();

  std::optional<NatsArrival> take();
  std::optional<NatsAckArrival> take_ack();
  std::uint64_t dropped() const;
  int fd() const { return event_.get(); }

 private:
  explicit NatsInbox(UniqueFd event) : event_(std::move(event)) {}
  void update_event();  // the lock is held

  const UniqueFd event_;
  mutable std::mutex mutex_;
  std::deque<NatsArrival> arrivals_;  // and all below: behind the lock
  std::deque<NatsAckArrival> acks_;
  std::size_t bytes_ = 0;
  std::uint64_t dropped_ = 0;
  bool ended_ = false;
  bool signalled_ = false;
};

}  // namespace lapwing
