// SubscriberOptions::instruments with a state: its entries, and the result of folding them and the
// following records.
#include <array>
#include <chrono>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "lapwing/load_state.h"
#include "lapwing/order_books.h"
#include "testing/bus_checkpoints.h"
#include "testing/far_deadline.h"
#include "testing/instrument_reader.h"
#include "testing/order_records.h"

namespace lapwing {
namespace {

constexpr std::size_t kRowBytes = InstrumentReader::kRowBytes;

TEST_CASE("The column of a state contains the indexes of its entries") {
  TestBus bus;
  bus.start();
  bus.publish(500);
  bus.archive(500);
  const auto fold = std::make_shared<TestFold>();
  write_checkpoint(bus, *fold, 400);
  IntroducedReader reader(bus.options(Start::snapshot(fold)));
  reader.take_session(bus);
  std::size_t entries = 0;
  while (entries < TestFold::kKeys) {
    const Result<Batch> batch =
        reader.subscriber.read(reader.rows, reader.sequences, Deadline::now());
    REQUIRE(came(batch) == ItemKind::kState);
    for (std::size_t i = 0; i < batch->count; ++i) {
      const auto entry = std::span(reader.rows).subspan(i * batch->row_bytes, batch->row_bytes);
      REQUIRE(reader.sequences[i] == fold->place_of(entry));
    }
    entries += batch->count;
  }
  CHECK(reader.subscriber.read(reader.rows, reader.sequences, Deadline::now())->event->kind ==
        EventKind::kSnapshotComplete);
}

TEST_CASE("The chosen instruments' entries of a state are delivered, and then their records") {
  InstrumentFeed bus;
  bus.start();
  bus.publish(500);
  bus.archive(500);
  const std::shared_ptr<const Fold> fold = make_fold(kFoldLatest, schema_of<Signal>()).value();
  write_checkpoint(bus, *fold, 400);
  InstrumentReader reader(bus, bus.choosing({"id:2"}, Start::snapshot(fold)));
  reader.until_quiet();
  REQUIRE(reader.states.size() == 1);
  CHECK(reader.states[0] == bus.journal.record(397));
  CHECK(reader.events == Lines{"snapshot-complete 400 @0", "caught-up 500 @20"});
  CHECK(reader.records == InstrumentFeed::sequences_of({2}, 401, 500));
  CHECK(reader.subscriber.counters().state == 1);
  CHECK(reader.subscriber.state_size() == InstrumentFeed::kInstruments);  // in the checkpoint
}

TEST_CASE("A state whose entries do not begin with a record is delivered completely") {
  InstrumentFeed bus;
  bus.start();
  bus.publish(500);
  bus.archive(500);
  const auto fold = std::make_shared<TestFold>();
  fold->shape_to_spoil().schema = "desk.signal";
  write_checkpoint(bus, *fold, 400);
  InstrumentReader reader(bus, bus.choosing({"id:2"}, Start::snapshot(fold)));
  reader.until_quiet();
  CHECK(reader.states.size() == TestFold::kKeys);
  CHECK(reader.records == InstrumentFeed::sequences_of({2}, 401, 500));
}

TEST_CASE("A state after a gap also contains only the chosen instruments") {
  InstrumentFeed bus;
  const std::shared_ptr<const Fold> fold = make_fold(kFoldLatest, schema_of<Signal>()).value();
  SubscriberOptions options = bus.choosing({"id:2"});
  options.on_gap = OnGap::kSnapshot;
  options.start.own_fold = fold;
  bus.start();
  bus.publish(10);
  InstrumentReader reader(bus, options);
  reader.until_quiet();
  bus.publish(1536);
  bus.archive(bus.head());
  write_checkpoint(bus, *fold, 1200);
  reader.until_quiet();
  REQUIRE(reader.states.size() == 1);
  CHECK(reader.states[0] == bus.journal.record(1197));
  CHECK(reader.events ==
        Lines{"caught-up 10 @2", "gap 11..649 @2", "snapshot-complete 1200..649 @2"});
  std::vector<Sequence> expected = {2, 7};
  for (const Sequence n : InstrumentFeed::sequences_of({2}, 1201, 1546)) expected.push_back(n);
  CHECK(reader.records == expected);
  CHECK(reader.subscriber.counters().in_state == 1190);
}

// A bus of orders: record n adds order n to the book of instrument 1, 2 or 3 in turn.
class OrderFeed : public TestBus {
 public:
  explicit OrderFeed(bool with_journal = true) : TestBus(with_journal) {
    schema = dbn::kSchemaMbo;
    journal.mark = [](Sequence n, std::span<std::byte> record) {
      dbn::MboMsg msg = test_record(dbn::Action::kAdd, n, dbn::Side::kBid,
                                    static_cast<std::int64_t>(n % 7) * dbn::kPriceScale, 1);
      msg.hd.instrument_id = static_cast<std::uint32_t>(1 + n % 3);
      msg.ts_recv = msg.hd.ts_event = n;
      std::memcpy(record.data(), &msg, sizeof msg);
    };
  }
  SubscriberOptions choosing(std::vector<std::string> instruments, Start start) const {
    SubscriberOptions chosen = options(std::move(start));
    chosen.instruments = std::move(instruments);
    return chosen;
  }
};

// The books built from the delivered items, until nothing more is delivered.
class BookReader {
 public:
  explicit BookReader(SubscriberOptions options)
      : subscriber(open_subscriber(std::move(options))) {}
  void until_quiet(TestBus& bus) {
    const std::uint64_t hang_ns = far_deadline();
    for (int quiet = 0; quiet < 300 || subscriber.position().sequence < bus.head();) {
      REQUIRE(monotonic_ns() < hang_ns);
      bus.turn();
      const Result<Item> item = subscriber.next(Deadline::now());
      REQUIRE(came(item) != Came::kEnd);
      if (item.ok()) REQUIRE(books.take(*item));
      quiet = item.ok() ? 0 : quiet + 1;
    }
  }
  const OrderBook& book() const {
    const OrderBook* const found = books.find_book(1, 2);
    REQUIRE(found != nullptr);
    return *found;
  }

