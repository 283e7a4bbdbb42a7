// Memory for what may be as large as the machine's: pages of one owner, or a file's, mapped
// read-only. Neither is copied by a fork, and a forked child unmaps neither.
//
// Thread safety: plain memory. Owns it; movable.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "absl/status/statusor.h"
#include "os/fork.h"

namespace lapwing {

inline constexpr std::uint64_t kHugePageBytes = 2 * 1024 * 1024;

class Pages {
 public:
  // Zeroed, writable, huge where the kernel has huge ones. Errors: kLimit, with the bytes that were
  // asked for.
  static absl::StatusOr<Pages> allocate(std::uint64_t bytes);
  // The first bytes of an open file, all of which are there: beyond its end a read is a SIGBUS.
  // Errors: kLimit.
  static absl::StatusOr<Pages> map(int file, std::uint64_t bytes);

  Pages() = default;
  Pages(Pages&& other) noexcept;
  Pages& operator=(Pages&& other) noexcept;
  ~Pages();

  std::span<const std::byte> bytes() const { return {begin_, byte_count_}; }
  std::span<std::byte> writable() const { return {begin_, byte_count_}; }  // if it was allocated

  // A hint, for a mapped file: whether it is about to be read from end to end.
  void expect_sequential(bool sequential) const;

 private:
  static absl::StatusOr<Pages> make(int file, int protection, int flags, std::uint64_t bytes,
                                    std::uint64_t mapped_bytes);

  void* mapping_ = nullptr;
  std::size_t mapped_bytes_ = 0;
  std::byte* begin_ = nullptr;
  std::size_t byte_count_ = 0;
  ForkMark made_;
};

}  // namespace lapwing
