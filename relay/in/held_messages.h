// Records messages that a mirror cannot apply yet, because it lacks records before them or waits for
// its disk.
//
// Bounded: when it is full, the messages that are needed last are dropped, and fetched again later.
//
// Thread safety: one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "lapwing/sequence.h"
#include "proto/relay_frames.h"
#include "relay/in/missing.h"
#include "relay/in/relay_source.h"

namespace lapwing {

inline constexpr std::size_t kHeldBytesMax = std::size_t{64} << 20;

// A records message that was checked.
struct HeldMessage {
  RelayHeader header{};
  std::vector<std::byte> records{};
  RelaySource source{};

  Sequence last() const { return header.first + header.count - 1; }
};

class HeldMessages {
 public:
  explicit HeldMessages(std::size_t bytes_max = kHeldBytesMax) : bytes_max_(bytes_max) {}

  // `session_row`: of the begin row of the message's session, which gives the order of sessions.
  void hold(std::uint64_t session_row, HeldMessage message);
  // The message that contains this sequence; null if there is none.
  const HeldMessage* find(std::uint64_t session_row, Sequence sequence) const;
  // Drops what ends before this sequence, and all messages of earlier sessions.
  void drop_before(std::uint64_t session_row, Sequence sequence);
  void drop_session(std::uint64_t session_row);
  void clear();

  // What no message has of the range.
  std::vector<RelayRange> gaps(std::uint64_t session_row, const RelayRange& range) const;

  std::size_t bytes() const { return bytes_; }
  bool is_full() const { return bytes_ >= bytes_max_; }
  std::uint64_t dropped() const { return dropped_; }  // because it was full

 private:
  using Key = std::pair<std::uint64_t, Sequence>;  // session row, first sequence
  using Held = std::map<Key, HeldMessage>;

  static std::size_t size_of(const HeldMessage& message) {
    return message.records.size() + sizeof(HeldMessage) + kNodeBytes;
  }
  Held::iterator erase(Held::iterator held);

  static constexpr std::size_t kNodeBytes = 64;  // of the map, about
  const std::size_t bytes_max_;
  Held held_;
  std::size_t bytes_ = 0;
  std::uint64_t dropped_ = 0;
};

}  // namespace lapwing
