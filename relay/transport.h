// The interface of a relay to a message system. relay/nats implements it over NATS,
// testing/relay_network.h in memory and with faults.
//
// send() delivers a message to the transports that listen at that moment. append() also stores it in
// the stream of the bus, under a stream sequence, so that it can be read later. Arrivals wait in one
// bounded inbox:
//
//   transport->listen(subjects);
//   transport->read_from(sequence, deadline);
//   for (;;) {
//     auto arrival = transport->take(deadline);
//     if (!arrival.ok()) break;             // the connection is lost: make another one
//     if (*arrival) handle(**arrival);
//   }
//
// A transport is one connection. A lost connection stays lost: take() first returns the arrivals that
// are left, and then every call returns the reason. The owner makes a new transport.
//
// Thread safety: send(), answer() and dropped() may be called from any thread, everything else from
// one thread at a time.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "lapwing/detail/enum_names.h"
#include "lapwing/waiting.h"

namespace lapwing {

inline constexpr std::size_t kRelayInboxBytesMax = std::size_t{64} << 20;

// The subjects of one bus (relay/names.h). Messages of one subject from one sender arrive in the
// order in which they were sent; there is no order between subjects.
enum class RelaySubject : std::uint32_t {
  kLog = 1,  // the only subject that the stream stores
  kLive = 2,
  kBeat = 3,
  kAsk = 4,
};
inline constexpr RelaySubject kRelaySubjects[] = {RelaySubject::kLog, RelaySubject::kLive,
                                                  RelaySubject::kBeat, RelaySubject::kAsk};

constexpr const char* name_of(RelaySubject subject) {
  constexpr detail::EnumName<RelaySubject> kNames[] = {{RelaySubject::kLog, "log"},
                                                       {RelaySubject::kLive, "live"},
                                                       {RelaySubject::kBeat, "beat"},
                                                       {RelaySubject::kAsk, "ask"}};
  return detail::name_in(kNames, subject);
}

using RelayAskId = std::uint64_t;

enum class RelayArrivalKind : std::uint32_t {
  kPublished = 1,  // on a subject that this end listens to
  kStored = 2,     // the next message of the stream, after read_from()
  kAnswer = 3,     // to an ask() of this end; an ask may have several
  kReadEnded = 4,  // the reading has failed: call read_from() again
};

struct RelayArrival {
  RelayArrivalKind kind{};
  // All of these are valid until the next take().
  std::span<const std::byte> message;
  std::string_view reply_to;          // kPublished, of an ask: for answer(); else empty
  std::string_view reason;            // kReadEnded
  RelaySubject subject{};             // kPublished
  RelayAskId ask = 0;                 // kAnswer
  std::uint64_t stream_sequence = 0;  // kStored
  std::uint64_t stream_pending = 0;   // kStored: number of later messages in the stream
};

enum class RelayAckResult : std::uint32_t {
  kStored = 1,
  kWrongLast = 2,  // the stream's last sequence differs from `expected_last`
  kNoSpace = 3,
  kNoStream = 4,
  kRefused = 5,
  kTimedOut = 6,  // unknown whether it is stored: read the tail
};

constexpr const char* name_of(RelayAckResult result) {
  constexpr detail::EnumName<RelayAckResult> kNames[] = {
      {RelayAckResult::kStored, "stored"},    {RelayAckResult::kWrongLast, "wrong-last"},
      {RelayAckResult::kNoSpace, "no-space"}, {RelayAckResult::kNoStream, "no-stream"},
      {RelayAckResult::kRefused, "refused"},  {RelayAckResult::kTimedOut, "timed-out"}};
  return detail::name_in(kNames, result);
}

struct RelayAck {
  RelayAckResult result{};
  std::uint64_t expected_last = 0;    // that of the append()
  std::uint64_t stream_sequence = 0;  // kStored: of the message
  std::string reason;                 // empty with kStored
};

// Options of a new stream. Those of an existing stream must be equal.
struct RelayStreamOptions {
  std::uint64_t bytes_max = std::uint64_t{64} << 30;  // the oldest messages are discarded beyond it
  std::chrono::nanoseconds age_max{0};                // 0: unlimited
  std::uint32_t replicas = 1;
};

struct RelayTail {
  std::uint64_t last = 0;   // sequence of the newest message, even if it is discarded; 0: none
  std::uint64_t first = 0;  // sequence of the oldest message; last + 1 if there is none
  std::vector<std::byte> message;  // the newest message; empty if it is discarded or damaged
};

class RelayTransport {
 public:
  // Waits up to 500 ms until the other side has received the messages that were sent.
  virtual ~RelayTransport() = default;

  // Returns once the message is on its way, whether or not a transport listens. If the connection is
  // full for 5 s, it is lost.
  virtual absl::Status send(RelaySubject subject, std::span<const std::byte> message) = 0;

  // Sends the message on kLog. It is stored if the stream's last sequence is `expected_last`. Does not
  // wait: take_ack() returns one ack for each append() that returned OK.
  virtual absl::Status append(std::span<const std::byte> message, std::uint64_t expected_last) = 0;
  // The next ack; nullopt if none has arrived, or if the connection is lost. An append without an ack
  // for 5 s ends with kTimedOut. fd() does not become readable for that.
  virtual std::optional<RelayAck> take_ack() = 0;

  // Creates the stream, or checks an existing one. Errors: kInvalidArgument if it has another
  // configuration, with the difference; kNoSpace; kUnsupported if the server stores no streams;
  // kTimedOut.
  virtual absl::Status open_stream(const RelayStreamOptions& options, Deadline deadline) = 0;
  // The end of the stream, from its leader. Errors: kNotFound if there is no stream; kUnsupported;
  // kTimedOut.
  virtual absl::StatusOr<RelayTail> tail(Deadline deadline) = 0;

  // Begins a reading, which replaces the one before. Its messages arrive in the inbox until
  // stop_reading() or kReadEnded, from this sequence on. If that message is discarded, the next one is
  // the first. If the stream ends before it, the next append is the first. At most half of the inbox
  // is on its way at a time: a slow caller of take() slows the reading down and loses nothing.
  // Errors: kNotFound if there is no stream; kUnsupported; kTimedOut.
  virtual absl::Status read_from(std::uint64_t stream_sequence, Deadline deadline) = 0;
  virtual void stop_reading() = 0;

  // Once per subject. A message arrives if it is sent after the next tail() or read_from() has
  // returned. Errors: kMisuse for a second time.
  virtual absl::Status listen(std::span<const RelaySubject> subjects) = 0;

  // Sends the message on kAsk. Answers arrive as kAnswer with this id; there may be none.
  virtual absl::StatusOr<RelayAskId> ask(std::span<const std::byte> message) = 0;
  virtual absl::Status answer(std::string_view reply_to, std::span<const std::byte> message) = 0;

  // The oldest arrival in the inbox; nullopt if there is none by the deadline.
  virtual absl::StatusOr<std::optional<RelayArrival>> take(Deadline deadline) = 0;
  // Number of messages that were dropped because the inbox contained kRelayInboxBytesMax.
  virtual std::uint64_t dropped() const = 0;
  // Readable while an arrival or an ack is waiting, and once the connection is lost.
  virtual int fd() const = 0;
};

}  // namespace lapwing
