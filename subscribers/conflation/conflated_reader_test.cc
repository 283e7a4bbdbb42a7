// The conflated reader on a bus and a clock that the test drives.
#include "lapwing/conflation.h"

#include <array>
#include <catch2/catch.hpp>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "lapwing/error.h"
#include "os/kernel.h"
#include "testing/bus_checkpoints.h"
#include "testing/bus_fixture.h"
#include "testing/instrument_feed.h"

namespace lapwing {
namespace {

constexpr std::uint64_t kIntervalNs = 1'000;
constexpr std::chrono::seconds kHang{60};  // limits a hang; not used for measurements

// The record's number modulo `keys`, for the first kNumbered records. The bytes of a record
// determine its number.
constexpr Sequence kNumbered = 100;

ConflationKey number_modulo(const TestBus& bus, std::uint64_t keys) {
  std::map<std::vector<std::byte>, Sequence> numbers;
  for (Sequence n = 1; n <= kNumbered; ++n) {
    REQUIRE(numbers.emplace(bus.journal.record(n), n).second);
  }
  return {sizeof(std::uint64_t), [numbers, keys](auto record, auto key) {
            const std::uint64_t n = numbers.at({record.begin(), record.end()});
            const std::uint64_t value = n % keys;
            std::memcpy(key.data(), &value, sizeof value);
          }};
}

ConflatedReader open_reader(SubscriberOptions subscriber, ConflationOptions options) {
  auto opened = ConflatedReader::open(std::move(subscriber), std::move(options));
  REQUIRE(opened.ok());
  return *std::move(opened);
}

// The number at the beginning of the record, modulo `keys`.
std::uint64_t content_modulo(std::span<const std::byte> record, std::uint64_t keys) {
  std::uint64_t value = 0;
  std::memcpy(&value, record.data(), sizeof value);
  return value % keys;
}
ConflationKey content_key(std::uint64_t keys) {
  return {sizeof keys, [keys](auto record, auto key) {
            const std::uint64_t value = content_modulo(record, keys);
            std::memcpy(key.data(), &value, sizeof value);
          }};
}

// A reader and its output: "7+2" for record 7 that replaces two others, and a name for each event.
struct Screen {
  Screen(TestBus& driven, ConflationKey key, std::uint32_t keys_max = 1'000) : bus(driven) {
    ConflationOptions options;
    options.interval = std::chrono::nanoseconds(kIntervalNs);
    options.keys_max = keys_max;
    options.key = std::move(key);
    options.now_ns = [this] { return now_ns; };
    auto opened = ConflatedReader::open(driven.options(), std::move(options));
    REQUIRE(opened.ok());
    reader.emplace(*std::move(opened));
  }

  Result<Item> step() {
    bus.turn();
    const Result<Item> item = reader->next(Deadline::now());
    const ConflationCounters counters = reader->counters();
    REQUIRE(counters.records == counters.delivered + counters.conflated + reader->waiting());
    if (came(item) == Came::kNothing) return item;
    if (item->event != nullptr && item->event->is_first_session) return item;
    if (came(item) != ItemKind::kRecord) {
      lines.push_back(item.ok() ? name_of(item->event->kind) : "ended");
      return item;
    }
    const std::vector<std::byte> expected = bus.journal.record(item->sequence);
    REQUIRE(std::equal(item->record.begin(), item->record.end(), expected.begin(), expected.end()));
    lines.push_back(item->conflated == 0 ? absl::StrCat(item->sequence)
                                         : absl::StrCat(item->sequence, "+", item->conflated));
    return item;
  }
  void until_quiet() {
    for (int quiet = 0; quiet < 300;) quiet = came(step()) == Came::kNothing ? quiet + 1 : 0;
  }
  // Everything that is delivered at the end of an interval.
  std::vector<std::string> after_interval() {
    now_ns += kIntervalNs;
    lines.clear();
    until_quiet();
    return lines;
  }

