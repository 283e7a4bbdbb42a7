// SubscriberOptions::instruments: the records of chosen instruments, and all usual events.
#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstring>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "lapwing/error.h"
#include "lapwing/subscriber.h"
#include "lapwing/typed_subscriber.h"
#include "testing/child_process.h"
#include "testing/far_deadline.h"
#include "testing/instrument_reader.h"
#include "testing/is_readable.h"
#include "testing/status_text.h"
#include "testing/waiting_call.h"

namespace lapwing {
namespace {

void ring(TestBus& bus) {
  bump_bell(doorbell_address(bus.ring->words()));
  futex_wake_all(doorbell_address(bus.ring->words()));
}

TEST_CASE("Every way to read delivers the records of chosen instruments, each once and in order") {
  const ReadingWay way = GENERATE(ReadingWay::kTake, ReadingWay::kWait, ReadingWay::kRead,
                                  ReadingWay::kReadWithColumn);
  const bool with_journal = GENERATE(true, false);
  InstrumentFeed bus(with_journal);
  bus.start();
  bus.publish(with_journal ? 3000 : 700);
  const Sequence joined = bus.head();
  InstrumentReader reader(bus, bus.choosing({"id:2", "id:4"}), way);
  reader.until_quiet();
  const auto before = InstrumentFeed::sequences_of({2, 4}, 1, joined);
  CHECK(reader.records == before);
  CHECK(reader.events == Lines{absl::StrCat("caught-up ", joined, " @", before.size())});
  bus.publish(303);
  reader.until_quiet();
  const Sequence last = joined + 303;
  CHECK(reader.records == InstrumentFeed::sequences_of({2, 4}, 1, last));
  const SubscriberCounters counters = reader.subscriber.counters();
  CHECK(counters.records == reader.records.size());
  CHECK(counters.filtered == last - reader.records.size());
  CHECK(counters.first == 1);
  CHECK(counters.last == last);
  CHECK(counters.lost + counters.gaps + counters.duplicates + counters.out_of_order == 0);
  CHECK(reader.position() == last);
  CHECK(reader.subscriber.lag() == 0);
  CHECK(reader.subscriber.live());
  bus.publish(1);
  CHECK_FALSE(reader.subscriber.live());
}

TEST_CASE("A struct is taken, and its rows are read, by a subscriber of chosen instruments") {
  InstrumentFeed bus;
  bus.start();
  bus.publish(100);
  auto opened = TypedSubscriber<Signal>::open(bus.choosing({"id:3"}));
  REQUIRE(opened.ok());
  std::vector<Sequence> taken;
  std::array<Signal, 4> rows{};
  std::array<Sequence, 4> sequences = {};
  for (const std::uint64_t hang_ns = far_deadline(); taken.size() < 20;) {
    REQUIRE(monotonic_ns() < hang_ns);
    bus.turn();
    Signal one{};
    const Result<Sequence> next = opened->read_one(one, Deadline::now());
    if (next.error() == Errc::kEventDue) (void)(*opened)->read_event();
    if (next.error() != Errc::kOk) continue;
    CHECK(one.instrument == 3);
    taken.push_back(*next);
    const Result<Batch> batch = opened->read(rows, sequences, Deadline::now());
    for (std::size_t i = 0; i < batch->count; ++i) {
      CHECK(rows[i].instrument == 3);
      taken.push_back(sequences[i]);
    }
  }
  CHECK(taken == InstrumentFeed::sequences_of({3}, 1, 100));
}

TEST_CASE("A batch is a run of sequences; with a column, it has all available records") {
  InstrumentFeed bus;
  bus.start();
  bus.publish(100);
  IntroducedReader reader(bus.choosing({"id:2", "id:3"}));
  reader.take_session(bus);
  Result<Batch> batch = reader.subscriber.read(reader.rows, Deadline::now());
  CHECK(batch->first == 2);
  CHECK(batch->count == 2);  // 2 and 3, and then 7
  batch =
      reader.subscriber.read(reader.rows, std::span(reader.sequences).first(5), Deadline::now());
  CHECK(batch->first == 7);
  CHECK(batch->count == 5);
  CHECK(std::vector(reader.sequences.begin(), reader.sequences.begin() + 5) ==
        std::vector<Sequence>{7, 8, 12, 13, 17});
  CHECK(reader.position() == 17);
  batch =
      reader.subscriber.read(reader.rows, std::span(reader.sequences).first(0), Deadline::now());
  CHECK(batch.error() == Errc::kTooSmall);
  CHECK(batch->row_bytes == InstrumentReader::kRowBytes);
  CHECK(reader.position() == 17);
  batch = reader.subscriber.read(reader.rows, reader.sequences, Deadline::now());
  CHECK(came(batch) == ItemKind::kRecord);
  const auto rest = InstrumentFeed::sequences_of({2, 3}, 18, 100);
  CHECK(std::vector(reader.sequences.begin(), reader.sequences.begin() + batch->count) == rest);
  for (std::size_t i = 0; i < batch->count; ++i) {
    CHECK(std::memcmp(reader.rows.data() + i * InstrumentReader::kRowBytes,
                      bus.journal.record(rest[i]).data(), InstrumentReader::kRowBytes) == 0);
  }
  batch = reader.subscriber.read(reader.rows, reader.sequences, Deadline::now());
  REQUIRE(batch->event);
  CHECK(batch->event->kind == EventKind::kCaughtUp);
  batch = reader.subscriber.read(reader.rows, reader.sequences, Deadline::now());
  CHECK(batch.error() == Errc::kWouldBlock);
}

TEST_CASE("Without chosen instruments a column has the run that the batch is") {
  InstrumentFeed bus;
  bus.start();
  bus.publish(100);
  IntroducedReader reader(bus.options());
  reader.take_session(bus);
  Result<Batch> batch =
      reader.subscriber.read(reader.rows, std::span(reader.sequences).first(3), Deadline::now());
  CHECK(batch->first == 1);
  CHECK(batch->count == 3);
  batch =
      reader.subscriber.read(reader.rows, std::span(reader.sequences).first(0), Deadline::now());
  CHECK(batch.error() == Errc::kTooSmall);
  batch = reader.subscriber.read(reader.rows, reader.sequences, Deadline::now());
  CHECK(batch->first == 4);
  REQUIRE(batch->count == 97);
  for (std::size_t i = 0; i < batch->count; ++i) CHECK(reader.sequences[i] == 4 + i);
  REQUIRE(reader.subscriber.read(reader.rows, reader.sequences, Deadline::now())->event);
  CHECK(reader.subscriber.read(reader.rows, reader.sequences, Deadline::now()).error() ==
        Errc::kWouldBlock);
  batch =
      while_it_waits([&] { return reader.subscriber.read(reader.rows, reader.sequences, kHang); },
                     [&] {
                       bus.publish(1);
                       ring(bus);
                     });
  CHECK(batch->count == 1);
  CHECK(reader.sequences[0] == 101);
}

TEST_CASE("A symbol is chosen by the date of each record") {
  InstrumentFeed bus(true, [](Sequence n) { return InstrumentFeed::kJan1 + (n > 50 ? 1U : 0U); });
  write_symbols(bus, {{"ROLL", {{20240101, 20240102, "1"}, {20240102, 20240103, "2"}}},
                      {"ESH4", {{20240101, 20240201, "4"}}}});
  bus.start();
  bus.publish(100);
  InstrumentReader reader(bus, bus.choosing({"ROLL"}));
  reader.until_quiet();
  std::vector<Sequence> expected = InstrumentFeed::sequences_of({1}, 1, 50);
  for (const Sequence n : InstrumentFeed::sequences_of({2}, 51, 100)) expected.push_back(n);
  CHECK(reader.records == expected);
  InstrumentReader both(bus, bus.choosing({"ESH4", "id:3"}));
  both.until_quiet();
  CHECK(both.records == InstrumentFeed::sequences_of({3, 4}, 1, 100));
}

TEST_CASE("A subscriber ends with a message if the chosen instruments do not exist") {
  InstrumentFeed bus;
  write_symbols(bus, {{"ESH4", {{20240101, 20240201, "4"}}}});
  std::vector<std::string> instruments = {"NONE"};
  Errc code = Errc::kNotFound;
  std::string words = "instrument NONE: bus ";
  SECTION("an unknown symbol") {}
  SECTION("a number that is no instrument's") {
    instruments = {"ESH4", "id:4294967296"};
    code = Errc::kInvalidArgument;
    words = "instrument id:4294967296: ";
  }
  SECTION("records that have no instrument") {
    Schema without_key = schema_of<Signal>();
    without_key.fields[1].role = FieldRole::kData;
    bus.describe_as(without_key);
    code = Errc::kInvalidArgument;
    words = "carries desk.signal, which has neither a field instrument_id";
  }
  SECTION("records that nobody has described") {
    bus.schema = "bytes";
    bus.described_as = "";
    code = Errc::kInvalidArgument;
    words = "so they cannot be chosen by instrument";
  }
  bus.start();
  bus.publish(10);
  InstrumentReader reader(bus, bus.choosing(instruments));
  reader.until_end();
  CHECK(reader.records.empty());
  CHECK(errc_of(reader.subscriber.status()) == code);
  CHECK(says(reader.subscriber.status(), words));
  CHECK(says(reader.subscriber.status(), bus.directory()));
}

TEST_CASE("Invalid names are refused when it is opened") {
  const TestBus bus;
  SubscriberOptions options = bus.options();
  options.instruments = {"ESH4", ""};
  const absl::Status refused = Subscriber::open(options).status();
  CHECK(errc_of(refused) == Errc::kInvalidArgument);
  CHECK(says(refused, "instruments: the name of an instrument is empty"));
}

TEST_CASE("Each session is chosen from by its own description and metadata") {
  InstrumentFeed bus;
  write_symbols(bus, {{"ESH4", {{20240101, 20240201, "4"}}}});
  bus.start();
  bus.publish(10);
  InstrumentReader reader(bus, bus.choosing({"ESH4"}));
  reader.until_quiet();
  CHECK(reader.records == std::vector<Sequence>{4, 9});
  SECTION("the symbol stands for another instrument") {
    bus.close();
    write_symbols(bus, {{"ESH4", {{20240101, 20240201, "1"}}}});
    bus.start();
    bus.publish(10);
    reader.until_quiet();
    CHECK(reader.records == std::vector<Sequence>{4, 9, 11, 16});
    CHECK(reader.events == Lines{"caught-up 10 @2", "closed 10 @2", "session 11 @2"});
  }
  SECTION("the symbol is gone") {
    bus.close();
    write_symbols(bus, {{"NQH4", {{20240101, 20240201, "1"}}}});
    bus.start();
    reader.until_end();
    CHECK(errc_of(reader.subscriber.status()) == Errc::kNotFound);
    CHECK(reader.position() == 10);
  }
  SECTION("another history has records that have no instrument") {
    bus.kill();
    reader.until_event(EventKind::kPublisherGone);
    REQUIRE(bus.ring->unlink().ok());
    bus.fail_journal();
    bus.schema = "bytes";
    bus.described_as = "";
    bus.start();
    bus.publish(10);
    reader.until_end();
    CHECK(errc_of(reader.subscriber.status()) == Errc::kInvalidArgument);
    CHECK(reader.records.size() == 2);
  }
  SECTION("another history has the same instruments") {
    bus.kill();
    reader.until_event(EventKind::kPublisherGone);
    REQUIRE(bus.ring->unlink().ok());
    bus.fail_journal();
    bus.start();
    bus.publish(5);
    reader.until_event(EventKind::kReset);
    reader.until_quiet();
    CHECK(reader.events.back() == "reset 1 @2");
    CHECK(reader.records == std::vector<Sequence>{4, 9, 4});
    CHECK(reader.subscriber.counters().duplicates == 0);
  }
}

// Sessions of ten records each, from feeds with these symbols.
struct SessionsOfFeeds {
  explicit SessionsOfFeeds(const std::vector<std::vector<dbn::SymbolMapping>>& feeds) {
    for (std::size_t i = 0; i < feeds.size(); ++i) {
      if (i > 0) bus.close();
      write_symbols(bus, feeds[i]);
      bus.start();
      bus.publish(10);
    }
  }
  static dbn::SymbolMapping symbol(const std::string& name, const std::string& instrument) {
    return {name, {{20240101, 20240201, instrument}}};
  }

