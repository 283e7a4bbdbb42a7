// One live reader of a publisher that never waits for it, or waits only to avoid lapping it. Checks
// which records arrive, that they are complete, and their order.
#include <atomic>
#include <cstring>
#include <optional>
#include <vector>

#include "bench/bench_bus.h"
#include "bench/floor.h"
#include "bench/lines.h"
#include "bench/rows.h"
#include "bench/two_processes.h"
#include "os/kernel.h"

namespace lapwing::bench {
namespace {

constexpr std::size_t kRecords = 16'000'000;
constexpr std::size_t kWords = kRecordBytes / 8;
constexpr std::size_t kReadRecords = 256;    // maximum per read
constexpr std::size_t kPublishRecords = 32;  // per publish_batch
constexpr std::size_t kScratchRecords = 512;

// The reader's results, returned through shared memory.
struct Received {
  std::atomic<int> attached{0};
  double records_per_second = 0;
  SubscriberCounters counters;
  std::uint64_t torn = 0;
  std::uint64_t out_of_order = 0;
};

// Every word of record n is n, so that mixed words of two records are detected.
void check(const std::byte* record, Sequence expected, Received& received) {
  Sequence words[kWords];
  std::memcpy(words, record, sizeof words);
  Sequence differences = 0;
  for (const Sequence word : words) differences |= word ^ words[0];
  received.torn += differences != 0 ? 1 : 0;
  received.out_of_order += words[0] != expected ? 1 : 0;
}

// `headway` limits the publisher's lead over this reader. Null if the publisher never waits.
void receive(const std::string& directory, std::size_t records, const Headway* headway,
             Received& received) {
  Subscriber subscriber =
      value_or_fail(Subscriber::open(subscriber_options(directory, WaitStrategy::kBusy)));
  await_join(subscriber);
  received.attached = 1;
  std::vector<std::byte> rows(kReadRecords * kRecordBytes);
  std::uint64_t start_ns = 0;
  std::uint64_t end_ns = 0;  // time of the last record, because closing is not measured
  for (;;) {
    const Result<Batch> batch = subscriber.read(rows, Deadline::never());
    if (!batch.ok()) fail(subscriber.status().ToString());
    if (batch->is(EventKind::kClosed)) break;
    if (batch->count > 0 && start_ns == 0) start_ns = monotonic_ns();
    for (std::size_t i = 0; i < batch->count; ++i) {
      check(rows.data() + i * kRecordBytes, batch->first + i, received);
    }
    if (headway != nullptr) headway->took(batch->first + batch->count - 1, batch->count);
    if (end_ns == 0 && subscriber.counters().last == records) end_ns = monotonic_ns();
  }
  received.counters = subscriber.counters();
  received.records_per_second =
      static_cast<double>(received.counters.records) * 1e9 / static_cast<double>(end_ns - start_ns);
}

void publish_numbered(Publisher& publisher, std::size_t records, const Headway* headway) {
  std::vector<Sequence> words(kScratchRecords * kWords);
  Sequence n = 0;
  while (n < records) {
    if (headway != nullptr) headway->await(n);
    Sequence* const batch = words.data() + n % kScratchRecords * kWords;
    for (std::size_t i = 0; i < kPublishRecords; ++i) {
      ++n;
      for (std::size_t word = 0; word < kWords; ++word) batch[i * kWords + word] = n;
    }
    const std::span<const Sequence> span(batch, kPublishRecords * kWords);
    publish_batch_or_fail(publisher, std::as_bytes(span));
  }
}

std::string fault_of(const Received& received, std::size_t published) {
  const std::uint64_t seen = received.counters.records + received.counters.lost;
  if (received.torn != 0) return absl::StrCat(received.torn, " torn records");
  if (received.out_of_order != 0) return absl::StrCat(received.out_of_order, " out of order");
  if (seen != published) return absl::StrCat(seen, " of ", published, " records accounted for");
  return {};
}

Measurement one_reader(const Setting& setting, Placement placement, std::size_t records,
                       const Headway* headway) {
  const PrivateDirectory directory(setting.ring_directory);
  const Shared<Received> received;
  Child reader(placement.second, [&] { receive(directory.path(), records, headway, *received); });
  const auto publisher = open_publisher(setting, placement, directory.path(), Journal::kNone);
  spin_until([&] { return received->attached == 1; });
  const std::uint64_t start_ns = monotonic_ns();
  publish_numbered(*publisher, records, headway);
  const double publish_ns = static_cast<double>(monotonic_ns() - start_ns);
  ok_or_fail(publisher->close());
  reader.join();
  Measurement measurement;
  measurement.figure = received->records_per_second / 1e6;
  measurement.details = {
      {"published", static_cast<double>(records) * 1e3 / publish_ns, "million a second"},
      {"laps", static_cast<double>(received->counters.gaps), ""},
      {"lost", 100.0 * static_cast<double>(received->counters.lost) / static_cast<double>(records),
       "%"}};
  measurement.fault = fault_of(*received, records);
  if (headway != nullptr && received->counters.lost != 0 && measurement.fault.empty()) {
    measurement.fault = absl::StrCat(received->counters.lost, " records lost to a lap");
  }
  return measurement;
}

template <typename Subject>
RowResult run(const Setting& setting, const char* name, const char* what,
              std::optional<double> budget, Subject&& subject) {
  RowSpec spec;
  spec.name = name;
  spec.what = what;
  spec.floor = "stream";
  spec.unit = "million a second";
  spec.bound = Bound::kAtLeast;
  spec.budget = budget;
  spec.trials = setting.trials(10);
  if (!has_two_cores()) return skip_row(spec, "needs two cores");
  const std::size_t records = setting.count(kRecords) / kPublishRecords * kPublishRecords;
  return measure_row(
      spec,
      [&](Placement placement) {
        return stream_per_second(placement, capacity_for(setting), records) / 1e6;
      },
      [&](Placement placement) { return subject(placement, records); });
}

}  // namespace

RowResult run_one_reader(const Setting& setting) {
  return run(setting, "one-reader",
             "records delivered to one live reader in batches, publisher at full speed", {},
             [&](Placement placement, std::size_t records) {
               return one_reader(setting, placement, records, nullptr);
             });
}

RowResult run_one_reader_lossless(const Setting& setting) {
  return run(setting, "one-reader-lossless",
             "the same, but the publisher waits so that no record is lapped", 0.85,
             [&](Placement placement, std::size_t records) {
               const Headway headway(capacity_for(setting));
               return one_reader(setting, placement, records, &headway);
             });
}

}  // namespace lapwing::bench
