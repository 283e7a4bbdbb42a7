#include "relay/out/record_feed.h"

#include <algorithm>
#include <utility>

#include "lapwing/error.h"
#include "os/deadline.h"
#include "proto/relay_frames.h"

namespace lapwing {

absl::StatusOr<RecordFeed> RecordFeed::open(const std::string& directory, Start start,
                                            bool until_closed) {
  SubscriberOptions options;
  options.directory = directory;
  options.name = "relay";
  options.start = std::move(start);
  options.on_gap = OnGap::kFill;
  options.end_at_close = until_closed;
  options.reattach = kForever;
  absl::StatusOr<Subscriber> subscriber = Subscriber::open(std::move(options));
  if (!subscriber.ok()) return subscriber.status();
  return RecordFeed(*std::move(subscriber));
}

absl::StatusOr<RecordFeed::Item> RecordFeed::next(std::span<std::byte> room) {
  const std::size_t record_bytes = subscriber_.record_bytes();
  const std::size_t wanted = std::min(room.size(), record_bytes * kRelayRecordsMax);
  const Result<Batch> batch =
      subscriber_.read(record_bytes == 0 ? room : room.first(wanted), Deadline::now());
  Item item;
  if (!batch.ok()) {
    if (came_to_nothing(batch.error()) || batch.error() == Errc::kInterrupted) return item;
    if (batch.error() == Errc::kClosed) {
      item.kind = Kind::kClosed;
      return item;
    }
    return subscriber_.status();
  }
  if (batch->event != nullptr) {
    item.kind = Kind::kEvent;
    if (batch->is(EventKind::kLost)) item.lost = batch->event->gap.count();
    return item;
  }
  const StoredPosition position = subscriber_.position();
  item.kind = Kind::kRecords;
  item.records = {.journal_id = position.journal_id,
                  .session_id = subscriber_.session_id(),
                  .first = batch->first,
                  .count = batch->count,
                  .record_bytes = batch->row_bytes,
                  .bytes = room.first(batch->count * batch->row_bytes)};
  return item;
}

}  // namespace lapwing