  InstrumentFeed bus;
};

TEST_CASE("Records of an older session are chosen by the symbols of that session's feed") {
  const auto symbol = SessionsOfFeeds::symbol;
  SessionsOfFeeds feeds({{symbol("ESH4", "4")}, {symbol("ESH4", "1")}, {symbol("ESH4", "2")}});
  std::vector<Sequence> expected = {4, 9, 11, 16, 22, 27};
  Start start = Start::oldest();
  SECTION("from the oldest record") {}
  SECTION("from the middle of a session") {
    start = Start::sequence(12);
    expected = {16, 22, 27};
  }
  InstrumentReader reader(feeds.bus, feeds.bus.choosing({"ESH4"}, start));
  reader.until_quiet();
  CHECK(reader.records == expected);
}

TEST_CASE("A symbol of a later session chooses nothing before it, and one of an older one ends") {
  const auto symbol = SessionsOfFeeds::symbol;
  SessionsOfFeeds feeds({{symbol("OLD", "4")}, {symbol("NEW", "1")}});
  SECTION("a later one") {
    InstrumentReader reader(feeds.bus, feeds.bus.choosing({"NEW"}));
    reader.until_quiet();
    CHECK(reader.records == std::vector<Sequence>{11, 16});
  }
  SECTION("an older one") {
    InstrumentReader reader(feeds.bus, feeds.bus.choosing({"OLD"}));
    reader.until_end();
    CHECK(reader.records == std::vector<Sequence>{4, 9});
    CHECK(errc_of(reader.subscriber.status()) == Errc::kNotFound);
    CHECK(says(reader.subscriber.status(), "instrument OLD: bus "));
    CHECK(reader.position() == 10);
  }
  SECTION("an older one, from now on") {
    InstrumentReader reader(feeds.bus, feeds.bus.choosing({"OLD"}, Start::live()));
    reader.until_end();
    CHECK(errc_of(reader.subscriber.status()) == Errc::kNotFound);
  }
  SECTION("one of no session") {
    InstrumentReader reader(feeds.bus, feeds.bus.choosing({"NONE"}));
    reader.until_end();
    CHECK(reader.records.empty());
    CHECK(reader.position() == 0);
  }
}

TEST_CASE("An event names the session of the records that follow, not the newest one") {
  const auto symbol = SessionsOfFeeds::symbol;
  SessionsOfFeeds feeds({{symbol("ESH4", "4")}, {symbol("ESH4", "1")}});
  Subscriber subscriber = open_subscriber(feeds.bus.options());
  std::vector<Id128> sessions;
  for (const std::uint64_t hang_ns = far_deadline(); sessions.size() < 2;) {
    REQUIRE(monotonic_ns() < hang_ns);
    feeds.bus.turn();
    const Result<Item> item = subscriber.next(Deadline::now());
    if (came(item) == EventKind::kSession) sessions.push_back(item->event->session_id);
  }
  CHECK(sessions == std::vector<Id128>{fixture_id(1), fixture_id(2)});
}

// Caught up at record 10 and then lapped by one and a half rings: the ring continues at 650.
struct LappedReader {
  explicit LappedReader(OnGap on_gap, ReadingWay way = ReadingWay::kWait)
      : reader(bus, lapped_options(on_gap), way) {
    bus.start();
    bus.publish(10);
    reader.until_quiet();
    bus.publish(1536);
    reader.until_quiet();  // unless it has ended
  }
  SubscriberOptions lapped_options(OnGap on_gap) const {
    SubscriberOptions options = bus.choosing({"id:2"});
    options.on_gap = on_gap;
    return options;
  }
  SubscriberCounters counters() const { return reader.subscriber.counters(); }

