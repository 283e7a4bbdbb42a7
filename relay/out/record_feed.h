// The records of a bus in runs of one session, for the messages of a relay.
//
// Thread safety: one thread. Owns a Subscriber.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "lapwing/sequence.h"
#include "lapwing/subscriber.h"

namespace lapwing {

// Records of one session, end to end, as many as fit into one message.
struct FedRecords {
  Id128 journal_id;
  Id128 session_id;
  Sequence first = kNoSequence;
  std::size_t count = 0;
  std::uint32_t record_bytes = 0;
  std::span<const std::byte> bytes;  // in the memory that next() was given

  Sequence last() const { return first + count - 1; }
  StoredPosition end() const { return {journal_id, session_id, last()}; }
};

class RecordFeed {
 public:
  enum class Kind : std::uint32_t { kNothing, kRecords, kEvent, kClosed };
  struct Item {
    Kind kind = Kind::kNothing;
    FedRecords records;
    std::uint64_t lost = 0;  // kEvent: records that the bus no longer has
  };

  // With policy `fill`. `until_closed`: ends at a clean close of the bus. Errors: those of
  // Subscriber::open.
  static absl::StatusOr<RecordFeed> open(const std::string& directory, Start start,
                                         bool until_closed);

  // Never waits. `room` has kRelayBodyBytesMax bytes. Errors: the final ones of the subscriber.
  absl::StatusOr<Item> next(std::span<std::byte> room);
  // It has delivered everything that is published.
  bool is_at_head() const { return subscriber_.live(); }
  Subscriber& subscriber() { return subscriber_; }

 private:
  explicit RecordFeed(Subscriber subscriber) : subscriber_(std::move(subscriber)) {}

  Subscriber subscriber_;
};

}  // namespace lapwing
