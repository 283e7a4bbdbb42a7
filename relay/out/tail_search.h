// Finds the last records message of the stream, if the tail is a message of another kind.
//
//   search.begin(tail)          then RelayTransport::read_from(*search.read_from())
//   search.take(arrival)        for each stored message that arrives, until is_done()
//
// Reads the newest kBlock messages, then eight times as many before them, and so on to the front.
//
// Thread safety: one thread. Has no clock.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

#include "lapwing/subscriber.h"
#include "relay/message.h"
#include "relay/transport.h"

namespace lapwing {

class TailSearch {
 public:
  static constexpr std::uint64_t kBlock = 16;

  // `first`, `last`: sequences of the oldest and the newest message of the stream.
  TailSearch(std::uint64_t first, std::uint64_t last)
      : oldest_(first), first_(last >= first + kBlock ? last - kBlock : first), last_(last) {}

  // Where to begin the next reading.
  std::uint64_t read_from() const { return first_; }
  bool is_done() const { return is_done_; }
  // The end of the last records message; nullopt if there is none.
  const std::optional<StoredPosition>& found() const { return found_; }

  // Returns whether another reading must begin, from read_from(). An invalid message is skipped.
  bool take(const RelayArrival& arrival) {
    if (is_done_ || arrival.kind != RelayArrivalKind::kStored) return false;
    if (arrival.stream_sequence <= last_) note(arrival.message);
    if (arrival.stream_sequence < last_) return false;
    is_done_ = found_ || first_ == oldest_;
    if (is_done_) return false;
    block_ *= 8;
    last_ = first_ - 1;
    first_ = last_ >= oldest_ + block_ ? last_ - block_ : oldest_;
    return true;
  }

 private:
  void note(std::span<const std::byte> bytes) {
    const absl::StatusOr<RelayMessage> message = parse_message(bytes);
    if (!message.ok() || message->header.kind != RelayKind::kRecords) return;
    const RelayHeader& header = message->header;
    found_ = {header.journal_id, header.session_id, header.first + header.count - 1};
  }

  const std::uint64_t oldest_;
  std::uint64_t first_;
  std::uint64_t last_;
  std::uint64_t block_ = kBlock;
  bool is_done_ = false;
  std::optional<StoredPosition> found_;
};

}  // namespace lapwing
