#include "os/huge_pages.h"

#include <sys/mman.h>

#include <cinttypes>
#include <cstdio>
#include <fstream>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "lapwing/error.h"
#include "os/fork.h"
#include "proto/ring_layout.h"

namespace lapwing {
namespace {

// Returns how many bytes of the mapping at `address` are huge pages, according to /proc/self/smaps.
absl::StatusOr<std::uint64_t> huge_bytes_at(const void* address, const std::string& what) {
  const ForkHold hold;
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
                    absl::StrCat("/proc/self/smaps does not show whether ", what,
                                 " has huge pages; leave huge pages off"));
}

#if !defined(MADV_COLLAPSE)
constexpr int MADV_COLLAPSE = 25;  // newer than the headers of Debian 12
#endif

}  // namespace

void make_pages_huge(boost::interprocess::mapped_region& region) {
  char* const begin = static_cast<char*>(region.get_address());
  // A range without pages is not collapsed, so each range gets one page, as long as there is
  // memory.
  std::uint64_t bytes = 0;
  while (bytes + kHugePageBytes <= region.get_size() &&
         madvise(begin + bytes, kPageBytes, MADV_POPULATE_WRITE) == 0) {
    bytes += kHugePageBytes;
  }
  if (bytes != 0) madvise(begin, bytes, MADV_COLLAPSE);  // callers check the result if they need it
}

absl::Status request_huge_pages(boost::interprocess::mapped_region& region,
                                const HugePageUse& use) {
  if (region.get_size() < kHugePageBytes) {
    return make_error(Errc::kUnsupported,
                      absl::StrCat(use.what, " has ", region.get_size(),
                                   " bytes, too few for a huge page; ", use.enlarge));
  }
  if (madvise(region.get_address(), region.get_size(), MADV_HUGEPAGE) == 0) return absl::OkStatus();
  return make_error(Errc::kUnsupported, absl::StrCat("this kernel has no huge pages for ", use.what,
                                                     "; leave huge pages off"));
}

absl::Status require_huge_pages(const boost::interprocess::mapped_region& region,
                                const HugePageUse& use) {
  const absl::StatusOr<std::uint64_t> found = huge_bytes_at(region.get_address(), use.what);
  if (!found.ok()) return found.status();
  const std::uint64_t wanted = region.get_size() / kHugePageBytes * kHugePageBytes;
  if (*found >= wanted) return absl::OkStatus();
  return make_error(Errc::kUnsupported,
                    absl::StrCat(use.what, " got ", *found, " bytes of huge pages of ", wanted,
                                 "; ", use.allow_it, ", or free memory, or leave huge pages off"));
}

}  // namespace lapwing
