// Reads a record file or stream: raw or zstd, from a path or standard input.
//
//   auto reader = RecordFileReader::open("signals.records.zst");
//   for (;;) {
//     auto records = (*reader)->next(1'000);
//     if (!records.ok() || records->empty()) break;
//   }
//
// All readable records are delivered before an error. An error contains the file, the offset and
// the record's number, and is final. next() reads from the descriptor only if no whole record is
// available.
//
// Thread safety: one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "snapshot/recording/byte_source.h"
#include "snapshot/recording/record_file.h"

namespace lapwing {

inline constexpr std::size_t kRecordFileBufferBytes = 1024 * 1024;  // decoded

class RecordFileReader {
 public:
  // `path` may be "-" for standard input. Reads the head. Errors: kNotFound, kNotPermitted,
  // kBadInput, kUnsupported (written by a later release), kClosed (`stopped` returned true during a
  // wait for a pipe), kSystem.
  static absl::StatusOr<std::unique_ptr<RecordFileReader>> open(const std::string& path,
                                                                Stopped stopped = {});
  static absl::StatusOr<std::unique_ptr<RecordFileReader>> open(std::unique_ptr<ByteSource> source);

  const RecordFileHead& head() const { return head_; }
  const std::string& name() const { return source_->name(); }

  // Returns the next records, contiguous: those that are available, at least one and at most
  // `records_max` (from 1); empty at the end. The caller may change them. Valid until the next
  // call. Final errors: kBadInput (for example a partial record at the end), kClosed, kSystem.
  // kTimedOut, not final: no whole record is available, and this reader does not wait.
  absl::StatusOr<std::span<std::byte>> next(std::size_t records_max);

  // From now on next() does not wait. fd() is readable when another call may succeed.
  void stop_waiting() { source_->stop_waiting(); }
  int fd() const { return source_->fd(); }

  std::uint64_t records() const { return records_; }  // delivered since the start or a rewind()
  // Restarts from the first record. Errors: kUnsupported for a stream, kBadInput if the file's head
  // has changed.
  absl::Status rewind();

 private:
  explicit RecordFileReader(std::unique_ptr<ByteSource> source) : source_(std::move(source)) {}
  absl::StatusOr<std::string> read_head();
  absl::Status refill();
  absl::Status fail(const absl::Status& status);
  absl::Status head_error(const absl::Status& status) const;

  std::unique_ptr<ByteSource> source_;
  std::string raw_head_;
  RecordFileHead head_;
  std::vector<std::byte> buffer_;  // whole records
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
  std::uint64_t records_ = 0;
  absl::Status failure_;
};

}  // namespace lapwing