  InstrumentFeed bus;
  InstrumentReader reader;
};

TEST_CASE("A gap has its exact bounds across records of other instruments, and is filled") {
  const LappedReader lapped(OnGap::kFill, GENERATE(ReadingWay::kTake, ReadingWay::kWait,
                                                   ReadingWay::kRead, ReadingWay::kReadWithColumn));
  CHECK(lapped.reader.records == InstrumentFeed::sequences_of({2}, 1, 1546));
  // Two of the records 1 to 10 are for instrument 2.
  CHECK(lapped.reader.events == Lines{"caught-up 10 @2", "gap 11..649 @2"});
  CHECK(lapped.counters().gaps == 1);
  CHECK(lapped.counters().filled == 639);
  CHECK(lapped.counters().lost == 0);
  CHECK(lapped.counters().records + lapped.counters().filtered == 1546);
}

TEST_CASE("A skipped gap is lost completely, whatever instruments were in it") {
  const LappedReader lapped(OnGap::kSkip);
  std::vector<Sequence> expected = {2, 7};
  for (const Sequence n : InstrumentFeed::sequences_of({2}, 650, 1546)) expected.push_back(n);
  CHECK(lapped.reader.records == expected);
  CHECK(lapped.reader.events == Lines{"caught-up 10 @2", "gap 11..649 @2"});
  CHECK(lapped.reader.last_event.on_gap == OnGap::kSkip);
  CHECK(lapped.counters().lost == 639);
  CHECK(lapped.counters().records + lapped.counters().filtered + lapped.counters().lost == 1546);
}

TEST_CASE("A subscriber of chosen instruments stops at a gap, and its position is before it") {
  const LappedReader lapped(OnGap::kStop);
  CHECK(lapped.reader.has_ended);
  CHECK(errc_of(lapped.reader.subscriber.status()) == Errc::kStoppedAtGap);
  CHECK(lapped.reader.position() == 10);
}

TEST_CASE("Missing records before the first one are reported, because no sequence shows them") {
  InstrumentFeed bus(false);
  bus.start();
  bus.publish(10);
  InstrumentReader reader(bus, bus.choosing({"id:2"}));
  reader.until_event(EventKind::kSession);
  bus.publish(3000);
  reader.until_quiet();
  REQUIRE_FALSE(reader.records.empty());
  REQUIRE_FALSE(reader.events.empty());
  const Sequence first = reader.subscriber.counters().first;
  REQUIRE(first > 1);
  CHECK(reader.events.front() == absl::StrCat("gap 1..", first - 1, " @0"));
  CHECK(reader.subscriber.counters().lost == first - 1);
}

TEST_CASE("The position is at or beyond the last record, and continues without a repetition") {
  InstrumentFeed bus;
  bus.start();
  bus.publish(100);
  InstrumentReader reader(bus, bus.choosing({"id:3"}));
  reader.until_record(23);
  CHECK(reader.position() == 23);
  const StoredPosition within = reader.subscriber.position();
  reader.until_quiet();
  const StoredPosition at_end = reader.subscriber.position();
  CHECK(at_end.sequence == 100);

  InstrumentReader again(bus, bus.choosing({"id:3"}, Start::after(within)));
  again.until_quiet();
  CHECK(again.records == InstrumentFeed::sequences_of({3}, 24, 100));
  CHECK(again.subscriber.counters().first == 24);

  InstrumentReader later(bus, bus.choosing({"id:3"}, Start::after(at_end)));
  later.until_quiet();
  CHECK(later.records.empty());
  bus.publish(5);
  later.until_quiet();
  CHECK(later.records == std::vector<Sequence>{103});
}

TEST_CASE("Records of other instruments end no wait before its deadline") {
  const WaitStrategy strategy =
      GENERATE(WaitStrategy::kBusy, WaitStrategy::kBackoff, WaitStrategy::kPark);
  InstrumentFeed bus;
  bus.start();
  bus.publish(10);
  SubscriberOptions options = bus.choosing({"id:9"});
  options.wait = strategy;
  InstrumentReader reader(bus, options);
  reader.until_quiet();
  std::array<std::byte, InstrumentReader::kRowBytes> row;
  for (int call = 0; call < 3; ++call) {
    bus.publish(300);
    const std::uint64_t deadline_ns = monotonic_ns() + 2'000'000;
    const Deadline deadline = Deadline::at_monotonic_ns(deadline_ns);
    Errc result = Errc::kOk;
    if (call == 0) result = reader.subscriber.read_one(row, deadline).error();
    if (call == 1) result = reader.subscriber.read(row, deadline).error();
    if (call == 2) {
      REQUIRE(came(reader.subscriber.next(deadline)) == Came::kNothing);
      result = Errc::kTimedOut;
    }
    CHECK(result == Errc::kTimedOut);
    CHECK(monotonic_ns() >= deadline_ns);
    CHECK(reader.subscriber.counters().filtered == 10 + 300 * (static_cast<unsigned>(call) + 1));
    bus.beat();
  }
  CHECK(reader.subscriber.read_one(row, Deadline::now()).error() == Errc::kWouldBlock);
}

TEST_CASE("A record of a chosen instrument ends a wait that others do not") {
  InstrumentFeed bus;
  bus.start();
  bus.publish(10);
  SubscriberOptions options = bus.choosing({"id:4"});
  options.wait = GENERATE(WaitStrategy::kBusy, WaitStrategy::kBackoff, WaitStrategy::kPark);
  InstrumentReader reader(bus, options);
  reader.until_quiet();
  std::array<std::byte, InstrumentReader::kRowBytes> row;
  const Result<Sequence> taken =
      while_it_waits([&] { return reader.subscriber.read_one(row, kHang); },
                     [&] {
                       for (int i = 0; i < 4; ++i) {
                         bus.publish(1);
                         ring(bus);
                       }
                     });
  CHECK(taken.ok());
  CHECK(*taken == 14);
}

// Until stopped, continuously publishes only instruments that were not chosen.
class BusyPublisher {
 public:
  BusyPublisher(InstrumentFeed& bus, std::uint64_t late_ns)
      : thread_([this, &bus, late_ns] {
          const std::vector<std::byte> record = bus.journal.record(1);
          detail::SlotWriter writer = writer_of(*bus.ring);
          for (Sequence n = bus.next(); !stopped_ && !is_late; ++n) {
            store_record(writer, n, record.data());
            store_head(bus.ring->words(), n);
            if (n % 1024 != 0) continue;
            store_heartbeat(bus.ring->words(), monotonic_ns());
            is_late = monotonic_ns() > late_ns;
          }
        }) {}
  ~BusyPublisher() {
    stopped_ = true;
    thread_.join();
  }
  BusyPublisher(const BusyPublisher&) = delete;
  BusyPublisher& operator=(const BusyPublisher&) = delete;

