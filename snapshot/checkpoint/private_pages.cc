#include "snapshot/checkpoint/private_pages.h"

#include <sys/mman.h>

#include <cerrno>
#include <cstdint>
#include <utility>

#include "absl/strings/str_cat.h"
#include "proto/error.h"

namespace lapwing {
namespace {

constexpr std::size_t kHugePageBytes = 2 * 1024 * 1024;

}  // namespace

absl::StatusOr<PrivatePages> PrivatePages::allocate(std::size_t bytes) {
  PrivatePages pages;
  if (bytes == 0) return pages;
  const std::size_t mapped_bytes = bytes + 2 * kHugePageBytes;  // room to align both ends
  void* const mapping =
      ::mmap(nullptr, mapped_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapping == MAP_FAILED) {
    return make_error(Errc::kLimit, absl::StrCat("no memory for ", bytes,
                                                 " bytes of entries; free some, or "
                                                 "raise the limit of this process"));
  }
  pages.mapping_ = mapping;
  pages.mapped_bytes_ = mapped_bytes;
  const auto begin = reinterpret_cast<std::uintptr_t>(mapping);
  const std::size_t skip = (kHugePageBytes - begin % kHugePageBytes) % kHugePageBytes;
  std::byte* const aligned = static_cast<std::byte*>(mapping) + skip;
  pages.bytes_ = {aligned, bytes};
  // Wishes: without huge pages it takes longer, and a fork copies what it need not.
  ::madvise(aligned, mapped_bytes - skip, MADV_HUGEPAGE);
  ::madvise(mapping, mapped_bytes, MADV_DONTFORK);
  return pages;
}

PrivatePages::PrivatePages(PrivatePages&& other) noexcept
    : mapping_(std::exchange(other.mapping_, nullptr)),
      mapped_bytes_(std::exchange(other.mapped_bytes_, 0)),
      bytes_(std::exchange(other.bytes_, {})) {}

PrivatePages& PrivatePages::operator=(PrivatePages&& other) noexcept {
  std::swap(mapping_, other.mapping_);
  std::swap(mapped_bytes_, other.mapped_bytes_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

PrivatePages::~PrivatePages() {
  if (mapping_ != nullptr) ::munmap(mapping_, mapped_bytes_);
}

}  // namespace lapwing
