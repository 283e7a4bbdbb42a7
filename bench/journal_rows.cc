// The throughput of the journal: sustained publishing to disk, and catching up from the page cache.
#include <algorithm>
#include <cstring>
#include <vector>

#include "bench/bench_bus.h"
#include "bench/fio.h"
#include "bench/floor.h"
#include "bench/record_source.h"
#include "bench/rows.h"
#include "bench/samples.h"
#include "os/kernel.h"
#include "os/posix_io.h"
#include "snapshot/journal/journal_reader.h"

namespace lapwing::bench {
namespace {

constexpr std::uint64_t kSustainedBytes = std::uint64_t{2} << 30;  // bytes of slots
constexpr std::uint64_t kSustainedBytesQuick = std::uint64_t{16} << 20;
constexpr std::chrono::seconds kFlushPatience{60};
constexpr std::uint64_t kCatchUpRecords = std::uint64_t{1} << 22;  // 256 MiB of slots
constexpr std::uint64_t kCatchUpRecordsQuick = std::uint64_t{1} << 15;
constexpr std::size_t kReadRecords = 4096;  // per buffer, as a late joiner reads

Measurement publish_to_disk(const Setting& setting, Placement placement, std::uint64_t bytes) {
  const PrivateDirectory directory(setting.disk_directory);
  const auto publisher = open_publisher(setting, placement, directory.path(), Journal::kSynced);
  RecordSource source(kRecordBytes);
  const std::uint64_t start_ns = monotonic_ns();
  for (std::uint64_t record = 0; record < bytes / kSlotBytes; record += kBatchRecords) {
    publish_batch_or_fail(*publisher, source.next_batch());
  }
  ok_or_fail(publisher->flush(kFlushPatience));
  const double seconds = static_cast<double>(monotonic_ns() - start_ns) / 1e9;
  const PublisherCounters counters = publisher->counters();
  ok_or_fail(publisher->close());
  Measurement measurement;
  measurement.figure = static_cast<double>(bytes) / seconds / 1e6;
  measurement.details = {
      {"records", static_cast<double>(bytes / kSlotBytes) / seconds / 1e6, "million a second"},
      {"stalls", static_cast<double>(counters.journal_stalls), ""},
      {"longest stall", static_cast<double>(counters.journal_stall_ns_max) / 1e6, "ms"}};
  return measurement;
}

// A closed bus with a journal of `records`, whose files are in the page cache.
class Archive {
 public:
  Archive(const Setting& setting, std::uint64_t records)
      : directory_(setting.disk_directory), out_(kReadRecords * kRecordBytes) {
    const auto publisher =
        open_publisher(setting, straight_placement(), directory_.path(), Journal::kSynced);
    RecordSource source(kRecordBytes);
    for (std::uint64_t record = 0; record < records; record += kBatchRecords) {
      publish_batch_or_fail(*publisher, source.next_batch());
    }
    journal_id_ = publisher->journal_id();
    ok_or_fail(publisher->close());
    read_all(records);  // loads data whose writes bypassed the page cache
  }

  // Nanoseconds per record to read everything with a new reader, which has verified nothing yet.
  // Averaged over all buffers, because buffers from data that was already read are almost free.
  double read_all(std::uint64_t records) {
    PosixDisk disk;
    const auto reader =
        value_or_fail(JournalReader::open(disk, directory_.path() + "/journal", journal_id_));
    const JournalBounds bounds = value_or_fail(reader->settled_bounds());
    const std::uint64_t start = ticks();
    for (Sequence n = 1; n <= records;) {
      const JournalRun run = value_or_fail(reader->read(n, bounds, out_));
      if (run.count == 0) fail("the journal of the benchmark has missing records");
      n += run.count;
    }
    return static_cast<double>(ticks() - start) * ns_per_tick() / static_cast<double>(records);
  }

 private:
  PrivateDirectory directory_;
  Id128 journal_id_;
  std::vector<std::byte> out_;
};

}  // namespace

RowResult run_sustained(const Setting& setting) {
  RowSpec spec;
  spec.name = "sustained";
  spec.what = "publish at full speed until durable, journal on disk synced every 10 ms";
  spec.floor = "fio";
  spec.unit = "MB/s";
  spec.bound = Bound::kAtLeast;
  spec.budget = 0.8;
  spec.trials = setting.trials(6);
  const std::optional<std::string> fio = find_fio();
  if (!fio) return skip_row(spec, "fio, which measures the floor, is not installed");
  const std::uint64_t bytes = setting.quick ? kSustainedBytesQuick : kSustainedBytes;
  return measure_row(
      spec,
      [&](Placement) { return fio_write_per_second(*fio, setting.disk_directory, bytes) / 1e6; },
      [&](Placement placement) { return publish_to_disk(setting, placement, bytes); });
}

RowResult run_catch_up(const Setting& setting) {
  RowSpec spec;
  spec.name = "catch-up";
  spec.what = "read a journal of 256 MiB from the page cache, with checksums verified";
  spec.floor = "copy";
  spec.unit = "million records a second";
  spec.bound = Bound::kAtLeast;
  spec.budget = 0.8;
  spec.trials = setting.trials(10);
  const std::uint64_t records = setting.quick ? kCatchUpRecordsQuick : kCatchUpRecords;
  Archive archive(setting, records);
  return measure_row(
      spec,
      [&](Placement placement) {
        return 1e3 / copy_out_ns(placement, records, kRecordBytes, kSlotBytes, kReadRecords);
      },
      [&](Placement placement) {
        pin_to_core(placement.first);
        Measurement measurement;
        measurement.figure = 1e3 / archive.read_all(records);
        return measurement;
      });
}

}  // namespace lapwing::bench
