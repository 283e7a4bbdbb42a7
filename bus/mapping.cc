#include "bus/mapping.h"

#include <sys/mman.h>

#include <boost/interprocess/exceptions.hpp>
#include <cerrno>
#include <utility>

#include "proto/error.h"

namespace lapwing {
namespace {

namespace bip = boost::interprocess;

// What mapped_region asks of a thing that it maps.
struct OpenFile {
  int fd;
  bip::mapping_handle_t get_mapping_handle() const { return {fd, false}; }
};

}  // namespace

absl::StatusOr<bip::mapped_region> map_file(int fd, MapAccess access, std::uint64_t bytes,
                                            const std::string& path) {
  const bip::mode_t mode = access == MapAccess::kReadOnly ? bip::read_only : bip::read_write;
  bip::mapped_region region;
  try {
    region = bip::mapped_region(OpenFile{fd}, mode, 0, bytes);
  } catch (const bip::interprocess_exception& error) {
    return make_system_error(error.get_native_error(),
                             absl::StrCat("mapping ", bytes, " bytes of ", path));
  }
  if (madvise(region.get_address(), region.get_size(), MADV_DONTFORK) != 0) {
    return make_system_error(errno, absl::StrCat("keeping the mapping of ", path, " from forks"));
  }
  return region;
}

}  // namespace lapwing
