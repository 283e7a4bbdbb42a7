#include "publisher/announcement.h"

#include <unistd.h>

#include <filesystem>
#include <string>
#include <system_error>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "os/kernel.h"
#include "os/posix_io.h"
#include "os/small_file.h"
#include "os/system_error.h"
#include "os/whole_file.h"
#include "snapshot/bus_announcement.h"

namespace lapwing {
namespace {

// Removes the announcements of this user's other buses whose directories no longer exist. No other
// process could find and remove them.
void remove_orphans(const std::string& folder) {
  const absl::StatusOr<std::vector<std::string>> names = PosixDisk().list(folder);
  if (!names.ok()) return;  // a later start may succeed
  for (const std::string& name : *names) {
    if (!absl::EndsWith(name, kAnnouncementExtension)) continue;
    const std::string path = absl::StrCat(folder, "/", name);
    const absl::StatusOr<std::string> text = read_small_file(path, kAnnouncementBytesMax);
    const absl::StatusOr<BusAnnouncement> bus =
        text.ok() ? BusAnnouncement::parse(*text) : text.status();
    std::error_code unknown;
    if (bus.ok() && !std::filesystem::exists(bus->directory, unknown) && !unknown) {
      std::filesystem::remove(path, unknown);
    }
  }
}

}  // namespace

absl::StatusOr<std::string> announce_on_machine(const PublisherSetUp& options,
                                                const BusDescription& bus,
                                                const std::string& folder) {
  std::error_code error;
  BusAnnouncement announcement;
  announcement.directory = std::filesystem::canonical(options.directory, error).string();
  if (error) {
    return make_system_error(error.value(), absl::StrCat("resolving ", options.directory));
  }
  announcement.name = bus.name;
  announcement.ring_path = bus.ring_path;
  announcement.publisher_pid = static_cast<std::uint32_t>(getpid());
  announcement.started_wall_ns = wall_ns();
  const absl::StatusOr<std::string> text = announcement.text();
  if (!text.ok()) return text.status();
  remove_orphans(folder);
  const absl::Status written = replace_file(folder, announcement.file_name(), *text, options.group);
  if (!written.ok()) return written;
  return absl::StrCat(folder, "/", announcement.file_name());
}

absl::Status withdraw_from_machine(const std::string& announcement) {
  if (announcement.empty()) return absl::OkStatus();
  PosixDisk disk;
  return remove_if_there(disk, announcement);
}

}  // namespace lapwing
