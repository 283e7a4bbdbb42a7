// Announces a running bus on this machine. Its publisher writes a small file into its user's
// shared-memory directory, /dev/shm/lapwing-UID or -UID-GID, named <hash of the bus directory>.bus.
// A clean close removes the file. After a kill it remains, so the dead bus is visible until its
// next publisher replaces the file or the bus directory is removed.
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

  // Differs for each bus directory.
  std::string file_name() const;
  // JSON, docs/reference/file-formats.md. Errors: kInvalidArgument (a path or name that is not
  // UTF-8).
  absl::StatusOr<std::string> text() const;
  // Parses the result of text(). Errors: kDamaged.
  static absl::StatusOr<BusAnnouncement> parse(const std::string& text);

  friend bool operator==(const BusAnnouncement&, const BusAnnouncement&) = default;
};

}  // namespace lapwing
