// Huge pages under a shared mapping: made where the kernel can, and asked for by whether they are
// there, since madvise() only wishes.
//
// Thread safety: free functions.
#pragma once

#include <boost/interprocess/mapped_region.hpp>
#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "os/mapping.h"

namespace lapwing {

// What is to have huge pages, in the words of the messages.
struct HugePageUse {
  std::string what;      // "the ring in /dev/shm/lapwing-0"
  std::string enlarge;   // what makes room for one: "use a larger --capacity"
  std::string allow_it;  // what makes the kernel give them: kAllowHugePagesOnTmpfs
};

inline constexpr char kAllowHugePagesOnTmpfs[] =
    "before Linux 6.1 mount that tmpfs with huge=advise (mount -o remount,huge=advise), since then "
    "see that /sys/kernel/mm/transparent_hugepage/shmem_enabled is not deny";
inline constexpr char kAllowHugePagesInMemfd[] =
    "let /sys/kernel/mm/transparent_hugepage/shmem_enabled be advise or always";

// Makes the pages of a region that nothing has been written to huge ones, as many as there is
// memory for, whatever the mount options and switches of the system are but `deny`. Linux 6.1, and
// a region that map_file has aligned: elsewhere none. What is left is as it was, or has its first
// page allocated.
void make_pages_huge(boost::interprocess::mapped_region& region);

// Wishes for huge pages; to be called before a page is touched or allocated.
// kUnsupported if the region is smaller than one, or the kernel has none.
absl::Status request_huge_pages(boost::interprocess::mapped_region& region, const HugePageUse& use);

// kUnsupported, with the remedy, unless every huge page that fits into the populated region is one.
absl::Status require_huge_pages(const boost::interprocess::mapped_region& region,
                                const HugePageUse& use);

}  // namespace lapwing
