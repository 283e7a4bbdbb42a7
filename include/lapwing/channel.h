// What every end of a channel is made with, and what its operations answer: ChannelProducer
// (lapwing/producer.h), ChannelConsumer (lapwing/consumer.h) and Duplex (lapwing/duplex.h).
//
// A channel carries messages of 0 bytes up to a stated maximum from one process to one other, in
// order, and never overwrites one: a producer that is ahead waits. docs/explanation/channel-protocol.md has the layout,
// the protocol and what happens when either side fails.
//
// Threads: one thread at a time uses an end, any thread may. A call that overlaps one that sleeps
// returns kMisuse. interrupt() may be called at any time.
//
// Fork: in a child that this process forks, an end is another process's. Every operation there
// answers kForked, fd() is -1, arm() is false, counters() are 0, what was borrowed, or claimed in
// the channel's memory, is not mapped, and close() and the destructor do nothing. The other side
// notices nothing, and learns at once when this process ends, whatever the child does. What the
// child connects or accepts is its own.
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
  // Of the direction in which this side sends; the other side's options say the other direction's.
  // A power of two with room for two of the largest messages, each in whole frames of 64 bytes;
  // what is too small is refused, and the message names what would do. A consumer sends nothing and
  // ignores it, and the two below: one set of options does for both ends.
  std::uint64_t capacity = kChannelCapacityDefault;  // bytes
  std::uint32_t message_bytes_max = 64 * 1024;
  // Payloads are aligned to 64 bytes. Without it, to 16, and those of 49 to 56 bytes to 8.
  bool aligned_payloads = false;
  // Of a duplex, and ignored by the others: calls, and one-way messages, that it takes unanswered.
  std::uint32_t call_window = 64;
  // Of a duplex: a reply that comes after its call's deadline or cancellation is delivered by
  // finish_any(), marked is_late, instead of dropped. It may say that an order was filled after
  // all. Until it is taken it keeps its call's place in the window.
  bool late_replies = false;

  WaitStrategy wait = WaitStrategy::kBackoff;
  bool huge_pages = false;                      // fails loudly where they are not to be had
  std::optional<int> numa_node = std::nullopt;  // where this side's memory lies; fails loudly
  // When connecting: the user that must be listening; unset: this process's own user, or root. An
  // accept goes by the user that the listener was opened with, and refuses another one here.
  std::optional<uid_t> expected_peer_uid = std::nullopt;
  // When connecting: for how long to try again, every 20 ms, while nobody listens, or the listener
  // has just ended; the deadline still holds. 0: once. What comes back then is why the last try
  // failed.
  std::chrono::nanoseconds retry = {};
  // Off: no membarrier system call before a sleep, but a fence of some 10 ns for every message on
  // both sides. Used only if both sides have it on.
  bool membarrier = true;
  std::string name = {};  // for people: `lapwing info` shows it
  // Asked now and then while this side's memory is made, which takes seconds for gigabytes, and
  // between two tries: true ends connect and accept with kInterrupted.
  std::function<bool()> is_interrupted = {};
};

// What is sent by value: a plain struct, and no view of one.
template <typename Payload>
concept PlainPayload = detail::PlainStruct<Payload>;

// What a message is may be said by an enumeration of the program's own instead of a number.
template <typename Type>
concept MessageType = std::is_enum_v<Type> && sizeof(Type) <= sizeof(std::uint32_t);

template <MessageType Type>
constexpr std::uint32_t number_of(Type type) {
  return static_cast<std::uint32_t>(type);
}

// A message in the producer's memory, where ChannelConsumer::peek() found it: valid until it is
// released or the consumer is destroyed.
struct Message {
  std::span<const std::byte> payload;
  std::uint32_t type = 0;  // the producer's to choose
  std::uint64_t end = 0;   // its place in the channel, by which release() finds it: leave it alone
};

// What an end has done so far. `lapwing info` shows both ends'.
struct ChannelCounters {
  std::uint64_t messages_sent = 0;
  std::uint64_t messages_received = 0;  // and released
  std::uint64_t messages_released = 0;  // of those sent, by the other side, as it says
  std::uint64_t full_waits = 0;         // times it waited for room
  std::uint64_t empty_waits = 0;        // times it waited for a message
  std::uint64_t sleeps = 0;             // times it slept, or said that it would (arm)
  std::uint64_t wakes = 0;              // times it woke the other side: a system call each
};

}  // namespace lapwing