  TestBus& bus;
  std::uint64_t now_ns = 5'000;
  std::optional<ConflatedReader> reader;
  std::vector<std::string> lines;
};

using Lines = std::vector<std::string>;

}  // namespace

TEST_CASE("An interrupt that comes as an interval ends is not lost, and ends one wait") {
  const int look = GENERATE(1, 2, 3);  // the clock reading of the wait at which it arrives
  TestBus bus;
  bus.start();
  std::uint64_t now_ns = 5'000;
  int looks_left = 0;
  ConflatedReader* interrupted = nullptr;
  ConflationOptions options{.interval = std::chrono::nanoseconds(kIntervalNs)};
  options.key = content_key(1);
  options.now_ns = [&] {
    if (looks_left > 0 && --looks_left == 0) {
      now_ns += kIntervalNs;
      interrupted->interrupt();
    }
    return now_ns;
  };
  ConflatedReader reader = open_reader(bus.options(), options);
  while (came(reader.next(Deadline::now())) != EventKind::kCaughtUp) bus.turn();
  bus.publish(1);
  while (reader.waiting() == 0) REQUIRE(came(reader.next(Deadline::now())) == Came::kNothing);
  interrupted = &reader;
  looks_left = look;
  std::vector<std::byte> record(56);
  int interrupts = 0, records = 0;
  while (records + interrupts < 2) {
    const Errc result = reader.read_one(record, kHang).error();
    REQUIRE((result == Errc::kOk || result == Errc::kInterrupted));
    ++(result == Errc::kOk ? records : interrupts);
  }
  CHECK(records == 1);
  CHECK(interrupts == 1);
  CHECK(reader.read_one(record, std::chrono::milliseconds(1)).error() == Errc::kTimedOut);
}

TEST_CASE("Nothing is delivered within an interval; at its end, the newest record of each key is") {
  TestBus bus;
  bus.start();
  Screen screen(bus, number_modulo(bus, 3));
  screen.until_quiet();
  REQUIRE(screen.lines == Lines{"caught-up"});
  screen.lines.clear();
  bus.publish(8);
  screen.until_quiet();
  screen.now_ns += kIntervalNs - 1;
  screen.until_quiet();
  REQUIRE(screen.lines.empty());
  CHECK(screen.reader->waiting() == 3);
  CHECK(screen.reader->interval_left().count() == 1);
  screen.now_ns += 1;
  screen.until_quiet();
  CHECK(screen.lines == Lines{"6+1", "7+2", "8+2"});
  CHECK(screen.reader->waiting() == 0);
  CHECK(screen.reader->interval_left() == std::chrono::nanoseconds::max());
  bus.publish(1);
  screen.until_quiet();
  CHECK(screen.after_interval() == Lines{"9"});
  CHECK(screen.reader->counters().records == 9);
  CHECK(screen.reader->counters().delivered == 4);
  CHECK(screen.reader->counters().conflated == 5);
}

TEST_CASE("An event comes after the records before it and before those after it") {
  TestBus bus;
  bus.start();
  bus.publish(10);
  Screen screen(bus, number_modulo(bus, 2));
  screen.until_quiet();
  REQUIRE(screen.lines == Lines{"9+4", "10+4", "caught-up"});
  screen.lines.clear();
  bus.publish(4);
  screen.until_quiet();
  bus.close();
  while (came(screen.step()) != EventKind::kClosed) continue;
  CHECK(screen.lines == Lines{"13+1", "14+1", "closed"});
}

TEST_CASE("take_event returns the due event, and leaves records before it") {
  TestBus bus;
  bus.start();
  bus.publish(10);
  Screen screen(bus, number_modulo(bus, 2));
  ConflatedReader& reader = *screen.reader;
  Result<Event> event = Errc::kWouldBlock;
  for (const Deadline deadline = kHang; !event.ok() && !deadline.has_passed();) {
    bus.turn();
    event = reader.read_event();
  }
  REQUIRE(event.ok());
  CHECK(event->kind == EventKind::kSession);
  CHECK(event->is_first_session);
  // Wait until `caught-up` ends the interval. The interval's records are delivered before it.
  for (const Deadline deadline = kHang; reader.interval_left().count() != 0;) {
    REQUIRE_FALSE(deadline.has_passed());
    bus.turn();
    CHECK_FALSE(reader.read_event().ok());
  }
  CHECK_FALSE(reader.read_event().ok());
  CHECK(reader.waiting() == 2);
  CHECK(reader.counters().delivered == 0);
  CHECK(reader.counters().conflated == 8);
  std::array<std::byte, 56> record;
  for (const Sequence n : {Sequence{9}, Sequence{10}}) {
    const Result<ConflatedSequence> taken = reader.read_one(record, Deadline::now());
    CHECK(taken.ok());
    CHECK(taken->sequence == n);
    CHECK(taken->conflated == 4);
    CHECK(reader.counters().delivered == n - 8);
  }
  CHECK(reader.read_one(record, Deadline::now()).error() == Errc::kEventDue);
  event = reader.read_event();
  REQUIRE(event.ok());
  CHECK(event->kind == EventKind::kCaughtUp);
  CHECK_FALSE(reader.read_event().ok());
  CHECK(reader.read_one(record, Deadline::now()).error() == Errc::kWouldBlock);
}

// A reader with columns, and the text of one of its batches: "97+19".
struct ColumnReader {
  ColumnReader(TestBus& driven, SubscriberOptions subscriber, ConflationKey key = {})
      : bus(driven) {
    ConflationOptions options;
    options.interval = std::chrono::nanoseconds(kIntervalNs);
    options.key = std::move(key);
    options.now_ns = [this] { return now_ns; };
    reader.emplace(open_reader(std::move(subscriber), std::move(options)));
  }
  Result<Batch> next(std::size_t places) {
    for (const Deadline deadline = kHang;;) {
      REQUIRE_FALSE(deadline.has_passed());
      bus.turn();
      Result<Batch> batch =
          reader->read(rows, std::span(sequences).first(places), conflated, Deadline::now());
      if (batch != Errc::kWouldBlock) return batch;
    }
  }
  std::vector<std::string> lines(const Result<Batch>& batch) const {
    std::vector<std::string> rows_said;
    for (std::size_t i = 0; i < batch->count; ++i) {
      const std::vector<std::byte> expected = bus.journal.record(sequences[i]);
      REQUIRE(std::equal(expected.begin(), expected.end(), rows.begin() + 56 * i));
      rows_said.push_back(absl::StrCat(sequences[i], "+", conflated[i]));
    }
    return rows_said;
  }

