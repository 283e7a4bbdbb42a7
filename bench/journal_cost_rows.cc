// The effect of a journal on a publish under paced load: off, in memory, on disk synced every 1, 10
// and 100 ms, and on a slow disk. All rows use the same floor, so that they can be compared.
#include <algorithm>
#include <cstring>
#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "bench/bench_bus.h"
#include "bench/pace.h"
#include "bench/rows.h"
#include "bench/samples.h"
#include "bench/stamped_record.h"
#include "bench/two_processes.h"
#include "bus/ring_map.h"
#include "proto/ring_words.h"
#include "snapshot/bus_directory.h"

namespace lapwing::bench {
namespace {

constexpr std::size_t kRecords = 1'000'000;  // one second; 900 exceed the 99.9th percentile
constexpr double kPacePerSecond = 1e6;
constexpr std::size_t kWarmUp = kRecords / 10;  // records that are not timed
constexpr double kSlowNs = 10'000;
constexpr double kFigureFraction = 0.999;
constexpr std::size_t kLagEvery = 1000;  // records between two checks of the lag

// The maximum number of published records that were not yet in the journal's files.
class JournalLag {
 public:
  explicit JournalLag(const std::string& directory)
      : ring_(value_or_fail(
            RingMap::attach(value_or_fail(read_bus_description(directory)).ring_path))) {}

  void look(Sequence head) {
    records_max_ = std::max(records_max_, head - load_archived(ring_.words()));
  }
  double records_max() const { return static_cast<double>(records_max_); }

 private:
  RingMap ring_;
  std::uint64_t records_max_ = 0;
};

// Durations from when a record was due until `send` returned. `between` is called with the record's
// index afterwards; its time affects only the next record.
template <typename Send, typename Between>
Samples time_from_due(const Setting& setting, Send&& send, Between&& between) {
  const std::size_t records = setting.count(kRecords);
  const std::size_t warm_up = setting.count(kWarmUp);
  Samples samples(records);
  send_when_due(Schedule::steady(records, kPacePerSecond),
                [&](std::size_t record, std::uint64_t due, std::uint64_t) {
                  send(StampedRecord(record + 1, due).bytes());
                  const std::uint64_t now = ticks();
                  if (record >= warm_up) samples.add(now - due);
                  between(record);
                });
  return samples;
}

// The floor: copies the same records, when they are due, into memory of the ring's size.
// Preemptions of this core affect it in the same way.
double copy_when_due_ns(const Setting& setting, Placement placement) {
  pin_to_core(placement.first);
  const std::uint64_t slots = capacity_for(setting);
  const SharedMemory memory(slots * kSlotBytes);
  std::uint64_t slot = 0;
  const auto copy = [&](std::span<const std::byte> record) {
    std::memcpy(memory.data() + slot * kSlotBytes, record.data(), record.size());
    asm volatile("" ::"r"(memory.data()) : "memory");  // prevents removal of the unused copy
    slot = (slot + 1) % slots;
  };
  Samples samples = time_from_due(setting, copy, [](std::size_t) {});
  return samples.percentile_ns(kFigureFraction);
}

Measurement publish_when_due(const Setting& setting, Placement placement, const std::string& parent,
                             Journal journal, std::uint64_t sync_interval_ns) {
  const PrivateDirectory directory(parent);
  const auto publisher =
      open_publisher(setting, placement, directory.path(), journal, sync_interval_ns);
  std::optional<JournalLag> lag;
  if (journal != Journal::kNone) lag.emplace(directory.path());
  Samples samples = time_from_due(
      setting, [&](std::span<const std::byte> record) { publish_or_fail(*publisher, record); },
      [&](std::size_t record) {
        if (lag && record % kLagEvery == 0) lag->look(publisher->head());
      });
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
  if (lag) measurement.details.push_back({"journal behind by", lag->records_max(), "records"});
  return measurement;
}

RowResult run(const Setting& setting, const char* name, const char* journal_is,
              const std::string& parent, Journal journal,
              std::uint64_t sync_interval_ns = kSyncIntervalNs) {
  RowSpec spec;
  spec.name = name;
  spec.what = absl::StrCat(
      "99.9th percentile of a publish, from its due time, at a million a second, journal ",
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

RowResult run_journal_disk_slow(const Setting& setting) {
  return run(setting, "journal-disk-slow",
             "on a disk that takes 100 MB/s and 50 ms more for a sync, synced every 10 ms",
             setting.disk_directory, Journal::kSlowDisk, 10'000'000);
}

}  // namespace lapwing::bench
