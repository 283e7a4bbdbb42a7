// The cost of loading a checkpoint for a late joiner.
#include <unistd.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "bench/bench_bus.h"
#include "bench/machine.h"
#include "bench/private_directory.h"
#include "bench/rows.h"
#include "lapwing/fold.h"
#include "lapwing/kv16.h"
#include "os/kernel.h"
#include "os/posix_io.h"
#include "snapshot/checkpoint/checkpoint_directory.h"
#include "snapshot/checkpoint/loaded_checkpoint.h"

namespace lapwing::bench {
namespace {

constexpr std::uint64_t kPairs = 100'000'000;
constexpr std::uint64_t kPairsQuick = 1'000'000;
constexpr std::uint64_t kPairsPerAppend = 4096;
constexpr std::size_t kCatBytes = 128 * 1024;  // read size of GNU cat
constexpr Sequence kAsOf = 1;

// A checkpoint with the given number of pairs, in the page cache.
class PairsFile {
 public:
  PairsFile(const Setting& setting, std::uint64_t pairs) : directory_(setting.disk_directory) {
    const auto fold = value_or_fail(make_fold("latest", kv16::kSchema));
    PosixDisk disk;
    CheckpointIdentity identity;
    identity.sequence = kAsOf;
    CheckpointWriter writer =
        value_or_fail(CheckpointWriter::create(disk, directory_.path(), *fold, identity));
    std::vector<kv16::Record> records(kPairsPerAppend);
    const std::uint64_t start_ns = monotonic_ns();
    for (std::uint64_t key = 0; key < pairs;) {
      for (kv16::Record& record : records) {
        record = {key, key * 0x9e3779b97f4a7c15u};
        ++key;
      }
      ok_or_fail(writer.append(std::as_bytes(std::span(records))));
    }
    ok_or_fail(writer.commit());
    write_seconds_ = static_cast<double>(monotonic_ns() - start_ns) / 1e9;
    bytes_ = static_cast<double>(cat());
  }

  double bytes() const { return bytes_; }
  double write_seconds() const { return write_seconds_; }
  std::string path() const { return checkpoint_path(directory_.path(), kAsOf); }

  // Does the same as `cat FILE > /dev/null`. Returns the number of bytes read.
  std::uint64_t cat() {
    PosixDisk disk;
    const OpenFile file(disk, value_or_fail(disk.open(path(), {OpenMode::kRead})));
    std::vector<std::byte> buffer(kCatBytes);
    std::uint64_t bytes = 0;
    for (;;) {
      const ssize_t got = ::read(file.get(), buffer.data(), buffer.size());
      if (got <= 0) return bytes;
      bytes += static_cast<std::uint64_t>(got);
    }
  }

 private:
  PrivateDirectory directory_;
  double write_seconds_ = 0;
  double bytes_ = 0;
};

// Loads with pread, like a process that may not map the file.
class CopyingDisk : public PosixDisk {
 public:
  std::optional<Pages> map_finished(FileHandle) override { return std::nullopt; }
};

double gigabytes_per_second(double bytes, std::uint64_t ns) {
  return bytes / static_cast<double>(ns);
}

// Time to verify and expose all entries with `load`, and time to release them.
struct LoadTimes {
  std::uint64_t load_ns = 0;
  std::uint64_t release_ns = 0;
};

template <typename Load>
LoadTimes time_load(const Load& load) {
  LoadTimes times;
  const std::uint64_t start_ns = monotonic_ns();
  std::optional<LoadedCheckpoint> checkpoint(value_or_fail(load()));
  times.load_ns = monotonic_ns() - start_ns;
  checkpoint.reset();
  times.release_ns = monotonic_ns() - start_ns - times.load_ns;
  return times;
}

}  // namespace

RowResult run_checkpoint_load(const Setting& setting) {
  RowSpec spec;
  spec.name = "checkpoint-load";
  spec.what =
      "load a checkpoint of 100 million pairs from the page cache, with every block verified";
  spec.floor = "cat";
  spec.unit = "GB/s";
  spec.bound = Bound::kAtLeast;
  spec.budget = 0.6;
  spec.trials = setting.trials(10);
  PairsFile file(setting, setting.quick ? kPairsQuick : kPairs);
  return measure_row(
      spec,
      [&](Placement placement) {
        pin_to_core(placement.first);
        const std::uint64_t start_ns = monotonic_ns();
        file.cat();
        return gigabytes_per_second(file.bytes(), monotonic_ns() - start_ns);
      },
      [&](Placement placement) {
        pin_to_core(placement.first);
        Measurement measurement;
        PosixDisk disk;
        const LoadTimes mapped =
            time_load([&] { return LoadedCheckpoint::load(disk, file.path()); });
        measurement.figure = gigabytes_per_second(file.bytes(), mapped.load_ns);
        CopyingDisk copying;
        const LoadTimes copied =
            time_load([&] { return LoadedCheckpoint::load(copying, file.path()); });
        measurement.details = {{"unmapped in", static_cast<double>(mapped.release_ns) / 1e6, "ms"},
                               {"read into private memory",
                                gigabytes_per_second(file.bytes(), copied.load_ns), "GB/s"},
                               {"written at", file.bytes() / 1e9 / file.write_seconds(), "GB/s"}};
        return measurement;
      });
}

}  // namespace lapwing::bench
