#include "os/mapping.h"

#include <sys/mman.h>

#include <boost/interprocess/exceptions.hpp>
#include <boost/interprocess/mapped_region.hpp>
#include <cerrno>
#include <utility>

#include "absl/strings/str_cat.h"
#include "lapwing/error.h"
#include "os/system_error.h"
#include "proto/ring_layout.h"

namespace lapwing {
namespace {

namespace bip = boost::interprocess;

// The interface that mapped_region needs.
struct BorrowedFile {
  int fd;
  bip::mapping_handle_t get_mapping_handle() const { return {fd, false}; }
};

// Reserves address space at a multiple of the huge-page size, for a mapping to replace. Only there
// can a huge page of a file be mapped as one. Returns null if there is none; the mapping then just
// has small pages.
void* reserve_aligned(std::uint64_t bytes) {
  const std::uint64_t reserved_bytes = bytes + kHugePageBytes;
  void* const reserved =
      mmap(nullptr, reserved_bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (reserved == MAP_FAILED) return nullptr;
  char* const begin = static_cast<char*>(reserved);
  const std::uint64_t before_bytes =
      (kHugePageBytes - reinterpret_cast<std::uintptr_t>(reserved) % kHugePageBytes) %
      kHugePageBytes;
  const std::uint64_t kept_bytes = (bytes + kPageBytes - 1) / kPageBytes * kPageBytes;
  const std::uint64_t end_bytes = before_bytes + kept_bytes;
  if (before_bytes != 0) munmap(begin, before_bytes);
  if (end_bytes < reserved_bytes) munmap(begin + end_bytes, reserved_bytes - end_bytes);
  return begin + before_bytes;
}

}  // namespace

absl::StatusOr<bip::mapped_region> map_file(int fd, MapAccess access, std::uint64_t bytes,
                                            const std::string& path) {
  const bip::mode_t mode = access == MapAccess::kReadOnly ? bip::read_only : bip::read_write;
  bip::mapped_region region;
  const ForkHold hold;  // until MADV_DONTFORK is set
  void* const place = bytes >= kHugePageBytes ? reserve_aligned(bytes) : nullptr;
  try {
    region = place == nullptr
                 ? bip::mapped_region(BorrowedFile{fd}, mode, 0, bytes)
                 : bip::mapped_region(BorrowedFile{fd}, mode, 0, bytes, place, MAP_FIXED);
  } catch (const bip::interprocess_exception& error) {
    if (place != nullptr) munmap(place, bytes);
    return make_system_error(error.get_native_error(),
                             absl::StrCat("mapping ", bytes, " bytes of ", path));
  }
  if (madvise(region.get_address(), region.get_size(), MADV_DONTFORK) != 0) {
    return make_system_error(errno, absl::StrCat("excluding the mapping of ", path, " from forks"));
  }
  return region;
}

int populate_for_writing(std::byte* begin, std::uint64_t bytes) {
  if (::madvise(begin, bytes, MADV_POPULATE_WRITE) == 0) return 0;
  return errno == EINVAL ? 0
                         : errno;  // a sandbox's kernel may lack the advice: pages fault in later
}

absl::StatusOr<Pages> Pages::make(void* place, int file, int protection, int flags,
                                  std::uint64_t bytes, std::uint64_t mapped_bytes) {
  Pages pages;
  if (bytes == 0) return pages;
  const ForkHold hold;  // until MADV_DONTFORK is set
  void* const mapping = ::mmap(place, mapped_bytes, protection, MAP_PRIVATE | flags, file, 0);
  if (mapping == MAP_FAILED) {
    if (place != nullptr) ::munmap(place, mapped_bytes);
    return make_error(Errc::kLimit, absl::StrCat("not enough memory for ", bytes,
                                                 " bytes; free some, or raise this process's "
                                                 "limit (ulimit -v)"));
  }
  ::madvise(mapping, mapped_bytes, MADV_DONTFORK);
  pages.begin_ = static_cast<std::byte*>(mapping);
  pages.byte_count_ = bytes;
  pages.mapped_bytes_ = mapped_bytes;
  return pages;
}

absl::StatusOr<Pages> Pages::allocate(std::uint64_t bytes) {
  // Round up to whole huge pages.
  const std::uint64_t whole_bytes = (bytes + kHugePageBytes - 1) / kHugePageBytes * kHugePageBytes;
  void* const place = reserve_aligned(whole_bytes);
  const int fixed = place == nullptr ? 0 : MAP_FIXED;
  auto pages = make(place, -1, PROT_READ | PROT_WRITE, MAP_ANONYMOUS | fixed, bytes, whole_bytes);
  if (pages.ok()) ::madvise(pages->begin_, whole_bytes, MADV_HUGEPAGE);
  return pages;
}

absl::StatusOr<Pages> Pages::map(int file, std::uint64_t bytes) {
  return make(nullptr, file, PROT_READ, 0, bytes, bytes);
}

Pages& Pages::operator=(Pages&& other) noexcept {
  std::swap(begin_, other.begin_);
  std::swap(byte_count_, other.byte_count_);
  std::swap(mapped_bytes_, other.mapped_bytes_);
  std::swap(made_, other.made_);
  return *this;
}

Pages::~Pages() {
  if (begin_ != nullptr && !made_.in_child()) ::munmap(begin_, mapped_bytes_);
}

void Pages::expect_sequential(bool sequential) const {
  if (begin_ == nullptr) return;
  ::madvise(begin_, mapped_bytes_, sequential ? MADV_SEQUENTIAL : MADV_NORMAL);
}

bool Pages::populate(std::uint64_t offset, std::uint64_t byte_count) const {
  const std::uint64_t first = offset / kPageBytes * kPageBytes;
  const std::uint64_t end = offset + byte_count;
  return ::madvise(begin_ + first, end - first, MADV_POPULATE_READ) == 0;
}

}  // namespace lapwing
