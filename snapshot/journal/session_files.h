// The two files of a session log, `sessions` and `sessions.copy`, as rows at fixed offsets.
// SessionLog (session_log.h) interprets the rows.
//
// Invariants
//  1. A row is written to the first file and synced, then to the copy and synced. At any time, at
//     least one copy is whole. The rows in a batch are written without syncs.
//  2. A writer holds the locks of both files. It locks the existing files before it creates or
//     changes anything.
//  3. The files are extended with zeros in advance. Releasing space does not move any row.
//
// Thread safety: one thread. Borrows the Disk.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "os/io.h"
#include "proto/journal_format.h"

namespace lapwing {

inline constexpr char kSessionsFileName[] = "sessions";
inline constexpr char kCopySuffix[] = ".copy";
inline constexpr std::uint64_t kSessionsGrowthBytes = 64 * 1024;
inline constexpr std::size_t kSessionRowsTogether = 128;  // in one batch write

class SessionFiles {
 public:
  static constexpr std::size_t kCopies = 2;

  // `directory` is the journal root, `name` the first file's.
  SessionFiles(Disk& disk, std::string directory, std::string name)
      : disk_(&disk), directory_(std::move(directory)), name_(std::move(name)) {}

  // Opens and locks both files, and creates missing ones. Errors: those of SessionLog::open.
  absl::Status open_to_write(std::uint64_t lock_retry_ns);
  // Opens the files that exist, unless both are already open. A reader needs only one of them.
  absl::Status open_to_read();
  bool any_open() const { return files_[0].valid() || files_[1].valid(); }
  // For files without rows: kDamaged if there are segments next to them.
  absl::Status check_not_lost() const;

  std::string path(std::size_t copy) const;
  std::string where(std::uint64_t index) const;  // for messages
  // Size of the longer file in bytes.
  absl::StatusOr<std::uint64_t> bytes() const;
  // Reads the rows from `index` on. Rows beyond the end and rows of a missing file are zeros.
  absl::Status read(std::size_t copy, std::uint64_t index, std::span<SessionEntry> rows) const;

  // Writes `row` at row.index to both files and syncs them, or adds it to the batch.
  absl::Status write(const SessionEntry& row);
  void begin_batch() { batch_.emplace(); }
  // Writes the batch's remaining rows; sync() makes it durable.
  absl::Status end_batch();
  // Overwrites a row in `copy` with the one in the other copy, without a sync.
  absl::Status restore(std::size_t copy, std::uint64_t index);
  absl::Status sync();
  // Grows both files to `wanted` rows. On a full disk, `needed` rows are enough. Does nothing in a
  // batch, because its rows extend the files.
  absl::Status make_room(std::uint64_t wanted, std::uint64_t needed);
  // Releases the space of the rows between row 0 and `first`. These rows must already be invalid,
  // because a file system that does not support holes keeps them.
  absl::Status give_back_before(std::uint64_t first);

  std::vector<FileHandle> handles() const { return {files_[0].get(), files_[1].get()}; }
  // The paths that no longer name the open files, because they were removed or replaced.
  std::vector<std::string> lost_names() const;

 private:
  absl::Status open_files(OpenMode mode);
  absl::Status create_missing();
  absl::StatusOr<std::uint64_t> bytes_of(std::size_t copy) const;
  absl::Status grow(std::uint64_t rows);
  absl::Status write_rows(std::span<const SessionEntry> rows);

  Disk* disk_;
  std::string directory_;
  std::string name_;
  OpenFile files_[kCopies];
  // Successive rows not written yet; nullopt while each row is written and synced at once.
  std::optional<std::vector<SessionEntry>> batch_;
};

}  // namespace lapwing
