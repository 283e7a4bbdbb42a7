// Maps a whole file, shared, over boost::interprocess.
//
// The caller opens the descriptor, because boost's own file_mapping would open the path a second
// time, following links and without O_CLOEXEC. The region keeps the mapping when the descriptor is
// closed.
//
// Thread safety: free function. Errors: kSystem, kNotPermitted; boost's exceptions end here.
#pragma once

#include <boost/interprocess/mapped_region.hpp>
#include <cstdint>
#include <string>

#include "absl/status/statusor.h"

namespace lapwing {

enum class MapAccess { kReadOnly, kReadWrite };

// Maps bytes 0 to `bytes` of `fd`, MADV_DONTFORK. `path` is for messages.
absl::StatusOr<boost::interprocess::mapped_region> map_file(int fd, MapAccess access,
                                                            std::uint64_t bytes,
                                                            const std::string& path);

}  // namespace lapwing
