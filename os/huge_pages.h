// Huge pages for a shared mapping. madvise() is only a request, so the result is checked
// afterwards.
//
// Thread safety: free functions.
#pragma once

#include <boost/interprocess/mapped_region.hpp>
#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "os/mapping.h"

namespace lapwing {

// Text for messages about the mapping that uses huge pages.
struct HugePageUse {
  std::string what;      // "the ring in /dev/shm/lapwing-0"
  std::string enlarge;   // the remedy for a mapping that is too small: "use a larger --capacity"
  std::string allow_it;  // the remedy for a kernel that refuses: kAllowHugePagesOnTmpfs
};

inline constexpr char kAllowHugePagesOnTmpfs[] =
    "before Linux 6.1 mount that tmpfs with huge=advise (mount -o remount,huge=advise), since then "
    "see that /sys/kernel/mm/transparent_hugepage/shmem_enabled is not deny";
inline constexpr char kAllowHugePagesInMemfd[] =
    "let /sys/kernel/mm/transparent_hugepage/shmem_enabled be advise or always";

// Backs a region that has not been written yet with huge pages, as far as memory allows. Ignores
// the mount options and the system's settings, except `deny`. Needs Linux 6.1, and a region that
// map_file has aligned; otherwise has no effect. In the rest of the region, the first page of a
// range may have been allocated.
void make_pages_huge(boost::interprocess::mapped_region& region);

// Requests huge pages. Call it before a page is touched or allocated. Returns kUnsupported if the
// region is smaller than a huge page, or the kernel does not support them.
absl::Status request_huge_pages(boost::interprocess::mapped_region& region, const HugePageUse& use);

// Returns kUnsupported, with the remedy, unless the populated region consists of as many huge pages
// as fit.
absl::Status require_huge_pages(const boost::interprocess::mapped_region& region,
                                const HugePageUse& use);

}  // namespace lapwing
