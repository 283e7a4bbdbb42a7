// For tests: a subscriber with chosen instruments, and its results. Test code only.
#pragma once

#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "lapwing/subscriber.h"
#include "testing/came.h"
#include "testing/far_deadline.h"
#include "testing/instrument_feed.h"

namespace lapwing {

enum class ReadingWay { kTake, kWait, kRead, kReadWithColumn };

// A subscriber and its results with one way of reading. Every record is compared with the published
// one.
class InstrumentReader {
 public:
  static constexpr std::size_t kRowBytes = sizeof(Signal);

  InstrumentReader(TestBus& driven, SubscriberOptions options, ReadingWay way = ReadingWay::kWait)
      : bus(driven), subscriber(open_subscriber(std::move(options))), way_(way) {}

  // Returns false if nothing arrived, or at the end.
  bool step() {
    bus.turn();
    switch (way_) {
      case ReadingWay::kTake:
        return take();
      case ReadingWay::kWait:
        return note(subscriber.next(Deadline::now()));
      case ReadingWay::kRead:
      case ReadingWay::kReadWithColumn:
        break;
    }
    return read();
  }
  // Reads until nothing arrives and the position is at the head.
  void until_quiet() {
    const std::uint64_t deadline_ns = far_deadline();
    for (int quiet = 0; !has_ended && (quiet < 300 || position() < bus.head());) {
      quiet = step() ? 0 : quiet + 1;
      REQUIRE(monotonic_ns() < deadline_ns);
    }
  }
  void until_record(Sequence n) {
    const std::uint64_t deadline_ns = far_deadline();
    while (records.empty() || records.back() < n) {
      step();
      REQUIRE(monotonic_ns() < deadline_ns);
    }
  }
  void until_end() {
    const std::uint64_t deadline_ns = far_deadline();
    while (!has_ended) {
      step();
      REQUIRE(monotonic_ns() < deadline_ns);
    }
  }
  void until_event(EventKind kind) {
    const std::uint64_t deadline_ns = far_deadline();
    while (last_event.kind != kind) {
      step();
      REQUIRE(monotonic_ns() < deadline_ns);
    }
  }

  Sequence position() const { return subscriber.position().sequence; }

  TestBus& bus;
  Subscriber subscriber;
  std::vector<Sequence> records;
  // All events except the first session, each with the number of records before it: "caught-up 10
  // @4".
  Lines events;
  std::vector<std::vector<std::byte>> states;
  Event last_event;
  bool has_ended = false;

 private:
  bool take() {
    std::array<std::byte, kRowBytes> row;
    const Result<Sequence> taken = subscriber.read_one(row, Deadline::now());
    if (taken.ok()) return note_record(*taken, row);
    if (taken != Errc::kEventDue) return note(taken.error());
    const Result<Event> event = subscriber.read_event();
    REQUIRE(event.ok());
    return note_event(*event);
  }

  bool read() {
    std::array<std::byte, 10 * kRowBytes> rows;
    std::array<Sequence, 10> sequences = {};
    const bool has_column = way_ == ReadingWay::kReadWithColumn;
    const Result<Batch> read = has_column ? subscriber.read(rows, sequences, Deadline::now())
                                          : subscriber.read(rows, Deadline::now());
    if (!read.ok()) return note(read.error());
    const Batch& batch = *read;
    if (batch.event) return note_event(*batch.event);
    REQUIRE(batch.count > 0);
    for (std::size_t i = 0; i < batch.count; ++i) {
      const Sequence n = has_column ? sequences[i] : batch.first + i;
      note_record(n, std::span(rows).subspan(i * kRowBytes, kRowBytes));
    }
    return batch.count > 0;
  }

  bool note(Errc error) {
    has_ended = came(error) == Came::kEnd;
    return false;
  }

  bool note(const Result<Item>& read) {
    if (!read.ok()) return note(read.error());
    const Item& item = *read;
    if (item.kind == ItemKind::kRecord) return note_record(item.sequence, item.record);
    if (item.event != nullptr) return note_event(*item.event);
    states.emplace_back(item.record.begin(), item.record.end());
    return true;
  }

  bool note_record(Sequence n, std::span<const std::byte> record) {
    const std::vector<std::byte> expected = bus.journal.record(n);
    REQUIRE(std::equal(record.begin(), record.end(), expected.begin(), expected.end()));
    records.push_back(n);
    return true;
  }

  bool note_event(const Event& event) {
    CHECK(event.is_filtered);
    last_event = event;
    if (event.is_first_session) return true;
    std::string line = absl::StrCat(name_of(event.kind), " ", event.sequence);
    if (event.gap.first != kNoSequence) absl::StrAppend(&line, "..", event.gap.last);
    events.push_back(absl::StrCat(line, " @", records.size()));
    return true;
  }

  const ReadingWay way_;
};

// A subscriber and its memory for reading, after its first session event.
struct IntroducedReader {
  explicit IntroducedReader(SubscriberOptions options)
      : subscriber(open_subscriber(std::move(options))) {}
  void take_session(TestBus& bus) {
    for (const std::uint64_t hang_ns = far_deadline(); !subscriber.read_event().ok();) {
      bus.turn();
      REQUIRE(monotonic_ns() < hang_ns);
    }
  }
  Sequence position() const { return subscriber.position().sequence; }

  Subscriber subscriber;
  std::array<std::byte, 100 * InstrumentReader::kRowBytes> rows;
  std::array<Sequence, 100> sequences = {};
};

}  // namespace lapwing
