// The bus directory, a bus's address: bus.json, control.sock, publisher.lock, roster.json, journal/,
// checkpoint/, metadata.dbn. Creation, ownership checks, and the two small files that describe the
// bus. The publisher's lock is os/exclusive_lock.h.
//
// Small files are replaced as a whole: temporary name, sync, rename, sync directory. So a reader
// finds the old or the new one, never a part.
//
// Thread safety: one thread; writers hold the publisher's lock.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "lapwing/sequence.h"
#include "os/io.h"

namespace lapwing {

inline constexpr char kBusFileName[] = "bus.json";
inline constexpr char kJournalDirectoryName[] = "journal";
inline constexpr char kMetadataFileName[] = "metadata.dbn";
inline constexpr std::size_t kBusFileBytesMax = 256 * 1024;
inline constexpr std::size_t kMetadataBytesMax = 64 * 1024 * 1024;

// What bus.json says: where the current session's ring is and what its records are.
struct BusDescription {
  std::string name;
  std::string schema;
  std::string description;  // Schema::text(); empty: nobody has described the records
  std::string ring_path;
  std::string journal_root;    // directory with `sessions`, absolute; empty: no journal
  std::string journal_writer;  // what writes it, for people: io_uring, or posix and why
  Id128 journal_id;
  Id128 session_id;
  std::uint32_t record_bytes = 0;
  std::uint32_t slot_bytes = 0;
  std::uint64_t capacity = 0;
  bool restamped = false;  // ts_recv is the time of publishing
  bool closed = false;     // the session ended cleanly and its ring file is gone

  friend bool operator==(const BusDescription&, const BusDescription&) = default;
};

// What a directory is to be used for.
enum class DirectoryUse : std::uint32_t {
  kBus,
  kJournal,   // one that lies elsewhere, too
  kRingHome,  // of a bus's rings: its name is Lapwing's own, and so are its mode and group
};

// Makes the directory if need be: 0700, or with a group the group's and 0750, at once. One that is
// there already must be empty or hold what it is to be used for, so that nobody's home directory
// becomes a bus by a slip; it keeps its mode and its group, and has to have the right ones, since
// somebody else may have made it (a home of rings gets them). Errors: kNotALapwingFile if something
// else stands there, a link, say, or a directory of other files; kNotPermitted if it belongs to
// another user, is writable by others or not readable by the group; kNotFound if its parent is
// missing.
absl::Status prepare_directory(const std::string& directory, DirectoryUse use,
                               std::optional<unsigned> group);

// A journal that lies in the bus directory is written down relative to it, so that a copy of the
// directory speaks of its own journal, and one that was moved still does.
// Errors: kNoBus if there is none, kNotPermitted, kNotALapwingFile, kAbiMismatch, kDamaged (not
// JSON, a field missing, sizes that contradict each other).
absl::StatusOr<BusDescription> read_bus_description(const std::string& directory);
// Errors: kInvalidArgument (a text that is not UTF-8), kNoSpace, kNotPermitted, kSystem.
absl::Status write_bus_description(const std::string& directory, const BusDescription& description,
                                   std::optional<unsigned> group);
// Checks in advance whether bus.json can be written: fails if a text is not UTF-8, or if a
// directory has its name.
absl::Status check_bus_description(const std::string& directory, const BusDescription& description);
// Writes bus.json on that disk, which may have anchored the directory, with the disk's permissions.
absl::Status write_bus_description(Disk& disk, const std::string& directory,
                                   const BusDescription& description);

// Raw DBN metadata of the feed (the bytes from "DBN" on), kept so that recordings carry it.
absl::Status write_feed_metadata(const std::string& directory, const std::string& metadata,
                                 std::optional<unsigned> group);
absl::StatusOr<std::string> read_feed_metadata(const std::string& directory);  // empty: none

}  // namespace lapwing