  std::atomic<bool> is_late = false;

 private:
  std::atomic<bool> stopped_ = false;
  std::thread thread_;
};

TEST_CASE("A bus that is busy with other instruments delays no deadline and no interrupt") {
  constexpr std::uint64_t kHangNs = 20 * kNsPerSecond;
  InstrumentFeed bus(false);
  bus.capacity = 1 << 18;
  bus.start();
  bus.publish(10);
  SubscriberOptions options = bus.choosing({"id:9"});
  options.wait = GENERATE(WaitStrategy::kBusy, WaitStrategy::kBackoff, WaitStrategy::kPark);
  InstrumentReader reader(bus, options);
  reader.until_quiet();
  const std::uint64_t deadline_ns = monotonic_ns() + 10'000'000;
  BusyPublisher publisher(bus, deadline_ns + kHangNs);
  std::array<std::byte, InstrumentReader::kRowBytes> row;
  // A subscriber may be lapped if it is not scheduled for a while.
  const auto take_until = [&](Deadline deadline) {
    for (;;) {
      const Errc result = reader.subscriber.read_one(row, deadline).error();
      if (result != Errc::kEventDue) return result;
      REQUIRE(reader.subscriber.read_event().ok());
    }
  };
  CHECK(take_until(Deadline::at_monotonic_ns(deadline_ns)) == Errc::kTimedOut);
  CHECK(monotonic_ns() >= deadline_ns);
  const std::uint64_t filtered = reader.subscriber.counters().filtered;
  CHECK(filtered > 0);
  // A publisher publishes nothing while it is not scheduled.
  while (reader.subscriber.counters().filtered == filtered && !publisher.is_late) {
    const std::uint64_t wait_until_ns = monotonic_ns() + 10'000'000;
    while (reader.subscriber.next(Deadline::at_monotonic_ns(wait_until_ns))->event != nullptr)
      continue;
    CHECK(monotonic_ns() >= wait_until_ns);
  }
  CHECK(take_until(Deadline::now()) == Errc::kWouldBlock);
  reader.subscriber.interrupt();
  CHECK(take_until(Deadline::never()) == Errc::kInterrupted);
  CHECK_FALSE(publisher.is_late);
}

TEST_CASE("read_event finds the event behind records of other instruments") {
  InstrumentFeed bus;
  bus.start();
  bus.publish(10);
  Subscriber subscriber = open_subscriber(bus.choosing({"id:9"}));
  std::vector<EventKind> kinds;
  for (const std::uint64_t hang_ns = far_deadline(); kinds.size() < 2;) {
    REQUIRE(monotonic_ns() < hang_ns);
    bus.turn();
    if (const auto event = subscriber.read_event(); event.ok()) kinds.push_back(event->kind);
  }
  CHECK(kinds == std::vector{EventKind::kSession, EventKind::kCaughtUp});
  CHECK(subscriber.counters().filtered == 10);
}

TEST_CASE("A wait for the descriptor is possible when only other instruments are left") {
  InstrumentFeed bus;
  bus.start();
  bus.publish(10);
  InstrumentReader reader(bus, bus.choosing({"id:4"}));
  const auto fd = reader.subscriber.fd();
  REQUIRE(fd.ok());
  reader.until_quiet();
  CHECK(reader.subscriber.arm());
  bus.publish(3);
  CHECK(is_readable(*fd, 60'000));
  bus.beat();
  CHECK(reader.subscriber.arm());
  CHECK(reader.subscriber.counters().filtered == 11);
  bus.publish(1);
  CHECK(is_readable(*fd, 60'000));
  bus.beat();
  CHECK_FALSE(reader.subscriber.arm());
  reader.until_quiet();
  CHECK(reader.records.back() == 14);
}

TEST_CASE("With chosen instruments, a forked child gets nothing, and its parent everything") {
  InstrumentFeed bus;
  bus.start();
  bus.publish(100);
  InstrumentReader reader(bus, bus.choosing({"id:2"}));
  reader.until_record(2);  // the others were read along with it
  const StoredPosition position = reader.subscriber.position();
  ChildProcess child([&] {
    Subscriber& subscriber = reader.subscriber;
    std::array<std::byte, 2 * InstrumentReader::kRowBytes> rows;
    std::array<Sequence, 2> sequences = {};
    if (subscriber.read_one(std::span(rows).first(InstrumentReader::kRowBytes), Deadline::now())
            .error() != Errc::kForked)
      return __LINE__;
    if (subscriber.read(rows, Deadline::now()).error() != Errc::kForked) return __LINE__;
    if (subscriber.read(rows, sequences, Deadline::now()).error() != Errc::kForked) return __LINE__;
    if (came(subscriber.next(Deadline::never())) != Came::kEnd) return __LINE__;
    if (subscriber.live() || subscriber.arm()) return __LINE__;
    return subscriber.position() == position ? 0 : __LINE__;
  });
  CHECK(child.wait() == 0);
  reader.until_quiet();
  CHECK(reader.records == InstrumentFeed::sequences_of({2}, 1, 100));
}

}  // namespace
}  // namespace lapwing
