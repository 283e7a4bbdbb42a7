// The cost of a publish for the publishing thread: without and with the journal.
#include <algorithm>
#include <cstring>

#include "bench/bench_bus.h"
#include "bench/floor.h"
#include "bench/record_source.h"
#include "bench/rows.h"
#include "bench/samples.h"
#include "lapwing/typed_publisher.h"

namespace lapwing::bench {
namespace {

constexpr std::size_t kRecords = 8'192'000;
constexpr std::size_t kBlockRecords = 4096;  // timed together
constexpr std::size_t kPacedRecords = 5'000'000;
constexpr double kPacePerSecond = 5e6;
constexpr std::size_t kBurstRecords = 64;  // timed together if a single publish is too short
constexpr double kTailAllowanceNs = 500;

template <typename PublishBlock>
double median_block_ns(std::size_t blocks, std::size_t warm_up, PublishBlock&& publish_block) {
  for (std::size_t i = 0; i < warm_up; ++i) publish_block();
  Samples samples(blocks);
  for (std::size_t i = 0; i < blocks; ++i) {
    const std::uint64_t start = ticks();
    publish_block();
    samples.add(ticks() - start);
  }
  return samples.percentile_ns(0.5) / kBlockRecords;
}

double flat_out_ns(const Setting& setting, Placement placement, std::size_t records,
                   bool in_batches) {
  const PrivateDirectory directory(setting.ring_directory);
  const auto publisher = open_publisher(setting, placement, directory.path(), Journal::kNone);
  RecordSource source(kRecordBytes);
  const std::size_t warm_up = capacity_for(setting) / kBlockRecords;
  const std::size_t blocks = std::max<std::size_t>(records / kBlockRecords, 1);
  if (!in_batches) {
    return median_block_ns(blocks, warm_up, [&] {
      for (std::size_t i = 0; i < kBlockRecords; ++i) {
        publish_or_fail(*publisher, source.next_as<TypedRecord<kRecordBytes>>());
      }
    });
  }
  return median_block_ns(blocks, warm_up, [&] {
    for (std::size_t i = 0; i < kBlockRecords; i += kBatchRecords) {
      publish_batch_or_fail(*publisher, source.next_batch());
    }
  });
}

template <typename Record>
double typed_ns(const Setting& setting, Placement placement, std::size_t records) {
  const PrivateDirectory directory(setting.ring_directory);
  pin_to_core(placement.second);  // for the library's threads
  auto publisher =
      value_or_fail(TypedPublisher<Record>::open({.directory = directory.path(),
                                                  .capacity = capacity_for(setting),
                                                  .ring_directory = setting.ring_directory,
                                                  .journal = false}));
  pin_to_core(placement.first);
  RecordSource source(sizeof(Record));
  const std::size_t blocks = std::max<std::size_t>(records / kBlockRecords, 1);
  const double ns = median_block_ns(blocks, capacity_for(setting) / kBlockRecords, [&] {
    for (std::size_t i = 0; i < kBlockRecords; ++i) {
      if (!publisher.publish(source.next_as<Record>()).ok()) {
        fail(publisher->last_error().ToString());
      }
    }
  });
  ok_or_fail(publisher->close());
  return ns;
}

RowResult run_flat_out(const Setting& setting, const char* name, const char* what, double budget,
                       bool in_batches) {
  RowSpec spec;
  spec.name = name;
  spec.what = what;
  spec.floor = "copy";
  spec.unit = "ns";
  spec.budget = budget;
  spec.trials = setting.trials(10);
  const std::size_t records = setting.count(kRecords);
  return measure_row(
      spec,
      [&](Placement placement) {
        return copy_ns(placement, capacity_for(setting), kRecordBytes, kSlotBytes, records);
      },
      [&](Placement placement) {
        Measurement measurement;
        measurement.figure = flat_out_ns(setting, placement, records, in_batches);
        return measurement;
      });
}

struct PacedPublish {
  double median_ns = 0;  // one publish within a burst
  double p999_ns = 0;    // single publishes
  double stalls = 0;
};

void spin_to(std::uint64_t due_ticks) {
  while (ticks() < due_ticks) {
  }
}

// Publishes bursts for the median, then single records for the tail, both at kPacePerSecond.
PacedPublish publish_paced(const Setting& setting, Placement placement, Journal journal) {
  const PrivateDirectory directory(setting.disk_directory);
  const auto publisher = open_publisher(setting, placement, directory.path(), journal);
  RecordSource source(kRecordBytes);
  const std::size_t records = setting.count(kPacedRecords);
  const double period_ticks = 1e9 / kPacePerSecond / ns_per_tick();
  PacedPublish paced;

  Samples bursts(records / kBurstRecords);
  const double burst_ticks = period_ticks * kBurstRecords;
  std::uint64_t began = ticks();
  for (std::size_t burst = 0; burst < records / kBurstRecords; ++burst) {
    spin_to(began + static_cast<std::uint64_t>(static_cast<double>(burst) * burst_ticks));
    const std::uint64_t start = ticks();
    for (std::size_t i = 0; i < kBurstRecords; ++i) publish_or_fail(*publisher, source.next());
    bursts.add(ticks() - start);
  }
  paced.median_ns = bursts.percentile_ns(0.5) / kBurstRecords;

  Samples singles(records);
  began = ticks();
  for (std::size_t record = 0; record < records; ++record) {
    spin_to(began + static_cast<std::uint64_t>(static_cast<double>(record) * period_ticks));
    const std::uint64_t start = ticks();
    publish_or_fail(*publisher, source.next());
    singles.add(ticks() - start);
  }
  paced.p999_ns = singles.percentile_ns(0.999);
  paced.stalls = static_cast<double>(publisher->counters().journal_stalls);
  ok_or_fail(publisher->close());
  return paced;
}

RowResult run_with_journal(const Setting& setting, RowSpec spec, double PacedPublish::* figure) {
  spec.floor = "without";
  spec.unit = "ns";
  spec.trials = setting.trials(6);
  return measure_row(
      spec,
      [&](Placement placement) {
        return publish_paced(setting, placement, Journal::kNone).*figure;
      },
      [&](Placement placement) {
        const PacedPublish paced = publish_paced(setting, placement, Journal::kSynced);
        Measurement measurement;
        measurement.figure = paced.*figure;
        measurement.details.push_back({"stalls", paced.stalls, ""});
        return measurement;
      });
}

}  // namespace

RowResult run_publish(const Setting& setting) {
  return run_flat_out(setting, "publish", "publish one by one, without readers", 0.95, false);
}

RowResult run_publish_batch(const Setting& setting) {
  return run_flat_out(setting, "publish-batch", "publish_batch of 32, without readers", 0.72, true);
}

RowResult run_publish_stamped(const Setting& setting) {
  RowSpec spec;
  spec.name = "publish-stamped";
  spec.what = "publish a struct with the time of publishing, without readers";
  spec.floor = "without";
  spec.unit = "ns";
  spec.absolute_budget = {3, "ns", "for the stamp"};
  spec.trials = setting.trials(10);
  const std::size_t records = setting.count(kRecords);
  const auto without_ns = [&](Placement placement) {
    return typed_ns<WordsRecord>(setting, placement, records);
  };
  return measure_row(spec, without_ns, [&](Placement placement) {
    Measurement measurement;
    measurement.figure = typed_ns<StampedWords>(setting, placement, records);
    measurement.details.push_back(
        {"for the stamp", measurement.figure - without_ns(placement), "ns"});
    return measurement;
  });
}

RowResult run_publish_journal_median(const Setting& setting) {
  RowSpec spec;
  spec.name = "publish-journal-median";
  spec.what = "median time of a publish at 5 million a second, journal synced every 10 ms";
  spec.budget = 1.05;
  return run_with_journal(setting, spec, &PacedPublish::median_ns);
}

RowResult run_publish_journal_tail(const Setting& setting) {
  RowSpec spec;
  spec.name = "publish-journal-tail";
  spec.what = "99.9th percentile of a publish at 5 million a second, journal synced every 10 ms";
  spec.over = "(without + 0.5 us)";
  spec.budget = 1.0;
  spec.allowance = [](double without_ns) { return without_ns + kTailAllowanceNs; };
  return run_with_journal(setting, spec, &PacedPublish::p999_ns);
}

}  // namespace lapwing::bench
