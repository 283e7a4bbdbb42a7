// Writes a file of records: a head, then contiguous records of one size, compressed
// with zstd if the name ends in ".zst". The head can be any bytes, such as DBN
// metadata or the head of a record file.
//
// The file can be read while it is being written. flush() writes everything so far to the file, and
// ends the zstd block but not the frame. The file always ends with a whole record. finish() ends
// the frame and syncs. resume() continues after a commit (in a new zstd frame; a file may have
// several frames).
//
// create_whole() is for files that must not be visible before they are complete. The records are
// written under a temporary name next to the file (os/whole_file.h), and finish() renames it.
// Without finish(), and after an error, the temporary file is removed. After a kill it remains, and
// the next create_whole() replaces it.
//
// The first error is final. Without zstd, the file is then truncated to its last whole
// record. With zstd, its last frame is unfinished, and readers deliver the flushed
// records before they report this.
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
inline constexpr char kZstdSuffix[] = ".zst";  // a file with this suffix is compressed
inline constexpr unsigned kRecordingPermissions = 0600;

class RecordWriter {
 public:
  // Creates `path`, which must not exist, and writes `head` to it at once. `record_bytes`: size of
  // one record, from 1 to kRecordWriteBufferBytes. Errors: kInvalidArgument, kNotFound,
  // kNotPermitted, kNoSpace, kSystem.
  static absl::StatusOr<std::unique_ptr<RecordWriter>> create(Disk& disk, const std::string& path,
                                                              std::string_view head,
                                                              std::size_t record_bytes);
  // Like create(), but the file gets its name in finish(). Errors: also kInUse (another process is
  // writing the same file).
  static absl::StatusOr<std::unique_ptr<RecordWriter>> create_whole(Disk& disk,
                                                                    const std::string& path,
                                                                    std::string_view head,
                                                                    std::size_t record_bytes);
  // Continues after a crash: truncates the file to `committed_bytes`, the result of the last
  // commit(), and appends there. Reads nothing, so its time does not depend on the file's size.
  // Errors: kNotFound, kNotPermitted, kSystem; kDamaged if the file is shorter.
  static absl::StatusOr<std::unique_ptr<RecordWriter>> resume(Disk& disk, const std::string& path,
                                                              std::uint64_t committed_bytes,
                                                              std::size_t record_bytes);

  RecordWriter(const RecordWriter&) = delete;
  RecordWriter& operator=(const RecordWriter&) = delete;
  ~RecordWriter();

  // Writes whole contiguous records. Errors: kInvalidArgument (not whole records; changes nothing);
  // kNoSpace and others, with the number of records in the file.
  absl::Status write(std::span<const std::byte> records);
  // Makes everything written so far readable from the file.
  absl::Status flush();
  // Syncs everything written so far, and returns the size of the file. A file truncated to that
  // size is complete (with zstd, its frame is ended), whatever is written later.
  absl::StatusOr<std::uint64_t> commit();
  // Ends the file, and syncs it and its name. Idempotent. Do not call write() afterwards. Errors:
  // also kInvalidArgument if a file with that name has appeared since create_whole().
  absl::Status finish();

  // The file's size, without bytes that zstd still buffers. The file will soon be that long.
  std::uint64_t bytes() const { return file_bytes_ + (encoder_ == nullptr ? staged_bytes_ : 0); }
  std::uint64_t records() const { return records_; }  // accepted since create() or resume()
  std::uint64_t records_in_file() const { return records_in_file_; }  // certainly readable
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
  // zstd buffers bytes until a flush or the end of its frame.
  enum class Drain { kContinue, kFlush, kEnd };
  absl::Status drain(Drain how);  // writes the staged records
  absl::Status emit(std::span<const std::byte> bytes, Drain how);
  absl::Status write_file(std::span<const std::byte> bytes);
  absl::Status fail(const absl::Status& status);

  Disk& disk_;
  const std::string path_;
  const Naming naming_;
  const std::string open_path_;  // the name of the file until it is complete
  const std::size_t record_bytes_;
  OpenFile file_;
  std::uint64_t file_bytes_ = 0;   // written without error
  std::vector<std::byte> staged_;  // whole records that fit
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