  Subscriber subscriber;
  OrderBooks books;
};

TEST_CASE("Books of chosen instruments equal those from all records") {
  OrderFeed bus;
  bus.start();
  bus.publish(400);
  bus.archive(400);
  Start start = Start::oldest();
  SECTION("from the oldest record") {}
  SECTION("from a snapshot") {
    const auto fold = std::make_shared<OrderFold>();
    write_checkpoint(bus, *fold, 200);
    start = Start::snapshot(fold);
  }
  BookReader all(bus.options(start));
  BookReader chosen(bus.choosing({"id:2"}, start));
  for (BookReader* reader : {&all, &chosen}) reader->until_quiet(bus);
  CHECK(chosen.books.books().size() == 1);
  CHECK_FALSE(chosen.book().stale());
  CHECK(chosen.book().order_count() == 134);
  CHECK(chosen.book().digest() == all.book().digest());
}

TEST_CASE("Books of chosen instruments count lost records, but not skipped ones") {
  OrderFeed bus;
  bus.start();
  bus.publish(400);
  bus.archive(400);
  SECTION("before a snapshot") {
    const auto fold = std::make_shared<OrderFold>();
    MemoryState state(fold->shape());
    for (Sequence n = 1; n <= 200; ++n) {
      if (n == 101) fold->lose({101, 110, 111, GapCause::kLapped, false}, state);
      if (n < 101 || n > 110) fold->apply(n, bus.journal.record(n), state);
    }
    write_checkpoint(bus, *fold, state, identity_at(bus, 200));
    BookReader reader(bus.choosing({"id:2"}, Start::snapshot(fold)));
    reader.until_quiet(bus);
    CHECK(reader.books.books().size() == 1);
    CHECK(reader.book().lost_through() == 110);
    CHECK(reader.book().stale());
  }
  SECTION("at a beginning in the middle") {
    BookReader reader(bus.choosing({"id:2"}, Start::sequence(300)));
    reader.until_quiet(bus);
    CHECK(reader.book().stale());
    CHECK(reader.book().lost_through() == 299);
  }
  SECTION("in a gap that is skipped") {
    SubscriberOptions options = bus.choosing({"id:2"}, Start::oldest());
    options.on_gap = OnGap::kSkip;
    BookReader reader(options);
    reader.until_quiet(bus);
    CHECK_FALSE(reader.book().stale());
    bus.publish(1536);
    reader.until_quiet(bus);
    CHECK(reader.subscriber.counters().gaps == 1);
    CHECK(reader.book().stale());
    CHECK(reader.book().lost_through() == 400 + reader.subscriber.counters().lost);
  }
  SECTION("in a gap that is filled: nothing") {
    BookReader reader(bus.choosing({"id:2"}, Start::oldest()));
    reader.until_quiet(bus);
    bus.publish(1536);
    reader.until_quiet(bus);
    CHECK(reader.subscriber.counters().gaps == 1);
    CHECK_FALSE(reader.book().stale());
    CHECK(reader.book().order_count() == 646);
  }
}

TEST_CASE("Books take batches with a column of sequences, and without one") {
  const bool has_column = GENERATE(false, true);
  OrderFeed bus;
  bus.start();
  bus.publish(400);
  IntroducedReader reader(bus.choosing({"id:2"}, Start::oldest()));
  OrderBooks books;
  std::uint64_t records = 0;
  const std::uint64_t hang_ns = far_deadline();
  for (bool is_done = false; !is_done;) {
    REQUIRE(monotonic_ns() < hang_ns);
    bus.turn();
    const Result<Batch> batch =
        has_column ? reader.subscriber.read(reader.rows, reader.sequences, Deadline::now())
                   : reader.subscriber.read(reader.rows, Deadline::now());
    REQUIRE((has_column ? books.take(*batch, reader.rows, reader.sequences)
                        : books.take(*batch, reader.rows)));
    if (came(batch) == ItemKind::kRecord) records += batch->count;
    is_done = batch->is(EventKind::kCaughtUp);
  }
  CHECK(records == 134);
  CHECK(books.sequence() == 400);
  REQUIRE(books.find_book(1, 2) != nullptr);
  CHECK(books.find_book(1, 2)->last_sequence() == 400);
  CHECK(books.find_book(1, 2)->find_order(397)->place == 397);
  CHECK_FALSE(books.find_book(1, 2)->stale());
}

TEST_CASE("A loaded state contains the chosen instruments") {
  InstrumentFeed bus;
  bus.start();
  bus.publish(500);
  bus.archive(500);
  const std::shared_ptr<const Fold> fold = make_fold(kFoldLatest, schema_of<Signal>()).value();
  write_checkpoint(bus, *fold, 400);
  bus.close();
  auto loaded = load_state(bus.choosing({"id:2", "id:4"}, Start::snapshot(fold)), kHang);
  REQUIRE(loaded.ok());
  CHECK(loaded->state().size() == 2);
  CHECK(loaded->as_of() == 499);
  bus.start();
  bus.publish(10);
  std::array<std::byte, 10 * kRowBytes> rows;
  std::array<Sequence, 10> sequences = {};
  std::vector<Sequence> read;
  for (const std::uint64_t hang_ns = far_deadline(); read.size() < 4;) {
    REQUIRE(monotonic_ns() < hang_ns);
    bus.turn();
    const Result<Batch> batch = loaded->read(rows, sequences, Deadline::now());
    read.insert(read.end(), sequences.begin(), sequences.begin() + batch->count);
  }
  CHECK(read == std::vector<Sequence>{502, 504, 507, 509});
  CHECK(loaded->as_of() == 509);
  CHECK(loaded->state().size() == 2);
  MemoryState expected(fold->shape());
  for (const Sequence n : {Sequence{507}, Sequence{509}}) {
    fold->apply(n, bus.journal.record(n), expected);
  }
  CHECK(loaded->state().digest() == expected.digest());
}

}  // namespace
}  // namespace lapwing
