#include "bus/huge_pages.h"

#include <sys/mman.h>

#include <cinttypes>
#include <cstdio>
#include <fstream>

#include "absl/strings/str_format.h"
#include "proto/error.h"

namespace lapwing {
namespace {

// Bytes of the mapping that starts at `address` which huge pages back, as /proc/self/smaps has it.
absl::StatusOr<std::uint64_t> huge_bytes_at(const void* address) {
  std::ifstream smaps("/proc/self/smaps");
  const std::string first = absl::StrFormat("%x-", reinterpret_cast<std::uintptr_t>(address));
  bool inside = false;
  for (std::string line; std::getline(smaps, line);) {
    if (!inside) {
      inside = line.compare(0, first.size(), first) == 0;
      continue;
    }
    std::uint64_t kib = 0;
    if (std::sscanf(line.c_str(), "ShmemPmdMapped: %" SCNu64 " kB", &kib) == 1) return kib * 1024;
  }
  return make_error(Errc::kUnsupported,
                    "/proc/self/smaps does not say whether the ring has huge pages");
}

}  // namespace

absl::Status request_huge_pages(boost::interprocess::mapped_region& region,
                                const std::string& directory) {
  if (region.get_size() < kHugePageBytes) {
    return make_error(Errc::kUnsupported,
                      absl::StrCat("a ring of ", region.get_size(),
                                   " bytes has no room for a huge page; use a larger --capacity"));
  }
  if (madvise(region.get_address(), region.get_size(), MADV_HUGEPAGE) == 0) return absl::OkStatus();
  return make_error(Errc::kUnsupported,
                    absl::StrCat("this kernel has no huge pages for the ring in ", directory));
}

absl::Status require_huge_pages(const boost::interprocess::mapped_region& region,
                                const std::string& directory) {
  const absl::StatusOr<std::uint64_t> found = huge_bytes_at(region.get_address());
  if (!found.ok()) return found.status();
  const std::uint64_t wanted = region.get_size() / kHugePageBytes * kHugePageBytes;
  if (*found >= wanted) return absl::OkStatus();
  return make_error(
      Errc::kUnsupported,
      absl::StrCat("the ring in ", directory, " got ", *found, " bytes of huge pages of ", wanted,
                   "; mount that tmpfs with huge=advise (mount -o remount,huge=advise), or free "
                   "memory, or leave huge pages off"));
}

}  // namespace lapwing
