#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>

#include "absl/strings/str_cat.h"
#include "monitor/doctor/machine.h"
#include "os/kernel.h"
#include "os/system_error.h"
#include "os/unique_fd.h"
#include "os/uring_write_queue.h"

namespace lapwing {
namespace {

absl::Status try_io_uring() {
  return UringWriteQueue::create({}).status();
}

absl::Status try_direct_io(const std::string& directory) {
  // The file has no name, so nothing is left behind.
  const UniqueFd file = UniqueFd::opened_by([&] {
    return ::open(directory.c_str(), O_TMPFILE | O_RDWR | O_DIRECT | O_CLOEXEC, S_IRUSR | S_IWUSR);
  });
  if (file.get() >= 0) return absl::OkStatus();
  return make_system_error(errno, absl::StrCat("cannot open a file for direct I/O in ", directory));
}

}  // namespace

Probes real_probes() {
  return {try_io_uring, register_membarrier_private, try_direct_io};
}

}  // namespace lapwing
