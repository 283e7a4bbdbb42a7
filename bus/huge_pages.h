// Whether a mapping is really backed by huge pages: asked of the kernel, since madvise() only
// wishes.
//
// Thread safety: free functions.
#pragma once

#include <boost/interprocess/mapped_region.hpp>
#include <cstdint>
#include <string>

#include "absl/status/status.h"

namespace lapwing {

inline constexpr std::uint64_t kHugePageBytes = 2 * 1024 * 1024;

// What is to have huge pages, in the words of the messages.
struct HugePageUse {
  std::string what;      // "the ring in /dev/shm/lapwing-0"
  std::string enlarge;   // what makes room for one: "use a larger --capacity"
  std::string allow_it;  // what makes the kernel give them: kAllowHugePagesOnTmpfs
};

inline constexpr char kAllowHugePagesOnTmpfs[] =
    "mount that tmpfs with huge=advise (mount -o remount,huge=advise)";
inline constexpr char kAllowHugePagesInMemfd[] =
    "let /sys/kernel/mm/transparent_hugepage/shmem_enabled be advise or always";

// Wishes for huge pages; to be called before a page is touched or allocated.
// kUnsupported if the region is smaller than one, or the kernel has none.
absl::Status request_huge_pages(boost::interprocess::mapped_region& region, const HugePageUse& use);

// kUnsupported, with the remedy, unless every huge page that fits into the populated region is one.
absl::Status require_huge_pages(const boost::interprocess::mapped_region& region,
                                const HugePageUse& use);

}  // namespace lapwing
