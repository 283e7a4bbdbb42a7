// One of the two ways on which records leave the origin: appended to the stream (`log`), or sent to
// those who listen now (`live`). A lane has its own position in the bus, and what its receivers were
// sent about sessions.
//
// Thread safety: one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <utility>
#include <vector>

#include "lapwing/subscriber.h"
#include "relay/message.h"
#include "relay/out/record_feed.h"
#include "relay/out/session_rows.h"

namespace lapwing {

struct Lane {
  explicit Lane(int zstd_level) : buffer(zstd_level) {}

  bool is_open() const { return feed.has_value(); }
  void open(RecordFeed from) {
    close();
    feed.emplace(std::move(from));
  }
  void close() {
    feed.reset();
    held.reset();
    notices.clear();
    announced.reset();
    last.reset();
    is_closed = is_at_head = false;
  }
  // Continues where another lane is. That one is closed.
  void take_from(Lane& other) {
    close();
    feed = std::move(other.feed);
    held = other.held;
    std::swap(buffer, other.buffer);
    last = other.last;
    is_closed = other.is_closed;
    is_at_head = other.is_at_head;
    other.close();
  }

  RelayBuffer buffer;
  std::optional<RecordFeed> feed;
  std::optional<FedRecords> held;              // read, but not sent yet; in `buffer`
  std::deque<std::vector<std::byte>> notices;  // sessions and bus messages to send before it
  std::optional<SessionRowMark> announced;     // the newest row that was announced here
  std::size_t announced_count = 0;             // sessions that were announced or are before those
  Id128 announced_session;                     // the session of the records that follow
  std::optional<StoredPosition> last;          // of the last record that was sent
  bool is_closed = false;                      // the bus was closed, and this lane ends with it
  bool is_at_head = false;                     // the last look found nothing more
};

}  // namespace lapwing
