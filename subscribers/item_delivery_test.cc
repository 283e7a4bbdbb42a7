// How the calls share records that have been read. reading_test.cc and subscriber_test.cc test what
// each call delivers.
#include "subscribers/item_delivery.h"

#include <algorithm>
#include <catch2/catch.hpp>

#include "testing/bus_fixture.h"
#include "testing/far_deadline.h"

namespace lapwing {
namespace {

constexpr std::size_t kRecordBytes = 56;

struct Delivered {
  explicit Delivered(std::uint64_t published) {
    bus.start();
    bus.publish(published);
    delivery.emplace(bus.options());
  }
  Result<Due> next() {
    bus.turn();
    return delivery->next(0);
  }
  Result<Batch> read(std::size_t rows) {
    bus.turn();
    memory.resize(rows * kRecordBytes);
    Result<Batch> batch = Batch{};
    Due due;
    if (!delivery->read_records(memory, batch)) batch = delivery->read({.bytes = memory}, 0, due);
    return batch;
  }
  // Delivers everything up to this event.
  void until(EventKind kind) {
    for (const std::uint64_t deadline_ns = far_deadline();;) {
      REQUIRE(monotonic_ns() < deadline_ns);
      const Result<Due> due = next();
      if (due.ok() && due->kind == DueKind::kEvent && due->event == kind) return;
    }
  }
  bool holds(Sequence n, std::size_t row) const {
    const std::span<const std::byte> found(&memory[row * kRecordBytes], kRecordBytes);
    return std::ranges::equal(bus.journal.record(n), found);
  }

  TestBus bus;
  std::optional<ItemDelivery> delivery;
  std::vector<std::byte> memory;
};

TEST_CASE("Each call continues where the last one ended, in the journal and in the ring") {
  const std::uint64_t published = GENERATE(30U, 3000U);
  Delivered delivered(published);
  delivered.until(EventKind::kSession);
  std::vector<std::byte> record(kRecordBytes);
  for (Sequence n = 1; n + 6 <= 30; n += 6) {
    const Result<Due> due = delivered.next();
    REQUIRE(due.ok());
    CHECK(due->sequence == n);
    CHECK(*delivered.delivery->read_one(record, 0) == n + 1);
    const Result<Batch> batch = delivered.read(4);
    CHECK(batch->count == 4);
    CHECK(batch->first == n + 2);
    CHECK(delivered.holds(n + 5, 3));
  }
}

TEST_CASE("An event that a call cannot deliver stays the next one") {
  Delivered delivered(10);
  std::vector<std::byte> record(kRecordBytes);
  Result<Sequence> taken = Errc::kWouldBlock;
  for (const std::uint64_t deadline_ns = far_deadline(); taken == Errc::kWouldBlock;) {
    REQUIRE(monotonic_ns() < deadline_ns);
    delivered.bus.turn();
    taken = delivered.delivery->read_one(record, 0);
  }
  CHECK(taken == Errc::kEventDue);
  CHECK(delivered.delivery->read_one(record, 0) == Errc::kEventDue);
  CHECK(delivered.delivery->read_event()->event == EventKind::kSession);
  CHECK(delivered.delivery->read_event() == Errc::kWouldBlock);
  CHECK(*delivered.delivery->read_one(record, 0) == 1);
}

TEST_CASE("Memory smaller than a row is too small, and so is an empty column") {
  Delivered delivered(10);
  delivered.until(EventKind::kSession);
  std::vector<std::byte> rows(10 * kRecordBytes);
  Due due;
  const RowSpace narrow{.bytes = std::span(rows).first(kRecordBytes - 1)};
  const RowSpace unnumbered{.bytes = rows, .sequences = std::span<Sequence>()};
  for (const RowSpace& space : {narrow, unnumbered}) {
    const Result<Batch> batch = delivered.delivery->read(space, 0, due);
    CHECK(batch == Errc::kTooSmall);
    CHECK(batch->row_bytes == kRecordBytes);
  }
  CHECK(delivered.read(10)->count == 10);
}

TEST_CASE("The read path is open for the ring, and closed for an event and for the block") {
  Delivered delivered(3000);
  const detail::ReadPath& path = delivered.delivery->path();
  delivered.until(EventKind::kSession);
  REQUIRE(delivered.next().ok());
  CHECK(path.limit == 0);
  delivered.until(EventKind::kCaughtUp);
  while (delivered.next() != Errc::kWouldBlock) continue;  // now it reads the ring
  CHECK(path.limit > path.next);
  delivered.bus.publish(3 * TestBus::kCapacity);
  std::vector<std::byte> record(kRecordBytes);
  CHECK(delivered.delivery->read_one(record, 0) == Errc::kEventDue);
  CHECK(path.limit == 0);
}

TEST_CASE("Records taken on the path count once the stream is read with them") {
  Delivered delivered(10);
  delivered.until(EventKind::kCaughtUp);
  delivered.bus.publish(3);
  std::vector<std::byte> record(kRecordBytes);
  for (int i = 0; i < 3; ++i) REQUIRE(delivered.delivery->path().take_bytes(record.data(), 0));
  CHECK(delivered.delivery->stream().cursor.ledger.counters().records == 10);
  CHECK(delivered.delivery->counted_stream().cursor.ledger.counters().records == 13);
}

TEST_CASE("A source is ready for a record or an event, and takes neither") {
  Delivered delivered(10);
  delivered.until(EventKind::kCaughtUp);
  CHECK_FALSE(delivered.delivery->is_ready());
  REQUIRE(delivered.delivery->prepare_wait());
  CHECK(delivered.next() == Errc::kMisuse);
  delivered.delivery->finish_wait();
  delivered.bus.publish(1);
  CHECK(delivered.delivery->is_ready());
  CHECK(delivered.delivery->is_ready());
  CHECK_FALSE(delivered.delivery->prepare_wait());
  CHECK(delivered.next()->sequence == 11);
}

TEST_CASE("In a forked child every call ends, with or without a due event") {
  Delivered delivered(10);
  delivered.until(EventKind::kCaughtUp);
  if (GENERATE(true, false)) {
    delivered.bus.publish(3 * TestBus::kCapacity);
    std::vector<std::byte> record(kRecordBytes);
    REQUIRE(delivered.delivery->read_one(record, 0) == Errc::kEventDue);
  }
  delivered.delivery->end_in_child();
  CHECK(delivered.delivery->next(0) == Errc::kForked);
  CHECK(delivered.read(10) == Errc::kForked);
  CHECK(delivered.read(0) == Errc::kForked);
  CHECK(delivered.delivery->is_ready());
  CHECK_FALSE(delivered.delivery->prepare_wait());
}

}  // namespace
}  // namespace lapwing
