// Reads the bytes of a file or stream. Decompresses zstd with one or more frames, including
// skippable ones.
//
// All bytes that can be decoded are delivered before an error. zstd receives one block at a time,
// so a damaged block does not affect the bytes before it.
//
// Thread safety: one thread. Owns its descriptor.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "os/unique_fd.h"

namespace lapwing {

inline constexpr std::size_t kByteSourceBufferBytes = 256 * 1024;
inline constexpr int kByteSourceWaitMs = 100;  // wait for a pipe between calls of `stopped`

// Returns true if a reader that waits for a pipe should stop. Empty: never.
using Stopped = std::function<bool()>;

class ByteSource {
 public:
  // `path` may be "-" for standard input. Errors: kNotFound, kNotPermitted, kBadInput (a
  // directory).
  static absl::StatusOr<std::unique_ptr<ByteSource>> open(const std::string& path,
                                                          Stopped stopped = {});
  // `name` is used in messages.
  static std::unique_ptr<ByteSource> adopt(UniqueFd fd, const std::string& name,
                                           Stopped stopped = {});

  ByteSource(const ByteSource&) = delete;
  ByteSource& operator=(const ByteSource&) = delete;
  ~ByteSource();

  // Reads the decoded bytes that are available, at least one; returns 0 at the end. `out` must not
  // be empty. Final errors: kBadInput with file offset and decoded offset, kClosed (`stopped`
  // returned true during a wait), kSystem. kTimedOut, not final: no data is available, and this
  // source does not wait.
  absl::StatusOr<std::size_t> read(std::span<std::byte> out);
  // Fills `out`, or reads fewer bytes at the end of the input. Errors: those of read().
  absl::StatusOr<std::size_t> read_whole(std::span<std::byte> out);
  // From now on read() does not wait. fd() is readable when another call may succeed.
  void stop_waiting() { waits_ = false; }
  int fd() const { return fd_.get(); }
  // Restarts from the first byte. Errors: kUnsupported if the source cannot seek.
  absl::Status rewind();

  const std::string& name() const { return name_; }
  bool compressed() const { return form_ == Form::kZstd; }          // valid after the first read
  std::uint64_t decoded_offset() const { return decoded_offset_; }  // of the next byte to read
  // Describes a position in messages: "byte D", or "byte D (byte F of the compressed file)".
  std::string place(std::uint64_t decoded_offset) const;

 private:
  struct Decoder;
  enum class Form { kUnknown, kRaw, kZstd };

  ByteSource(UniqueFd fd, std::string name, Stopped stopped);
  absl::Status wait_readable() const;
  absl::Status fill();
  absl::Status detect();
  absl::StatusOr<std::size_t> read_raw(std::span<std::byte> out);
  absl::StatusOr<std::size_t> read_zstd(std::span<std::byte> out);
  absl::StatusOr<std::size_t> decode_some(std::span<std::byte> out);
  std::size_t buffered() const { return end_ - begin_; }
  // File offset of the next unused byte.
  std::uint64_t file_offset() const { return fetched_ - buffered(); }

  UniqueFd fd_;
  std::string name_;
  Stopped stopped_;
  bool waits_ = true;
  Form form_ = Form::kUnknown;
  std::vector<std::byte> buffer_;
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
  bool at_end_ = false;
  std::uint64_t fetched_ = 0;  // bytes read from the descriptor
  std::uint64_t decoded_offset_ = 0;
  std::unique_ptr<Decoder> decoder_;
  absl::Status failure_;
};

}  // namespace lapwing