  TestBus& bus;
  std::uint64_t now_ns = 5'000;
  std::optional<ConflatedReader> reader;
  std::array<std::byte, 10 * 56> rows;
  std::array<Sequence, 10> sequences = {};
  std::array<std::uint64_t, 10> conflated = {};
};

TEST_CASE("With columns a batch has all records of an interval that fit, and events stay apart") {
  TestBus bus;
  bus.start();
  bus.publish(10);
  ColumnReader columns(bus, bus.options(), number_modulo(bus, 3));
  REQUIRE(columns.next(10)->event->kind == EventKind::kSession);
  Result<Batch> batch = columns.next(10);
  CHECK(came(batch) == ItemKind::kRecord);
  CHECK(batch->row_bytes == 56);
  CHECK(batch->first == 8);
  CHECK(batch->conflated == 7);
  CHECK(columns.lines(batch) == Lines{"8+2", "9+2", "10+3"});
  REQUIRE(columns.next(10)->event->kind == EventKind::kCaughtUp);
  bus.publish(6);
  for (int i = 0; i < 300; ++i) {
    bus.turn();
    CHECK(columns.reader->read(columns.rows, columns.sequences, columns.conflated, Deadline::now())
              .error() == Errc::kWouldBlock);
  }
  columns.now_ns += kIntervalNs;
  CHECK(columns.lines(columns.next(2)) == Lines{"14+1", "15+1"});
  CHECK(columns.reader->waiting() == 1);
  CHECK(columns.reader->counters().delivered == 5);
  batch = columns.next(0);
  CHECK(batch == Errc::kTooSmall);
  CHECK(batch->row_bytes == 56);
  CHECK(columns.reader->counters().delivered == 5);
  CHECK(columns.lines(columns.next(10)) == Lines{"16+1"});
  CHECK(columns.reader->counters().delivered + columns.reader->counters().conflated == 16);
}

TEST_CASE("Only records of chosen instruments are conflated") {
  InstrumentFeed bus;
  bus.start();
  bus.publish(100);
  ColumnReader columns(bus, bus.choosing({"id:2", "id:4"}));
  REQUIRE(columns.next(10)->event->kind == EventKind::kSession);
  CHECK(columns.lines(columns.next(10)) == Lines{"97+19", "99+19"});
  REQUIRE(columns.next(10)->event->kind == EventKind::kCaughtUp);
  CHECK(columns.reader->counters().records == 40);
  CHECK(columns.reader->subscriber().counters().filtered == 60);
}

TEST_CASE("A state after a gap is delivered entry by entry, each of them") {
  TestBus bus;
  bus.start();
  const auto fold = std::make_shared<TestFold>();
  SubscriberOptions options = bus.options();
  options.on_gap = OnGap::kSnapshot;
  options.start.own_fold = fold;
  bus.publish(10);
  ConflatedReader reader =
      open_reader(options, {.interval = std::chrono::hours(1), .key = content_key(1)});
  std::vector<Came> kinds;
  std::size_t entries = 0;
  const auto until = [&](Came kind) {
    for (const Deadline deadline = kHang; kinds.empty() || kinds.back() != kind;) {
      REQUIRE_FALSE(deadline.has_passed());
      bus.turn();
      const Result<Item> item = reader.next(Deadline::now());
      if (came(item) == ItemKind::kState) ++entries;
      if (item->event != nullptr) kinds.push_back(came(item));
    }
  };
  until(EventKind::kCaughtUp);
  bus.publish(1536);
  bus.archive(bus.head());
  write_checkpoint(bus, *fold, 1200);
  until(EventKind::kSnapshotComplete);
  CHECK(entries == TestFold::kKeys);
  CHECK(reader.subscriber().counters().state == entries);
}

TEST_CASE("A lap is reported between the records around it") {
  TestBus bus;
  bus.start();
  Screen screen(bus, content_key(1));
  screen.until_quiet();
  bus.publish(10);
  screen.until_quiet();
  bus.publish(TestBus::kCapacity * 2);
  screen.lines.clear();
  screen.until_quiet();
  CHECK(screen.lines == Lines{"10+9", "gap"});
  CHECK(screen.after_interval() ==
        Lines{absl::StrCat(10 + 2 * TestBus::kCapacity, "+", 2 * TestBus::kCapacity - 1)});
  CHECK(screen.reader->subscriber().counters().lost == 0);
}

TEST_CASE("One key more than there is room for ends the interval early") {
  TestBus bus;
  bus.start();
  Screen screen(bus, number_modulo(bus, 5), 4);
  screen.until_quiet();
  screen.lines.clear();
  bus.publish(11);
  screen.until_quiet();
  CHECK(screen.lines == Lines{"1", "2", "3", "4", "5", "6", "7", "8"});
  CHECK(screen.reader->counters().early == 2);
  CHECK(screen.after_interval() == Lines{"9", "10", "11"});
}

TEST_CASE("A clock that is set back does not delay records") {
  TestBus bus;
  bus.start();
  Screen screen(bus, content_key(1));
  screen.until_quiet();
  bus.publish(2);
  screen.until_quiet();
  screen.now_ns = 7;
  screen.lines.clear();
  screen.until_quiet();
  CHECK(screen.lines == Lines{"2+1"});
}

TEST_CASE("A schema without a key ends the reader with a message") {
  TestBus bus;
  bus.start();
  bus.publish(1);
  ConflatedReader reader = open_reader(bus.options(), {});
  Result<Item> item;
  do {
    bus.turn();
    item = reader.next(Deadline::now());
  } while (came(item) != Came::kEnd);
  CHECK(errc_of(reader.status()) == Errc::kInvalidArgument);
  CHECK(std::string(reader.status().message()).find("bytes") != std::string::npos);
  CHECK(came(reader.next(Deadline::now())) == Came::kEnd);
}

TEST_CASE("Invalid or ignored options of a conflated reader are refused") {
  const TestBus bus;
  const auto refusal = [&](ConflationOptions options) {
    const absl::Status status = ConflatedReader::open(bus.options(), std::move(options)).status();
    CHECK(errc_of(status) == Errc::kInvalidArgument);
    return std::string(status.message());
  };
  const auto says = [](const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
  };
  CHECK(says(refusal({.interval = {}}), "interval"));
  CHECK(says(refusal({.keys_max = 0}), "keys_max is 0"));
  CHECK(says(refusal({.keys_max = std::uint32_t{1} << 31}), "keys_max"));
  CHECK(says(refusal({.key = {.key_bytes = 8}}), "key.key_bytes is set without key.of"));
}

TEST_CASE("Every schema that ships has a key") {
  for (const char* schema : {"dbn.mbo", "dbn.trades", "dbn.mbp-1", "kv16"}) {
    CHECK(latest_key(schema).value().key_bytes > 0);
  }
}

TEST_CASE("Each key ends with its newest record, and all records are counted") {
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    CAPTURE(seed);
    std::mt19937_64 random(seed);
    TestBus bus;
    bus.start();
    const std::uint64_t keys = 1 + random() % 30;
    Screen screen(bus, content_key(keys), static_cast<std::uint32_t>(1 + random() % 40));
    std::map<std::uint64_t, Sequence> shown;
    std::map<std::uint64_t, std::uint64_t> counted;
    Sequence last = 0;
    const auto take = [&](const Result<Item>& item) {
      if (came(item) != ItemKind::kRecord) return came(item) != Came::kNothing;
      REQUIRE(item->sequence > last);
      last = item->sequence;
      const std::uint64_t key = content_modulo(item->record, keys);
      shown[key] = item->sequence;
      counted[key] += 1 + item->conflated;
      return true;
    };
    Sequence published = 0;
    for (int turn = 0; turn < 200; ++turn) {
      const std::uint64_t count = random() % 60;
      bus.publish(count);
      published += count;
      screen.now_ns += random() % kIntervalNs;
      for (std::uint64_t steps = random() % 100; steps > 0; --steps) take(screen.step());
    }
    screen.now_ns += kIntervalNs;
    for (int quiet = 0; quiet < 300;) {
      screen.now_ns += kIntervalNs;
      quiet = take(screen.step()) ? 0 : quiet + 1;
    }
    std::map<std::uint64_t, Sequence> newest;
    std::map<std::uint64_t, std::uint64_t> count;
    for (Sequence n = 1; n <= published; ++n) {
      const std::uint64_t key = content_modulo(bus.journal.record(n), keys);
      newest[key] = n;
      ++count[key];
    }
    CHECK(shown == newest);
    CHECK(counted == count);
    const ConflationCounters& counters = screen.reader->counters();
    CHECK(counters.records == published);
    CHECK(counters.delivered + counters.conflated == published);
    CHECK(counters.delivered < published);
  }
}

