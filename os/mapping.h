// Memory that is mapped, and that no fork copies: a file, shared, over boost::interprocess; a file,
// private and read-only; and zeroed pages, which may be as many as the machine has.
//
// The caller opens a file's descriptor, because boost's own file_mapping would open the path a
// second time, following links and without O_CLOEXEC. A mapping stays when the descriptor is closed.
//
// Thread safety: plain memory; free function. Errors: kLimit, kSystem, kNotPermitted; boost's
// exceptions end here.
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

// Maps bytes 0 to `bytes` of `fd`. `path` is for messages.
absl::StatusOr<boost::interprocess::mapped_region> map_file(int fd, MapAccess access,
                                                            std::uint64_t bytes,
                                                            const std::string& path);

// Faults in the pages of a writable mapping, which are allocated, so that no store waits for one.
// `begin` is a page's. 0, or an errno.
int populate_for_writing(std::byte* begin, std::uint64_t bytes);

// Owns its memory; movable. A forked child unmaps nothing.
class Pages {
 public:
  // Zeroed, writable, huge where the kernel has huge ones. Errors: kLimit, with the bytes that were
  // asked for.
  static absl::StatusOr<Pages> allocate(std::uint64_t bytes);
  // The first bytes of an open file, all of which are there: beyond its end a read is a SIGBUS.
  // Errors: kLimit.
  static absl::StatusOr<Pages> map(int file, std::uint64_t bytes);

  Pages() = default;
  Pages(Pages&& other) noexcept { *this = std::move(other); }
  Pages& operator=(Pages&& other) noexcept;
  ~Pages();

  std::span<const std::byte> bytes() const { return {begin_, byte_count_}; }
  std::span<std::byte> writable() const { return {begin_, byte_count_}; }  // if it was allocated

  // A hint, for a mapped file: whether it is about to be read from end to end.
  void expect_sequential(bool sequential) const;
  // Faults in these bytes of a mapped file. If they are read at once, no read waits for the disk.
  // False if that fails: the disk has an error, or the file is shorter by now.
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
