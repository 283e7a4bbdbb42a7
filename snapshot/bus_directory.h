// The bus directory, which is a bus's address: bus.json, control.sock, publisher.lock, roster.json,
// journal/, checkpoint/, metadata.dbn. Creates and checks the directory, and reads and writes the
// two small files that describe the bus. os/exclusive_lock.h implements the publisher's lock.
//
// Small files are replaced as a whole: temporary name, sync, rename, directory sync. So a reader
// finds either the old or the new file, never a partial one.
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

// The contents of bus.json: the current session's ring and the layout of its records.
struct BusDescription {
  std::string name;
  std::string schema;
  std::string description;  // Schema::text(); empty: no description
  std::string ring_path;
  std::string journal_root;    // directory with `sessions`, absolute; empty: no journal
  std::string journal_writer;  // how it is written, for operators: io_uring, or posix: why
  Id128 journal_id;
  Id128 session_id;
  std::uint32_t record_bytes = 0;
  std::uint32_t slot_bytes = 0;
  std::uint64_t capacity = 0;
  bool restamped = false;  // ts_recv is the publish time
  bool closed = false;     // the session ended cleanly and its ring file was removed

  friend bool operator==(const BusDescription&, const BusDescription&) = default;
};

// The purpose a directory is used for.
enum class DirectoryUse : std::uint32_t {
  kBus,
  kJournal,   // inside or outside the bus directory
  kRingHome,  // for ring files: Lapwing determines its name, mode and group
};

// Creates the directory if needed, with mode 0700, or with the group and mode 0750 from the
// start. An existing directory must be empty or already in use for the same purpose, so that a
// typo does not turn a home directory into a bus. It keeps its mode and group, which must be
// correct, because another user may have created it (a ring home is corrected).
// Errors: kNotALapwingFile (something else, for example a link or a directory with other files),
// kNotPermitted (it belongs to another user, is writable by others or not readable by the group),
// kNotFound (its parent is missing).
absl::Status prepare_directory(const std::string& directory, DirectoryUse use,
                               std::optional<unsigned> group);

// The path of a journal inside the bus directory is stored relative to it, so that it stays valid
// in a copy of the directory, and after a move. Errors: kNoBus if there is none, kNotPermitted,
// kNotALapwingFile, kAbiMismatch, kDamaged (invalid JSON, a missing field, contradictory sizes).
absl::StatusOr<BusDescription> read_bus_description(const std::string& directory);
// Errors: kInvalidArgument (a text that is not UTF-8), kNoSpace, kNotPermitted, kSystem.
absl::Status write_bus_description(const std::string& directory, const BusDescription& description,
                                   std::optional<unsigned> group);
// Checks in advance whether bus.json can be written. Fails if a text is not UTF-8, or if a
// directory has that name.
absl::Status check_bus_description(const std::string& directory, const BusDescription& description);
// Writes bus.json through `disk`, which may have anchored the directory, with its permissions.
absl::Status write_bus_description(Disk& disk, const std::string& directory,
                                   const BusDescription& description);

// The feed's raw DBN metadata (the bytes from "DBN" on), kept so that recordings contain it.
absl::Status write_feed_metadata(const std::string& directory, const std::string& metadata,
                                 std::optional<unsigned> group);
absl::StatusOr<std::string> read_feed_metadata(const std::string& directory);  // empty: none

}  // namespace lapwing
