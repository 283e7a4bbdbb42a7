// Mapped memory that a fork does not copy: a shared file, with boost::interprocess; a private,
// read-only file; and zeroed pages, up to the machine's memory size.
//
// The caller opens the file, because boost's file_mapping would open the path a second time, follow
// links and not set O_CLOEXEC. A mapping remains after the descriptor is closed.
//
// Thread safety: plain memory and free functions. Errors: kLimit, kSystem, kNotPermitted.
// Boost's exceptions are caught here.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "os/fork.h"

namespace boost::interprocess {
class mapped_region;
}  // namespace boost::interprocess

namespace lapwing {

inline constexpr std::uint64_t kHugePageBytes = 2 * 1024 * 1024;

enum class MapAccess { kReadOnly, kReadWrite };

// Maps the first `bytes` bytes of `fd`. `path` is for messages.
absl::StatusOr<boost::interprocess::mapped_region> map_file(int fd, MapAccess access,
                                                            std::uint64_t bytes,
                                                            const std::string& path);

// Faults in the allocated pages of a writable mapping, so that stores do not wait for them. `begin`
// is aligned to a page. Returns 0 or an errno.
int populate_for_writing(std::byte* begin, std::uint64_t bytes);

// Owns its memory. Movable. A forked child unmaps nothing.
class Pages {
 public:
  // Allocates zeroed, writable pages, huge if the kernel has huge pages. Errors: kLimit, with the
  // requested size.
  static absl::StatusOr<Pages> allocate(std::uint64_t bytes);
  // Maps the first bytes of an open file. The file must be that long, because a read beyond its end
  // raises SIGBUS. Errors: kLimit.
  static absl::StatusOr<Pages> map(int file, std::uint64_t bytes);

  Pages() = default;
  Pages(Pages&& other) noexcept { *this = std::move(other); }
  Pages& operator=(Pages&& other) noexcept;
  ~Pages();

  std::span<const std::byte> bytes() const { return {begin_, byte_count_}; }
  std::span<std::byte> writable() const { return {begin_, byte_count_}; }  // only if allocated

  // A hint for a mapped file: whether it will be read from beginning to end.
  void expect_sequential(bool sequential) const;
  // Faults in these bytes of a mapped file, so that reading them at once does not wait for the
  // disk. Returns false if the disk has an error, or the file has become shorter.
  bool populate(std::uint64_t offset, std::uint64_t byte_count) const;

 private:
  static absl::StatusOr<Pages> make(void* place, int file, int protection, int flags,
                                    std::uint64_t bytes, std::uint64_t mapped_bytes);

  std::byte* begin_ = nullptr;
  std::size_t byte_count_ = 0;
  std::size_t mapped_bytes_ = 0;
  ForkMark made_;
};

}  // namespace lapwing
