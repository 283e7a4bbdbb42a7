// A file of the origin that is fetched in parts: a description, metadata or a checkpoint.
//
// Thread safety: one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "proto/relay_frames.h"

namespace lapwing {

class FileParts {
 public:
  // A file may be replaced by any size that a message states, so there is a limit.
  static constexpr std::uint64_t kFileBytesMax = std::uint64_t{4} << 30;

  FileParts(RelayFile file, std::uint64_t hash) : file_(file), hash_(hash) {}

  RelayFile file() const { return file_; }
  std::uint64_t hash() const { return hash_; }
  // Where the next part begins.
  std::uint64_t offset() const { return bytes_.size(); }
  std::string_view bytes() const { return bytes_; }
  bool is_complete() const { return has_total_ && bytes_.size() == total_; }
  std::string take() { return std::move(bytes_); }

  // Adds the part at answer.offset. Parts that were added, or that lie further back, are ignored. If
  // the file has another size than before, it starts again.
  void add(const RelayAnswer& answer, std::span<const std::byte> part);
  void restart();

 private:
  const RelayFile file_;
  const std::uint64_t hash_;
  std::string bytes_;
  std::uint64_t total_ = 0;
  bool has_total_ = false;
};

}  // namespace lapwing
