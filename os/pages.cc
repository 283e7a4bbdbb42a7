#include "os/pages.h"

#include <sys/mman.h>

#include <utility>

#include "absl/strings/str_cat.h"
#include "lapwing/error.h"

namespace lapwing {
absl::StatusOr<Pages> Pages::make(int file, int protection, int flags, std::uint64_t bytes,
                                  std::uint64_t mapped_bytes) {
  Pages pages;
  if (bytes == 0) return pages;
  const ForkHold hold;  // until a fork does not copy it
  void* const mapping = ::mmap(nullptr, mapped_bytes, protection, MAP_PRIVATE | flags, file, 0);
  if (mapping == MAP_FAILED) {
    return make_error(Errc::kLimit, absl::StrCat("no room in memory for ", bytes,
                                                 " bytes; free some, or raise this process's "
                                                 "limit (ulimit -v)"));
  }
  ::madvise(mapping, mapped_bytes, MADV_DONTFORK);
  pages.mapping_ = mapping;
  pages.mapped_bytes_ = mapped_bytes;
  pages.begin_ = static_cast<std::byte*>(mapping);
  pages.byte_count_ = bytes;
  return pages;
}

absl::StatusOr<Pages> Pages::allocate(std::uint64_t bytes) {
  // The rest makes room to begin, and to end, with a huge page.
  auto pages = make(-1, PROT_READ | PROT_WRITE, MAP_ANONYMOUS, bytes, bytes + 2 * kHugePageBytes);
  if (!pages.ok() || bytes == 0) return pages;
  const auto begin = reinterpret_cast<std::uintptr_t>(pages->mapping_);
  const std::uintptr_t skip = (kHugePageBytes - begin % kHugePageBytes) % kHugePageBytes;
  pages->begin_ += skip;
  ::madvise(pages->begin_, pages->mapped_bytes_ - skip, MADV_HUGEPAGE);
  return pages;
}

absl::StatusOr<Pages> Pages::map(int file, std::uint64_t bytes) {
  return make(file, PROT_READ, 0, bytes, bytes);
}

Pages::Pages(Pages&& other) noexcept
    : mapping_(std::exchange(other.mapping_, nullptr)),
      mapped_bytes_(std::exchange(other.mapped_bytes_, 0)),
      begin_(std::exchange(other.begin_, nullptr)),
      byte_count_(std::exchange(other.byte_count_, 0)),
      made_(other.made_) {}

Pages& Pages::operator=(Pages&& other) noexcept {
  std::swap(mapping_, other.mapping_);
  std::swap(mapped_bytes_, other.mapped_bytes_);
  std::swap(begin_, other.begin_);
  std::swap(byte_count_, other.byte_count_);
  std::swap(made_, other.made_);
  return *this;
}

Pages::~Pages() {
  if (mapping_ != nullptr && !made_.in_child()) ::munmap(mapping_, mapped_bytes_);
}

void Pages::expect_sequential(bool sequential) const {
  if (mapping_ == nullptr) return;
  ::madvise(mapping_, mapped_bytes_, sequential ? MADV_SEQUENTIAL : MADV_NORMAL);
}

}  // namespace lapwing
