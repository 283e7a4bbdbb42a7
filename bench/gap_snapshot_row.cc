// The time until a lapped subscriber with a book is live again with OnGap::kSnapshot.
#include <cstdint>
#include <span>
#include <string>
#include <utility>

#include "bench/bench_bus.h"
#include "bench/machine.h"
#include "bench/private_directory.h"
#include "bench/rows.h"
#include "lapwing/memory_state.h"
#include "lapwing/order_books.h"
#include "os/posix_io.h"
#include "snapshot/checkpoint/checkpoint_directory.h"
#include "snapshot/checkpoint/checkpoint_writer.h"
#include "snapshot/fold/order_fold.h"

namespace lapwing::bench {
namespace {

constexpr std::uint64_t kOrders = 10'000;
constexpr std::uint64_t kAfterCheckpoint = 1000;  // records after the checkpoint
constexpr std::uint32_t kBehindRecords = 1000;

dbn::MboMsg order(std::uint64_t id, dbn::Action action, std::uint64_t n) {
  dbn::MboMsg record{};
  record.hd = {sizeof record / dbn::kLengthUnit, dbn::RType::kMbo, 1, 7, n};
  record.order_id = id;
  record.price = static_cast<std::int64_t>(id % 500) * dbn::kPriceScale;
  record.size = static_cast<std::uint32_t>(1 + n % 9);
  record.flags = dbn::kFlagLast;
  record.action = action;
  record.side = id % 2 == 0 ? dbn::Side::kBid : dbn::Side::kAsk;
  record.ts_recv = n;
  return record;
}

// A bus with kOrders resting orders, which then change one after another, and their state.
class Market {
 public:
  Market(const Setting& setting, const std::string& directory)
      : publisher_(value_or_fail(Publisher::open({.directory = directory,
                                                  .schema_name = dbn::kSchemaMbo,
                                                  .record_bytes = sizeof(dbn::MboMsg),
                                                  .capacity = capacity_for(setting),
                                                  .ring_directory = setting.ring_directory}))),
        directory_(directory) {
    for (std::uint64_t id = 1; id <= kOrders; ++id) publish(order(id, dbn::Action::kAdd, id));
  }
  // The directory is removed once its publisher has closed.
  ~Market() { ok_or_fail(publisher_.close()); }
  Market(const Market&) = delete;
  Market& operator=(const Market&) = delete;

  void change(std::uint64_t records) {
    for (std::uint64_t i = 0; i < records; ++i) {
      const std::uint64_t n = publisher_.head() + 1;
      publish(order(1 + n % kOrders, dbn::Action::kModify, n));
    }
  }
  void write_checkpoint() {
    ok_or_fail(publisher_.flush(Deadline::never()));
    PosixDisk disk;
    const std::string folder =
        value_or_fail(make_checkpoint_directory(disk, directory_, fold_.shape().name));
    CheckpointWriter writer = value_or_fail(CheckpointWriter::create(
        disk, folder, fold_,
        {publisher_.journal_id(), publisher_.session_id(), publisher_.head()}));
    state_.for_each([&](std::span<const std::byte> entry) { ok_or_fail(writer.append(entry)); });
    ok_or_fail(writer.commit());
  }
  Sequence head() const { return publisher_.head(); }
  std::uint64_t digest() const { return state_.digest(); }

 private:
  void publish(const dbn::MboMsg& record) {
    publish_or_fail(publisher_, record);
    fold_.apply(publisher_.head(), std::as_bytes(std::span(&record, 1)), state_);
  }

  Publisher publisher_;
  const std::string directory_;
  const OrderFold fold_;
  MemoryState state_{fold_.shape()};
};

Item take_next(Subscriber& subscriber, OrderBooks& books) {
  const auto item = subscriber.next();
  if (!item.ok()) fail(subscriber.status().ToString());
  if (!books.take(*item)) fail("a record is not an order");
  return *item;
}

// Reads until an event of `kind`. Then the books contain everything before it.
void take_until(Subscriber& subscriber, OrderBooks& books, EventKind kind) {
  while (!take_next(subscriber, books).is(kind)) continue;
}

Measurement recover(const Setting& setting, Placement placement) {
  const PrivateDirectory directory(setting.disk_directory);
  pin_to_core(placement.second);  // for the library's threads
  Market market(setting, directory.path());
  pin_to_core(placement.first);
  SubscriberOptions options = subscriber_options(directory.path(), WaitStrategy::kBusy);
  options.start = Start::oldest();
  options.on_gap = OnGap::kSnapshot;
  options.behind_records = kBehindRecords;
  Subscriber subscriber = value_or_fail(Subscriber::open(std::move(options)));
  OrderBooks books({.orders = kOrders, .levels = kOrders});
  take_until(subscriber, books, EventKind::kLive);

  market.change(capacity_for(setting) + capacity_for(setting) / 2);
  market.write_checkpoint();
  market.change(kAfterCheckpoint);
  const std::uint64_t start = ticks();
  take_until(subscriber, books, EventKind::kLive);
  Measurement measurement;
  measurement.figure = ms_between(start, ticks());

  // kLive is delivered close to the head. Reading the remaining records is not part of the figure.
  while (books.sequence() < market.head()) take_next(subscriber, books);
  if (subscriber.counters().in_state == 0) measurement.fault = "no state was loaded";
  if (books.digest() != market.digest()) measurement.fault = "the books differ from the bus";
  return measurement;
}

// The floor: the same number of orders added to an empty book.
double fill_book_ms(Placement placement) {
  pin_to_core(placement.first);
  OrderBooks books({.orders = kOrders, .levels = kOrders});
  const std::uint64_t start = ticks();
  for (std::uint64_t id = 1; id <= kOrders; ++id) {
    const dbn::MboMsg record = order(id, dbn::Action::kAdd, id);
    if (!books.apply(id, std::as_bytes(std::span(&record, 1)))) fail("a record is not an order");
  }
  return ms_between(start, ticks());
}

}  // namespace

RowResult run_gap_snapshot(const Setting& setting) {
  RowSpec spec;
  spec.name = "gap-snapshot";
  spec.what =
      "recovery of a lapped subscriber with a book of 10,000 orders by OnGap::kSnapshot, from its "
      "next call to kLive; journal and checkpoint in the page cache";
  spec.floor = "a book filled";
  spec.unit = "ms";
  spec.absolute_budget = {40, "ms", ""};
  spec.trials = setting.trials(6);
  return measure_row(
      spec, [&](Placement placement) { return fill_book_ms(placement); },
      [&](Placement placement) { return recover(setting, placement); });
}

}  // namespace lapwing::bench
