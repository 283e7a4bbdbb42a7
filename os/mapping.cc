#include "os/mapping.h"

#include <sys/mman.h>

#include <boost/interprocess/exceptions.hpp>
#include <cerrno>
#include <cstdint>
#include <utility>

#include "lapwing/error.h"
#include "os/fork.h"
#include "os/huge_pages.h"
#include "os/system_error.h"
#include "proto/ring_layout.h"

namespace lapwing {
namespace {

namespace bip = boost::interprocess;

// What mapped_region asks of a thing that it maps.
struct BorrowedFile {
  int fd;
  bip::mapping_handle_t get_mapping_handle() const { return {fd, false}; }
};

// Address space at a multiple of a huge page, reserved for a mapping to replace: a huge page of a
// file is mapped as one only there. Null where there is none left, which costs no more than that.
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
  const ForkHold hold;  // until a fork does not copy it
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
    return make_system_error(errno, absl::StrCat("keeping the mapping of ", path, " from forks"));
  }
  return region;
}

}  // namespace lapwing
