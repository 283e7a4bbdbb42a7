// Whether a mapping is really backed by huge pages: asked of the kernel, since madvise() only
// wishes.
//
// Thread safety: free functions.
#pragma once

#include <boost/interprocess/mapped_region.hpp>
#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace lapwing {

inline constexpr std::uint64_t kHugePageBytes = 2 * 1024 * 1024;

// Wishes for huge pages; to be called before a page is touched or allocated.
// kUnsupported if the region is smaller than one, or the kernel has none.
absl::Status request_huge_pages(boost::interprocess::mapped_region& region,
                                const std::string& directory);

// kUnsupported, with the remedy, unless every huge page that fits into the populated region is one.
absl::Status require_huge_pages(const boost::interprocess::mapped_region& region,
                                const std::string& directory);

}  // namespace lapwing
