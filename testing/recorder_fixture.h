// For tests of recordings: feeds with numbered records, a run that continues a recording at any
// position, and the contents of its files.
//
// Thread safety: one thread.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <chrono>
#include <memory>
#include <numeric>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "lapwing/error.h"
#include "os/io.h"
#include "os/path.h"
#include "os/posix_io.h"
#include "snapshot/dbn/dbn_reader.h"
#include "snapshot/recording/record_file_reader.h"
#include "subscribers/recorder/recording_files.h"
#include "testing/dbn_files.h"
#include "testing/record_files.h"
#include "testing/sim_disk.h"
#include "testing/temporary_directory.h"

namespace lapwing {

inline constexpr std::uint64_t kFeedBeginNs = 1'763'650'800'000'000'000;  // a full hour, UTC
inline constexpr std::uint64_t kFeedStepNs = 10'000'000;                  // between two events
inline constexpr std::uint64_t kFeedEventRecords = 3;

// Three records per event with the same time, the last one flagged LAST.
inline dbn::MboMsg feed_record(Sequence n) {
  dbn::MboMsg record = mbo_record(n);
  record.ts_recv = kFeedBeginNs + (n - 1) / kFeedEventRecords * kFeedStepNs;
  if (n % kFeedEventRecords == 0) record.flags = dbn::kFlagLast;
  return record;
}

// Orders are recorded in DBN files, signals in record files.
enum class FeedOf { kOrders, kSignals };

inline std::string feed_records(Sequence first, std::uint64_t count, FeedOf of = FeedOf::kOrders) {
  if (of == FeedOf::kSignals) return signal_records(first, count);
  std::string bytes;
  for (Sequence n = first; n < first + count; ++n) {
    const dbn::MboMsg record = feed_record(n);
    bytes.append(reinterpret_cast<const char*>(&record), sizeof record);
  }
  return bytes;
}

inline StoredPosition feed_position(Sequence n) {
  StoredPosition position;
  position.journal_id = *Id128::from_hex("000102030405060708090a0b0c0d0e0f");
  position.session_id = *Id128::from_hex("0f0e0d0c0b0a09080706050403020100");
  position.sequence = n;
  return position;
}

inline RecordingFilesOptions recording_options(const std::string& path, const Rotation& rotation) {
  return {path, rotation, [](const Id128&) { return absl::StatusOr<std::string>(mbo_metadata()); }};
}

inline std::unique_ptr<RecordingFiles> prepared(Disk& disk, const RecordingFilesOptions& options) {
  auto recording = RecordingFiles::prepare(disk, options);
  INFO(recording.status());
  REQUIRE(recording.ok());
  return *std::move(recording);
}

// `records` end with record `last` of the feed.
inline RecordBatch feed_batch(const std::string& records, Sequence last,
                              FeedOf of = FeedOf::kOrders) {
  static const auto description = std::make_shared<const Schema>(schema_of<Signal>());
  RecordBatch batch{dbn::kSchemaMbo, std::as_bytes(std::span(records)), feed_position(last)};
  if (of == FeedOf::kOrders) return batch;
  batch.schema_name = description->name;
  batch.record_bytes = description->record_bytes;
  batch.schema = description;
  return batch;
}

// Appends [first, last] as one batch.
inline absl::Status append(RecordingFiles& recording, Sequence first, Sequence last,
                           FeedOf of = FeedOf::kOrders) {
  return recording.append(feed_batch(feed_records(first, last - first + 1, of), last, of));
}

// Simulates `lapwing record`: appends from the recording's position to `last` with random batches
// and commits, then finishes. Returns the first error.
inline absl::Status record_up_to(Disk& disk, const RecordingFilesOptions& options, Sequence last,
                                 SimRandom& random, FeedOf of = FeedOf::kOrders) {
  absl::StatusOr<std::unique_ptr<RecordingFiles>> recording =
      RecordingFiles::prepare(disk, options);
  if (!recording.ok()) return recording.status();
  Sequence n = (*recording)->position() ? (*recording)->position()->sequence : 0;
  while (n < last) {
    const Sequence end = std::min(last, n + 1 + random.below(40));
    if (absl::Status done = append(**recording, n + 1, end, of); !done.ok()) return done;
    n = end;
    if (!random.chance(20)) continue;
    if (absl::Status done = (*recording)->commit(feed_position(n)); !done.ok()) return done;
  }
  return (*recording)->finish(feed_batch("", n, of));
}

struct RecordedFile {
  std::string name;
  dbn::Metadata metadata;              // for a DBN file
  std::optional<RecordFileHead> head;  // for a record file
  std::vector<Sequence> records;
  std::uint64_t bytes = 0;
  absl::Status status;  // status at its end
};

inline void read_dbn(std::unique_ptr<ByteSource> source, RecordedFile& file) {
  const auto reader = DbnReader::open(std::move(source));
  file.status = reader.status();
  while (file.status.ok()) {
    const auto record = (*reader)->next();
    file.metadata = (*reader)->metadata();
    file.status = record.status();
    if (!record.ok() || record->empty()) break;
    dbn::MboMsg mbo;
    REQUIRE(record->size() == sizeof mbo);
    std::memcpy(&mbo, record->data(), sizeof mbo);
    file.records.push_back(mbo.order_id);
  }
}

inline void read_record_file(std::unique_ptr<ByteSource> source, RecordedFile& file) {
  const auto reader = RecordFileReader::open(std::move(source));
  file.status = reader.status();
  while (file.status.ok()) {
    const auto record = (*reader)->next(1);
    file.head = (*reader)->head();
    file.status = record.status();
    if (!record.ok() || record->empty()) break;
    Signal signal;
    REQUIRE(record->size() == sizeof signal);
    std::memcpy(&signal, record->data(), sizeof signal);
    file.records.push_back(static_cast<Sequence>(signal.price));
  }
}

// Reads the file of this name.
inline RecordedFile read_recorded(Disk& disk, const std::string& path) {
  RecordedFile file;
  file.name = name_in_directory(path);
  OpenFile open(disk, disk.open(path, {}).value());
  file.bytes = disk.size(open.get()).value();
  std::vector<std::byte> bytes(file.bytes);
  REQUIRE(disk.read_at(open.get(), 0, bytes).value() == file.bytes);
  const int memory = memfd_create("recorded", MFD_CLOEXEC);
  REQUIRE(::pwrite(memory, bytes.data(), bytes.size(), 0) == static_cast<ssize_t>(bytes.size()));
  auto source = ByteSource::adopt(UniqueFd(memory), path);
  const bool is_record_file = path.find(kRecordFileSuffix) != std::string::npos;
  (is_record_file ? read_record_file : read_dbn)(std::move(source), file);
  return file;
}

// Reads the files of a series in order.
inline std::vector<RecordedFile> read_series(Disk& disk, const std::string& path) {
  std::vector<std::string> names = disk.list(directory_of(path)).value();
  std::sort(names.begin(), names.end());
  std::vector<RecordedFile> files;
  for (const std::string& name : names) {
    if (is_part_name(path, name)) {
      files.push_back(read_recorded(disk, directory_of(path) + "/" + name));
    }
  }
  return files;
}

// Checks the description of the records in a file's head, and its first sequence.
inline void check_head(const RecordedFile& file, bool is_first) {
  if (file.head) {
    REQUIRE(*file.head == signal_head());
    return;
  }
  REQUIRE(file.metadata.start == feed_record(file.records.front()).ts_recv);
  REQUIRE(file.metadata.end == dbn::kUndefTimestamp);
  REQUIRE(file.metadata.dataset == "XTST.BOOK");
  REQUIRE((is_first || file.records.front() % kFeedEventRecords == 1));
}

// Checks that the series is the feed from `first` to `last`: no duplicate or missing records, every
// file complete, no event split between two files, and correct heads.
inline void check_series(const std::vector<RecordedFile>& files, Sequence first, Sequence last) {
  Sequence next = first;
  for (std::size_t i = 0; i < files.size(); ++i) {
    const RecordedFile& file = files[i];
    INFO(file.name << ": " << file.status);
    REQUIRE(file.status.ok());
    REQUIRE_FALSE(file.records.empty());
    REQUIRE(std::stoull(file.name.substr(file.name.find('.') + 1)) == i + 1);
    check_head(file, i == 0);
    std::vector<Sequence> expected(file.records.size());
    std::iota(expected.begin(), expected.end(), next);
    REQUIRE((file.records == expected));
    next += expected.size();
  }
  REQUIRE(next == last + 1);
}

inline const Rotation kOneFile;
inline const Rotation kBySecond{.every = std::chrono::seconds(1)};  // 300 records per file

// A recording in its own directory.
struct RecordingOnDisk {
  TemporaryDirectory directory;
  PosixDisk disk;
  SimRandom random{1};
  std::string path;

  explicit RecordingOnDisk(const std::string& name) : path(directory.file(name)) {}
  // Records up to `last`, as in a run that is stopped.
  void record(const Rotation& rotation, Sequence last) {
    const absl::Status done = record_up_to(disk, recording_options(path, rotation), last, random);
    INFO(done);
    REQUIRE(done.ok());
  }
};

}  // namespace lapwing
