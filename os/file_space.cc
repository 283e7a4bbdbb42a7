#include "os/file_space.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>

#include "os/page.h"

namespace lapwing {
namespace {

constexpr std::uint64_t kPagesPerWrite = 64;

std::uint64_t whole_pages_below(std::uint64_t offset) {
  return offset - offset % kPageBytes;
}

// Writes zeros to [begin, end); begin is a multiple of kPageBytes.
int write_zeros(int fd, std::uint64_t begin, std::uint64_t end) {
  const auto zeros = std::make_unique<Page[]>(kPagesPerWrite);
  while (begin < end) {
    const std::uint64_t bytes = std::min(kPagesPerWrite * kPageBytes, end - begin);
    const ssize_t put = ::pwrite(fd, zeros.get(), bytes, static_cast<off_t>(begin));
    if (put < 0 && errno != EINTR) return errno;
    if (put == 0) return EIO;  // otherwise it would retry forever
    if (put > 0) begin += static_cast<std::uint64_t>(put);
  }
  return 0;
}

// Fills the page that contains the file's end with zeros, from the file's end to `end`.
int complete_last_page(int fd, std::uint64_t size, std::uint64_t end) {
  Page page{};
  const std::uint64_t begin = whole_pages_below(size);
  ssize_t got = 0;
  do {
    got = ::pread(fd, page.bytes.data(), kPageBytes, static_cast<off_t>(begin));
  } while (got < 0 && errno == EINTR);
  if (got < 0) return errno;
  std::memset(page.bytes.data() + got, 0, kPageBytes - static_cast<std::size_t>(got));
  const std::uint64_t bytes = std::min(kPageBytes, end - begin);
  ssize_t put = 0;
  do {
    put = ::pwrite(fd, page.bytes.data(), bytes, static_cast<off_t>(begin));
  } while (put < 0 && errno == EINTR);
  if (put < 0) return errno;
  return static_cast<std::uint64_t>(put) == bytes ? 0 : EIO;
}

// Returns the offset of the next hole or data at or after `offset`, or `end` if there is none.
std::uint64_t next(int fd, std::uint64_t offset, int what, std::uint64_t end) {
  const off_t found = ::lseek(fd, static_cast<off_t>(offset), what);
  return found < 0 ? end : std::min(static_cast<std::uint64_t>(found), end);
}

// Holes consist of whole blocks of the file system. If blocks are smaller than pages, only the
// whole pages of a hole are filled; a start that needs the rest reports that the disk is full.
int fill_holes(int fd, std::uint64_t end) {
  for (std::uint64_t at = 0; at < end;) {
    const std::uint64_t begin = next(fd, at, SEEK_HOLE, end);
    if (begin == end) return 0;
    at = next(fd, begin, SEEK_DATA, end);
    const std::uint64_t first = whole_pages_below(begin + kPageBytes - 1);
    const std::uint64_t last = at == end ? end : whole_pages_below(at);
    if (first >= last) continue;
    if (const int failure = write_zeros(fd, first, last); failure != 0) return failure;
  }
  return 0;
}

}  // namespace

int reserve_by_writing(int fd, std::uint64_t bytes) {
  struct stat info{};
  if (::fstat(fd, &info) != 0) return errno;
  const auto size = static_cast<std::uint64_t>(info.st_size);
  if (const int failure = fill_holes(fd, whole_pages_below(std::min(size, bytes))); failure != 0) {
    return failure;
  }
  if (size >= bytes) return 0;
  std::uint64_t begin = size;
  if (size % kPageBytes != 0) {
    if (const int failure = complete_last_page(fd, size, bytes); failure != 0) return failure;
    begin = whole_pages_below(size) + kPageBytes;
  }
  return begin < bytes ? write_zeros(fd, begin, bytes) : 0;
}

int reserve_file_space(int fd, std::uint64_t bytes) {
  while (::fallocate(fd, 0, 0, static_cast<off_t>(bytes)) != 0) {
    if (errno == EOPNOTSUPP || errno == ENOSYS) return reserve_by_writing(fd, bytes);
    if (errno != EINTR) return errno;
  }
  return 0;
}

std::optional<UsableSpace> usable_space(const std::string& directory) {
  struct statvfs space{};
  while (::statvfs(directory.c_str(), &space) != 0) {
    if (errno != EINTR) return std::nullopt;
  }
  const bool is_root = ::geteuid() == 0;
  return UsableSpace{
      .bytes = std::uint64_t{is_root ? space.f_bfree : space.f_bavail} * space.f_frsize,
      .files = space.f_files == 0 ? UINT64_MAX
               : is_root          ? space.f_ffree
                                  : space.f_favail};
}

}  // namespace lapwing