TEST_CASE("A wait returns at its deadline while a feed never pauses") {
  TestBus bus;
  bus.start();
  const std::uint64_t deadline_ns = monotonic_ns() + 50'000'000;
  bool was_late = false;
  ConflationOptions options;
  options.interval = std::chrono::seconds(1);
  options.key = content_key(1);
  options.now_ns = [&] {  // the interval never ends
    was_late = was_late || monotonic_ns() > deadline_ns + 20'000'000'000;
    if (!was_late) bus.publish(1);
    return 1;
  };
  ConflatedReader reader = open_reader(bus.options(), options);
  bus.publish(1);
  while (reader.waiting() == 0) {
    bus.turn();
    (void)reader.next(Deadline::now());
  }
  CHECK(came(reader.next(Deadline::at_monotonic_ns(deadline_ns))) == Came::kNothing);
  CHECK_FALSE(was_late);
  CHECK(reader.counters().conflated > 0);
}

TEST_CASE("A wait returns at the interval's end, and at the deadline") {
  TestBus bus;
  bus.start();
  bus.publish(3);
  bus.close();
  SubscriberOptions options = bus.options();
  options.reattach = {};
  ConflationOptions conflation;
  conflation.interval = std::chrono::milliseconds(1);
  conflation.key = content_key(1);
  ConflatedReader reader = open_reader(options, conflation);
  std::vector<Came> kinds;
  do {
    kinds.push_back(came(reader.next(std::chrono::milliseconds(10))));
  } while (kinds.back() != Came::kEnd);
  CHECK(reader.counters().delivered ==
        kinds.size() -
            static_cast<std::size_t>(std::count_if(
                kinds.begin(), kinds.end(), [](Came kind) { return kind != ItemKind::kRecord; })));
  CHECK(reader.counters().records == 3);
  CHECK(came(reader.next(Deadline::now())) == Came::kEnd);
}

}  // namespace lapwing
