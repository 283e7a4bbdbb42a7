// What a journal does to a publish under paced load: off, in memory, on disk synced every 1, 10 and
// 100 ms. All over the same floor, so that they can be compared with one another.
#include <algorithm>
#include <cstring>
#include <string>

#include "absl/strings/str_cat.h"
#include "bench/bench_bus.h"
#include "bench/pace.h"
#include "bench/rows.h"
#include "bench/samples.h"
#include "bench/stamped_record.h"
#include "bench/two_processes.h"

namespace lapwing::bench {
namespace {

constexpr std::size_t kRecords = 2'000'000;
constexpr double kPacePerSecond = 1e6;
constexpr std::size_t kWarmUp = kRecords / 10;  // records, not timed
constexpr double kSlowNs = 10'000;
constexpr double kFigureFraction = 0.999;

// Durations from when a record was due until `send` of it had returned.
template <typename Send>
Samples time_from_due(const Setting& setting, Send&& send) {
  const std::size_t records = setting.count(kRecords);
  const std::size_t warm_up = setting.count(kWarmUp);
  Samples samples(records);
  send_when_due(Schedule::steady(records, kPacePerSecond),
                [&](std::size_t record, std::uint64_t due, std::uint64_t) {
                  send(StampedRecord(record + 1, due).bytes());
                  const std::uint64_t now = ticks();
                  if (record >= warm_up) samples.add(now - due);
                });
  return samples;
}

// The floor: the same records, when they are due, copied into as much memory as the ring has. What
// takes this machine's core away takes it away here, too.
double copy_when_due_ns(const Setting& setting, Placement placement) {
  pin_to_core(placement.first);
  const std::uint64_t slots = capacity_for(setting);
  const SharedMemory memory(slots * kSlotBytes);
  std::uint64_t slot = 0;
  Samples samples = time_from_due(setting, [&](std::span<const std::byte> record) {
    std::memcpy(memory.data() + slot * kSlotBytes, record.data(), record.size());
    asm volatile("" ::"r"(memory.data()) : "memory");  // nobody reads the copy; keep it
    slot = (slot + 1) % slots;
  });
  return samples.percentile_ns(kFigureFraction);
}

Measurement publish_when_due(const Setting& setting, Placement placement, const std::string& parent,
                             Journal journal, std::uint64_t sync_interval_ns) {
  const PrivateDirectory directory(parent);
  const auto publisher =
      open_publisher(setting, placement, directory.path(), journal, sync_interval_ns);
  Samples samples = time_from_due(
      setting, [&](std::span<const std::byte> record) { publish_or_fail(*publisher, record); });
  const PublisherCounters counters = publisher->counters();
  ok_or_fail(publisher->close());
  const Curve curve = samples.curve_ns();
  Measurement measurement;
  measurement.figure = samples.percentile_ns(kFigureFraction);
  measurement.curve.assign(curve.begin(), curve.end());
  measurement.details = {
      {"p50", samples.percentile_ns(0.5), "ns"},
      {"p99.99", samples.percentile_ns(0.9999), "ns"},
      {"max", samples.max_ns(), "ns"},
      {"over 10 us",
       static_cast<double>(samples.count_above_ns(kSlowNs)) * 1e6 /
           static_cast<double>(samples.size()),
       "a million"},
      {"stalls", static_cast<double>(counters.journal_stalls), ""},
      {"longest stall", static_cast<double>(counters.journal_stall_ns_max) / 1e6, "ms"}};
  return measurement;
}

RowResult run(const Setting& setting, const char* name, const char* journal_is,
              const std::string& parent, Journal journal,
              std::uint64_t sync_interval_ns = kSyncIntervalNs) {
  RowSpec spec;
  spec.name = name;
  spec.what = absl::StrCat(
      "99.9th percentile of a publish, from when it is due, at a million a second, journal ",
      journal_is);
  spec.floor = "paced copy";
  spec.unit = "ns";
  spec.trials = setting.trials(6);
  return measure_row(
      spec, [&](Placement placement) { return copy_when_due_ns(setting, placement); },
      [&](Placement placement) {
        return publish_when_due(setting, placement, parent, journal, sync_interval_ns);
      });
}

}  // namespace

RowResult run_journal_off(const Setting& setting) {
  return run(setting, "journal-off", "off", setting.ring_directory, Journal::kNone);
}

RowResult run_journal_memory(const Setting& setting) {
  return run(setting, "journal-memory", "in memory", setting.ring_directory, Journal::kSynced);
}

RowResult run_journal_disk_1ms(const Setting& setting) {
  return run(setting, "journal-disk-1ms", "on disk, synced every ms", setting.disk_directory,
             Journal::kSynced, 1'000'000);
}

RowResult run_journal_disk_10ms(const Setting& setting) {
  return run(setting, "journal-disk-10ms", "on disk, synced every 10 ms", setting.disk_directory,
             Journal::kSynced, 10'000'000);
}

RowResult run_journal_disk_100ms(const Setting& setting) {
  return run(setting, "journal-disk-100ms", "on disk, synced every 100 ms", setting.disk_directory,
             Journal::kSynced, 100'000'000);
}

}  // namespace lapwing::bench
