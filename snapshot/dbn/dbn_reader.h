// Reads a DBN file or stream record by record: raw or zstd, from a path or standard input.
//
//   auto reader = DbnReader::open("es.mbo.dbn.zst");
//   for (;;) {
//     auto record = (*reader)->next();
//     if (!record.ok() || record->empty()) break;
//   }
//
// All readable records are delivered before an error. An error contains the file, the offset and
// the record's number, and is final. Nothing is allocated per record. next() reads from the
// descriptor only if no whole record is available, so a record that has arrived on a pipe never
// waits for the next one.
//
// Thread safety: one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "snapshot/dbn/dbn_metadata.h"
#include "snapshot/recording/byte_source.h"

namespace lapwing {

inline constexpr std::size_t kDbnBufferBytes = 1024 * 1024;  // decoded

class DbnReader {
 public:
  // `path` may be "-" for standard input. Reads the metadata. Errors: kNotFound, kNotPermitted,
  // kBadInput, kClosed (`stopped` returned true during a wait for a pipe), kSystem.
  static absl::StatusOr<std::unique_ptr<DbnReader>> open(const std::string& path,
                                                         Stopped stopped = {});
  static absl::StatusOr<std::unique_ptr<DbnReader>> open(std::unique_ptr<ByteSource> source);

  const dbn::Metadata& metadata() const { return metadata_; }
  const std::string& raw_metadata() const { return raw_metadata_; }  // as in the file
  const std::string& name() const { return source_->name(); }
  bool compressed() const { return source_->compressed(); }

  // Returns the next record, whose length is in its header; empty at the end. Valid until the next
  // call. Final errors: kBadInput, kClosed, kSystem. kTimedOut, not final: no whole record is
  // available, and this reader does not wait.
  absl::StatusOr<std::span<const std::byte>> next() {
    if (!failure_.ok()) return failure_;
    if (!buffered()) {
      if (auto status = refill(); !status.ok()) return fail(status);
    }
    return take();
  }

  // From now on next() does not wait. fd() is readable when another call may succeed.
  void stop_waiting() { source_->stop_waiting(); }
  int fd() const { return source_->fd(); }

  // True if next() has a record, or an error, without reading from the descriptor.
  bool buffered() const {
    const std::size_t count = end_ - begin_;
    return count >= sizeof(dbn::RecordHeader) && (count >= record_bytes() || malformed());
  }

  std::uint64_t records() const {
    return records_;
  }  // delivered since the start or the last rewind()
  // Restarts from the first record. Errors: kUnsupported for a stream.
  absl::Status rewind();

 private:
  explicit DbnReader(std::unique_ptr<ByteSource> source)
      : source_(std::move(source)), buffer_(kDbnBufferBytes) {}

  std::size_t record_bytes() const {
    return static_cast<std::size_t>(buffer_[begin_]) * dbn::kLengthUnit;
  }
  bool malformed() const;
  absl::StatusOr<std::span<const std::byte>> take();
  absl::Status read_metadata();
  absl::Status read_exactly(std::span<std::byte> out, std::size_t already);
  absl::Status refill();
  absl::Status fail(const absl::Status& status);
  absl::Status record_error(const std::string& what) const;

  std::unique_ptr<ByteSource> source_;
  dbn::Metadata metadata_;
  std::string raw_metadata_;
  std::vector<std::byte> buffer_;
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
  std::uint64_t records_ = 0;
  absl::Status failure_;
};

}  // namespace lapwing
