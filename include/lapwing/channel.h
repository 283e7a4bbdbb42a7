// Options, messages and counters that all ends of a channel share: ChannelProducer
// (lapwing/producer.h), ChannelConsumer (lapwing/consumer.h) and Duplex (lapwing/duplex.h).
//
// A channel carries messages from one process to another, in order. Messages may be empty and have
// a configured maximum size. No message is overwritten: a producer that is ahead waits. See
// docs/explanation/channel-protocol.md for the layout, the protocol and the handling of failures.
//
// Threads: any thread may use an end, but only one at a time. A call made while another call on the
// same end sleeps returns kMisuse. interrupt() may be called at any time.
//
// Fork: in a forked child every operation on the parent's ends returns kForked. There, fd() is -1,
// arm() returns false, counters() are 0, and close() and the destructor do nothing. Borrowed and
// claimed channel memory is not mapped. The fork does not affect the other side, which is notified
// as soon as the parent ends, even if the child is still running. The child may connect or accept
// ends of its own.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <type_traits>

#include "lapwing/detail/plain_struct.h"
#include "lapwing/error.h"
#include "lapwing/waiting.h"

namespace lapwing {

inline constexpr std::uint64_t kChannelCapacityDefault = std::uint64_t{1} << 20;

struct ChannelOptions {
  // Size of the direction in which this side sends; the other side's options set the other
  // direction. A power of two with room for two of the largest messages, each in whole 64-byte
  // frames. A smaller value is refused, and the error names a sufficient one. A consumer ignores
  // this option and the next two, so both ends can use the same options.
  std::uint64_t capacity = kChannelCapacityDefault;  // bytes
  std::uint32_t message_bytes_max = 64 * 1024;
  // True aligns payloads to 64 bytes. False aligns them to 16 bytes, and payloads of 49 to 56 bytes
  // to 8.
  bool aligned_payloads = false;
  // Duplex only: how many unanswered calls, and how many untaken one-way messages, this side
  // accepts. Producers and consumers ignore it.
  std::uint32_t call_window = 64;
  // Duplex only: finish_any() returns a reply that arrives after its call's deadline or
  // cancellation, marked is_late. Otherwise the reply is dropped. A late reply may report that an
  // order was filled after all. Until it is taken, it occupies its call's slot in the window.
  bool late_replies = false;

  WaitStrategy wait = WaitStrategy::kBackoff;
  bool huge_pages = false;                      // opening fails if they are not available
  std::optional<int> numa_node = std::nullopt;  // for this side's memory; opening fails without it
  // For connect: the user that must be listening. Unset: this process's own user, or root. Accept
  // calls use the user that the listener was opened with, and refuse a different one here.
  std::optional<uid_t> expected_peer_uid = std::nullopt;
  // For connect: how long to retry, every 20 ms, while no process listens or the listener has just
  // ended. 0: one attempt. The deadline of the call still applies. If all attempts fail, connect
  // returns the error of the last one.
  std::chrono::nanoseconds retry = {};
  // False: instead of a membarrier system call before a sleep, both sides execute a fence of about
  // 10 ns for every message. The system call is used only if this option is true on both sides.
  bool membarrier = true;
  std::string name = {};  // shown by `lapwing info`
  // Called while this side's memory is allocated, which takes seconds for gigabytes, and between
  // attempts to connect. If it returns true, connect and accept return kInterrupted.
  std::function<bool()> is_interrupted = {};
};

// A type that can be sent by value: a plain struct that is not a view.
template <typename Payload>
concept PlainPayload = detail::PlainStruct<Payload>;

// A program-defined enumeration whose values can be used as message types, instead of numbers.
template <typename Type>
concept MessageType = std::is_enum_v<Type> && sizeof(Type) <= sizeof(std::uint32_t);

template <MessageType Type>
constexpr std::uint32_t number_of(Type type) {
  return static_cast<std::uint32_t>(type);
}

// A message in the producer's memory, borrowed with ChannelConsumer::peek(). Valid until it is
// released or the consumer is destroyed.
struct Message {
  std::span<const std::byte> payload;
  std::uint32_t type = 0;  // chosen by the producer
  std::uint64_t end = 0;   // position in the channel, for release(); do not change it
};

// Counters for one end. `lapwing info` shows the counters for both ends.
struct ChannelCounters {
  std::uint64_t messages_sent = 0;
  std::uint64_t messages_received = 0;  // and released
  std::uint64_t messages_released = 0;  // sent messages that the other side reports as released
  std::uint64_t full_waits = 0;         // waits for room
  std::uint64_t empty_waits = 0;        // waits for a message
  std::uint64_t sleeps = 0;             // sleeps, including those announced by arm()
  std::uint64_t wakes = 0;              // wake-ups sent to the other side; each is a system call
};

}  // namespace lapwing
