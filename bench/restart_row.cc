// A publisher is killed and replaced by another one. Measures how long an attached subscriber waits
// for the first record of the new session, and checks that it receives every record of the old one.
#include <atomic>
#include <cstring>
#include <string>

#include "absl/strings/str_cat.h"
#include "bench/bench_bus.h"
#include "bench/pace.h"
#include "bench/rows.h"
#include "bench/samples.h"
#include "bench/stamped_record.h"
#include "bench/two_processes.h"
#include "os/kernel.h"
#include "proto/ring_words.h"

namespace lapwing::bench {
namespace {

constexpr double kPacePerSecond = 1e5;
constexpr std::size_t kSecondsOfRecords = 60;  // more than any trial needs
constexpr Sequence kBeforeKill = 100'000;
constexpr Sequence kBeforeKillQuick = 2'000;

struct Board {
  std::uint32_t start_first = 0;  // futex words on which the two publishers wait
  std::uint32_t start_second = 0;
  std::atomic<std::uint64_t> opened_ticks{0};
};

void ring_bell(std::uint32_t& bell) {
  bump_bell(&bell);
  futex_wake_all(&bell);
}

void publish_until_killed(const Setting& setting, Placement placement, const std::string& directory,
                          Board& board) {
  const auto publisher = open_publisher(setting, placement, directory, Journal::kSynced);
  board.opened_ticks = ticks();
  const auto records = static_cast<std::size_t>(kPacePerSecond) * kSecondsOfRecords;
  send_when_due(Schedule::steady(records, kPacePerSecond),
                [&](std::size_t, std::uint64_t due, std::uint64_t) {
                  publish_or_fail(*publisher, StampedRecord(publisher->head() + 1, due).bytes());
                });
}

// Reads until `enough` returns true. Checks that every record is complete and in order.
template <typename Enough>
void read_until(Subscriber& subscriber, Sequence& last, Enough&& enough) {
  for (;;) {
    const auto item = subscriber.next();
    if (!item.ok()) fail(subscriber.status().ToString());
    if (item->kind == ItemKind::kRecord) {
      const StampedRecord record(item->record.data());
      if (item->sequence != last + 1 || record.number() != item->sequence || !record.whole()) {
        fail(absl::StrCat("record ", item->sequence, " came after ", last, " across a restart"));
      }
      last = item->sequence;
    }
    if (enough(*item)) return;
  }
}

Measurement restart(Setting setting, Placement placement) {
  const PrivateDirectory rings(setting.ring_directory);  // rings of killed publishers remain there
  setting.ring_directory = rings.path();
  const PrivateDirectory directory(setting.disk_directory);
  const Shared<Board> board;
  const Placement there = swapped(placement);
  const auto publisher_after = [&](std::uint32_t& start) {
    return [&setting, &directory, &board, &start, there] {
      // Sleeps, so that it does not disturb the other two.
      while (load_bell(&start) == 0) futex_wait(&start, 0, kParkNsMax);
      publish_until_killed(setting, there, directory.path(), *board);
    };
  };
  Child first(there.first, publisher_after(board->start_first));
  Child second(there.first, publisher_after(board->start_second));
  pin_to_core(placement.first);
  SubscriberOptions options = subscriber_options(directory.path(), WaitStrategy::kBusy);
  options.start = Start::oldest();
  options.on_gap = OnGap::kFill;
  ring_bell(board->start_first);
  Subscriber subscriber = value_or_fail(Subscriber::open(std::move(options)));
  const Sequence enough = setting.quick ? kBeforeKillQuick : kBeforeKill;
  Sequence last = 0;
  read_until(subscriber, last, [&](const Item&) { return last >= enough; });

  const std::uint64_t killed = ticks();
  first.kill();
  const std::uint64_t started = ticks();
  ring_bell(board->start_second);
  bool new_session = false;
  read_until(subscriber, last, [&](const Item& item) {
    new_session |= item.is(EventKind::kSession);
    return new_session && item.kind == ItemKind::kRecord;
  });
  const std::uint64_t received = ticks();
  Measurement measurement;
  measurement.figure = ms_between(started, received);
  measurement.details = {{"open of the publisher", ms_between(started, board->opened_ticks), "ms"},
                         {"since the kill", ms_between(killed, received), "ms"}};
  const SubscriberCounters counters = subscriber.counters();
  if (counters.lost != 0) measurement.fault = absl::StrCat(counters.lost, " records lost");
  return measurement;
}

// The floor: the cost of a new ring, measured by creating and filling memory of its size.
double new_memory_ms(const Setting& setting, Placement placement) {
  pin_to_core(placement.first);
  const std::uint64_t start = ticks();
  const SharedMemory memory(capacity_for(setting) * kSlotBytes);
  std::memset(memory.data(), 1, memory.size());
  return ms_between(start, ticks());
}

}  // namespace

RowResult run_restart(const Setting& setting) {
  RowSpec spec;
  spec.name = "restart";
  spec.what =
      "restart after a kill, from the start of the new publisher until an attached subscriber "
      "receives the first record; journal on disk";
  spec.floor = "memory of a ring";
  spec.unit = "ms";
  spec.absolute_budget = {60, "ms", ""};
  spec.trials = setting.trials(6);
  if (!has_two_cores()) return skip_row(spec, "needs two cores");
  return measure_row(
      spec, [&](Placement placement) { return new_memory_ms(setting, placement); },
      [&](Placement placement) { return restart(setting, placement); });
}

}  // namespace lapwing::bench
