// How a running bus is found on its machine: its publisher leaves a small file in its user's
// directory of shared memory, /dev/shm/lapwing-UID or -UID-GID, called <hash of the bus directory>.bus.
// A clean close removes it. That of a killed publisher stays: so the dead bus is still seen, until
// its next publisher replaces the file or its directory is gone.
//
// Thread safety: values and pure functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/status/statusor.h"

namespace lapwing {

inline constexpr char kAnnouncementExtension[] = ".bus";
inline constexpr std::size_t kAnnouncementBytesMax = 64 * 1024;

struct BusAnnouncement {
  std::string directory;  // of the bus, absolute and without links
  std::string name;
  std::string ring_path;
  std::uint32_t publisher_pid = 0;
  std::uint64_t started_wall_ns = 0;  // UTC

  // One for each bus directory.
  std::string file_name() const;
  // JSON, docs/reference/file-formats.md. Errors: kInvalidArgument (a path or name that is not UTF-8).
  absl::StatusOr<std::string> text() const;
  // Reads what text() gives. Errors: kDamaged.
  static absl::StatusOr<BusAnnouncement> parse(const std::string& text);

  friend bool operator==(const BusAnnouncement&, const BusAnnouncement&) = default;
};

}  // namespace lapwing
