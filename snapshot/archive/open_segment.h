// A segment open for writing, and the functions that open a segment's files.
//
// Thread safety: one thread. Borrows the Disk.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "os/io.h"
#include "os/page.h"
#include "proto/journal_format.h"
#include "proto/schema_label.h"
#include "snapshot/journal/journal_files.h"

namespace lapwing {

struct OpenSegment {
  // The sums of the blocks that this process has archived; written to `sums` after a sync.
  std::vector<SumEntry> sum_entries;
  std::uint64_t number = 0;
  OpenFile data;                    // .jnl; uses direct I/O if possible
  OpenFile sums;                    // .sum
  OpenFile index;                   // .idx
  TimeEntry time_entry{};           // the entry being written to `index`; sequence 0: none
  std::uint64_t index_bytes = 0;    // offset of the next entry
  std::uint64_t index_wall_ns = 0;  // of the newest entry; never decreases
  bool data_dirty = false;          // written since its last sync
  bool index_dirty = false;

  void close() {
    data.close();
    sums.close();
    index.close();
  }
};

// What happens if the disk is full when a segment is needed.
enum class WhenFull {
  kFail,  // the journal fails
  kWait,  // the preparation is retried until there is space
};

// The properties that all segments of a journal share.
struct SegmentOptions {
  JournalFiles journal;
  SchemaLabel schema;
  unsigned file_permissions = 0600;
  bool try_direct_io = true;
  WhenFull when_full = WhenFull::kFail;
};

// Opens segment files by their final or their unfinished names.
class SegmentFiles {
 public:
  explicit SegmentFiles(SegmentOptions options) : options_(std::move(options)) {}

  const SegmentOptions& options() const { return options_; }
  const JournalFiles& journal() const { return options_.journal; }
  Disk& disk() const { return *options_.journal.disk; }
  std::string path(std::uint64_t number, const char* suffix) const {
    return options_.journal.path(number, suffix);
  }
  std::string unfinished_path(std::uint64_t number, const char* suffix) const;

  // Creates the three files of a segment under their unfinished names.
  absl::Status create(std::uint64_t number, OpenSegment& segment);
  // Opens the three files of a finished segment and checks header, sizes and the index's end.
  absl::Status open_existing(std::uint64_t number, OpenSegment& segment);

 private:
  absl::StatusOr<OpenFile> open(const std::string& path, OpenMode mode, bool direct = false);
  absl::StatusOr<OpenFile> create(std::uint64_t number, const char* suffix, bool direct = false);
  absl::StatusOr<OpenFile> choose_io(absl::StatusOr<OpenFile> data, const std::string& path);
  absl::Status check_data(const OpenFile& data, std::uint64_t number);
  absl::Status find_index_end(OpenSegment& segment);

  SegmentOptions options_;
  std::optional<bool> direct_;  // set by the first segment, because all are on one file system
};

}  // namespace lapwing
