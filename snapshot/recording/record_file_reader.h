// Reads a record file or stream: raw or zstd, from a path or standard input.
//
//   auto reader = RecordFileReader::open("signals.records.zst");
//   for (;;) {
//     auto records = (*reader)->next(1'000);
//     if (!records.ok() || records->empty()) break;
//   }
//
// Whatever can be read is delivered before an error; an error names the file, the offset and the
// record's number, and stays. next() reads from the descriptor only when no whole record is at
// hand.
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
  // `path` may be "-": standard input. Reads the head. Errors: kNotFound, kNotPermitted, kBadInput,
  // kUnsupported (a later release wrote it), kClosed (`stopped` while it waited for a pipe),
  // kSystem.
  static absl::StatusOr<std::unique_ptr<RecordFileReader>> open(const std::string& path,
                                                                Stopped stopped = {});
  static absl::StatusOr<std::unique_ptr<RecordFileReader>> open(std::unique_ptr<ByteSource> source);

  const RecordFileHead& head() const { return head_; }
  const std::string& name() const { return source_->name(); }

  // The next records, end to end: as many as are at hand, at least one and at most `records_max`
  // (from 1); empty: the end. The caller may change them; valid until the next call. Errors, from
  // then on: kBadInput (part of a record at the end is one), kClosed, kSystem. kTimedOut, for this
  // call only: no whole record is at hand, and this reader does not wait.
  absl::StatusOr<std::span<std::byte>> next(std::size_t records_max);

  // From now on next() does not wait; fd() is readable when it is worth calling again.
  void stop_waiting() { source_->stop_waiting(); }
  int fd() const { return source_->fd(); }

  std::uint64_t records() const { return records_; }  // delivered since the start or a rewind()
  // Starts again from the first record. kUnsupported for a stream, kBadInput for a file that has
  // another head now.
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
  std::vector<std::byte> buffer_;  // whole records fit
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
  std::uint64_t records_ = 0;
  absl::Status failure_;
};

}  // namespace lapwing
