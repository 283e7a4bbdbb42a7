// Writes a file of records: a head, then records of one size, end to end; zstd if its name ends in
// ".zst". What the head is, the writer does not know: DBN's metadata, or that of a record file.
//
// The file can be read while it is written: flush() puts everything so far into it, ending a zstd
// block but not the frame; what is in the file always ends with a whole record. finish() ends the
// frame and syncs. resume() goes on behind a commit (in a new zstd frame; several frames in a file
// are legal).
//
// create_whole() is for files that must not be visible before they are complete. The records are
// written under a temporary name beside the file (os/whole_file.h); finish() gives the file its own
// name. Without finish(), and after an error, the temporary file is removed. After a kill it stays,
// and the next create_whole() replaces it.
//
// The first error is final. Without zstd the file is then cut back to its last whole record; with
// zstd its last frame is unfinished, and readers deliver what was flushed before they report that.
//
// Thread safety: one thread. Borrows the Disk.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "os/io.h"

namespace lapwing {

inline constexpr std::size_t kRecordWriteBufferBytes = 256 * 1024;
inline constexpr char kZstdSuffix[] = ".zst";  // of a name: the file is compressed
inline constexpr unsigned kRecordingPermissions = 0600;

class RecordWriter {
 public:
  // Makes `path`, which must not exist, and puts `head` at its beginning, at once. `record_bytes`:
  // of one record, from 1 to kRecordWriteBufferBytes.
  // Errors: kInvalidArgument, kNotFound, kNotPermitted, kNoSpace, kSystem.
  static absl::StatusOr<std::unique_ptr<RecordWriter>> create(Disk& disk, const std::string& path,
                                                              std::string_view head,
                                                              std::size_t record_bytes);
  // The same, but the file gets its name in finish(). Errors: also kInUse (another process is
  // writing the same file).
  static absl::StatusOr<std::unique_ptr<RecordWriter>> create_whole(Disk& disk,
                                                                    const std::string& path,
                                                                    std::string_view head,
                                                                    std::size_t record_bytes);
  // Goes on after a crash: cuts the file back to `committed_bytes`, what the last commit()
  // returned, and appends there. Reads nothing, however large the file is. Errors: kNotFound,
  // kNotPermitted, kSystem; kDamaged if the file is shorter than that.
  static absl::StatusOr<std::unique_ptr<RecordWriter>> resume(Disk& disk, const std::string& path,
                                                              std::uint64_t committed_bytes,
                                                              std::size_t record_bytes);

  RecordWriter(const RecordWriter&) = delete;
  RecordWriter& operator=(const RecordWriter&) = delete;
  ~RecordWriter();

  // Whole records laid end to end. Errors: kInvalidArgument (they are not whole; changes nothing);
  // kNoSpace and others, with how many records are in the file.
  absl::Status write(std::span<const std::byte> records);
  // Everything written so far can be read from the file.
  absl::Status flush();
  // Syncs everything written so far. A file cut back to the size that is returned is a finished one
  // (zstd: its frame is ended), whatever is written to it later.
  absl::StatusOr<std::uint64_t> commit();
  // Ends the file and syncs it and its name. Idempotent; no write() after it. Errors: also
  // kInvalidArgument if a file of that name has appeared since create_whole().
  absl::Status finish();

  // The file's bytes, without those that zstd still keeps back. The file is at least as large soon.
  std::uint64_t bytes() const { return file_bytes_ + (encoder_ == nullptr ? staged_bytes_ : 0); }
  std::uint64_t records() const { return records_; }  // accepted since create() or resume()
  std::uint64_t records_in_file() const { return records_in_file_; }  // of those, surely readable
  // The first error, without a note on the rest of the file: for callers that return to a commit.
  const absl::Status& cause() const { return cause_; }

 private:
  struct Encoder;

  enum class Naming { kAtOnce, kWhenWhole };

  RecordWriter(Disk& disk, std::string path, std::size_t record_bytes, Naming naming);
  static absl::StatusOr<std::unique_ptr<RecordWriter>> create(Disk& disk, const std::string& path,
                                                              std::string_view head,
                                                              std::size_t record_bytes,
                                                              Naming naming);
  absl::Status open(OpenMode mode);
  absl::Status remove_stale() const;
  absl::Status take_name();
  void discard();
  absl::Status cut_back(std::uint64_t committed_bytes);
  absl::Status check_usable();
  // zstd keeps bytes back unless it is told to give up what it has (flush) or to end its frame
  // (end).
  enum class Drain { kContinue, kFlush, kEnd };
  absl::Status drain(Drain how);  // of what is staged
  absl::Status emit(std::span<const std::byte> bytes, Drain how);
  absl::Status write_file(std::span<const std::byte> bytes);
  absl::Status fail(const absl::Status& status);

  Disk& disk_;
  const std::string path_;
  const Naming naming_;
  const std::string open_path_;  // the name of the file until it is whole
  const std::size_t record_bytes_;
  OpenFile file_;
  std::uint64_t file_bytes_ = 0;   // written without error
  std::vector<std::byte> staged_;  // whole records, as many as fit
  std::size_t staged_bytes_ = 0;
  std::unique_ptr<Encoder> encoder_;  // zstd only
  bool frame_open_ = false;           // zstd only
  std::uint64_t records_ = 0;
  std::uint64_t records_in_file_ = 0;
  absl::Status cause_;
  absl::Status failure_;
  bool finished_ = false;
};

}  // namespace lapwing
