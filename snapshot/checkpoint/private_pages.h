// Memory for a state that may be as large as the machine's: pages of its own, huge where the kernel
// has some, not copied by fork.
//
// Thread safety: plain memory. Owns it; movable.
#pragma once

#include <cstddef>
#include <span>

#include "absl/status/statusor.h"

namespace lapwing {

class PrivatePages {
 public:
  PrivatePages() = default;
  // Errors: kLimit, with the bytes that were asked for.
  static absl::StatusOr<PrivatePages> allocate(std::size_t bytes);
  PrivatePages(PrivatePages&& other) noexcept;
  PrivatePages& operator=(PrivatePages&& other) noexcept;
  ~PrivatePages();

  std::span<std::byte> bytes() const { return bytes_; }

 private:
  void* mapping_ = nullptr;
  std::size_t mapped_bytes_ = 0;
  std::span<std::byte> bytes_;
};

}  // namespace lapwing
