#include "snapshot/bus_directory.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <filesystem>
#include <iterator>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "lapwing/error.h"
#include "os/exclusive_lock.h"
#include "os/posix_io.h"
#include "os/sharing.h"
#include "os/small_file.h"
#include "os/system_error.h"
#include "os/unique_fd.h"
#include "proto/ring_layout.h"
#include "snapshot/checkpoint/checkpoint_directory.h"
#include "snapshot/journal/session_log.h"
#include "snapshot/json_members.h"
#include "snapshot/roster.h"

namespace lapwing {
namespace {

using nlohmann::json;

constexpr unsigned kDirectoryMode = 0700;
constexpr unsigned kGroupDirectoryMode = 0750;
constexpr unsigned kGroupReads = 0050;
constexpr char kNewDirectorySuffix[] = ".lapwing-new-";

absl::Status check_ownership(const std::string& directory, const struct stat& info) {
  if (info.st_uid != ::geteuid() && info.st_uid != 0) {
    return make_error(Errc::kNotPermitted,
                      absl::StrCat(directory, " belongs to user ", info.st_uid, ", not to ",
                                   ::geteuid(), "; choose a directory of your own"));
  }
  if ((info.st_mode & (S_IWGRP | S_IWOTH)) != 0) {
    return make_error(Errc::kNotPermitted,
                      absl::StrFormat("%s has mode %04o: others could replace what is in it; "
                                      "run `chmod go-w %s`",
                                      directory, info.st_mode & 07777, directory));
  }
  return absl::OkStatus();
}

absl::Status check_group(const std::string& directory, const struct stat& info, unsigned group) {
  const bool readable = (info.st_mode & kGroupReads) == kGroupReads;
  if (info.st_gid == group && readable) return absl::OkStatus();
  return make_error(Errc::kNotPermitted,
                    absl::StrFormat("group %u cannot read %s (group %u, mode %04o). Lapwing does "
                                    "not change existing directories. Run `chgrp -R %u %s && chmod "
                                    "-R g+rX %s`, or name a directory that does not exist yet",
                                    group, directory, info.st_gid, info.st_mode & 07777, group,
                                    directory, directory));
}

UniqueFd open_directory(const std::string& directory) {
  return UniqueFd::opened_by(
      [&] { return ::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC); });
}

absl::Status cannot_make(int sys_errno, const std::string& directory) {
  const char* const advice = sys_errno == ENOENT ? ": make the one that is to hold it first" : "";
  return make_system_error(sys_errno,
                           absl::StrCat("cannot make the directory ", directory, advice));
}

// Returns true if it created the directory, false if the path already exists. With a group, the
// directory gets its name last. Otherwise, a directory whose group is not set yet could not be
// distinguished from a foreign one.
absl::StatusOr<bool> make_if_missing(const std::string& directory, std::optional<unsigned> group) {
  const std::string path =
      group ? absl::StrCat(directory, kNewDirectorySuffix, ::getpid()) : directory;
  struct stat there{};
  if (::lstat(directory.c_str(), &there) == 0) return false;
  if (::mkdir(path.c_str(), kDirectoryMode) != 0) {
    if (errno == EEXIST && !group) return false;
    return cannot_make(errno, directory);
  }
  if (!group) return true;
  absl::Status made = absl::OkStatus();
  if (const UniqueFd opened = open_directory(path); opened.valid()) {
    made = share(opened.get(), directory, group, kGroupDirectoryMode);
  } else {
    made = cannot_make(errno, directory);
  }
  const bool named = made.ok() && ::renameat2(AT_FDCWD, path.c_str(), AT_FDCWD, directory.c_str(),
                                              RENAME_NOREPLACE) == 0;
  const int sys_errno = errno;
  if (named) return true;
  ::rmdir(path.c_str());
  if (!made.ok()) return made;
  if (sys_errno == EEXIST) return false;
  return cannot_make(sys_errno, directory);
}

bool is_kept_by(DirectoryUse use, const std::string& name) {
  static constexpr std::array kOfBus = {kBusFileName,          kLockFileName,
                                        kJournalDirectoryName, kMetadataFileName,
                                        kRosterFileName,       kCheckpointDirectoryName};
  static constexpr std::array kOfJournal = {kSessionsFileName, "sessions.copy", kLockFileName};
  if (use == DirectoryUse::kBus) return std::ranges::find(kOfBus, name) != kOfBus.end();
  return std::ranges::find(kOfJournal, name) != kOfJournal.end() ||
         Id128::from_hex(name).has_value();
}

// Ok if the directory is empty, apart from what a new file system contains, or is already in use
// for this purpose.
absl::Status check_content(const std::string& directory, DirectoryUse use) {
  const auto names = PosixDisk().list(directory);
  if (!names.ok()) return names.status();
  std::string stranger;
  for (const std::string& name : *names) {
    if (is_kept_by(use, name)) return absl::OkStatus();
    if (name != "lost+found") stranger = name;
  }
  if (stranger.empty()) return absl::OkStatus();
  return make_error(Errc::kNotALapwingFile,
                    absl::StrCat(directory, " contains other files (such as ", stranger,
                                 ") and no ", use == DirectoryUse::kBus ? "bus" : "journal",
                                 ": name a directory that is empty or does not exist yet"));
}

// Returns a path as in bus.json: relative if it is inside the bus directory.
std::string within_bus_directory(const std::string& directory, const std::string& path) {
  const std::string prefix = absl::StrCat(directory, "/");
  return path.starts_with(prefix) ? path.substr(prefix.size()) : path;
}

std::string from_bus_directory(const std::string& directory, const std::string& path) {
  if (path.empty() || path.front() == '/') return path;
  std::error_code error;  // if the working directory was removed, the path stays relative
  const std::filesystem::path full = std::filesystem::path(directory) / path;
  const std::filesystem::path absolute = std::filesystem::absolute(full, error);
  return (error ? full : absolute).lexically_normal().string();
}

bool sizes_agree(const BusDescription& bus) {
  return bus.record_bytes >= kRecordBytesMin && bus.record_bytes <= kRecordBytesMax &&
         bus.slot_bytes == slot_bytes_for(bus.record_bytes) && std::has_single_bit(bus.capacity) &&
         bus.capacity >= kCapacityMin && bus.capacity <= kCapacityMax;
}

absl::StatusOr<std::string> text_of(const std::string& directory,
                                    const BusDescription& description) {
  json object = {
      {"abi", kAbiVersion},
      {"name", description.name},
      {"schema", description.schema},
      {"ring_path", description.ring_path},
      {"journal_root", within_bus_directory(directory, description.journal_root)},
      {"journal_writer", description.journal_writer},
      {"journal_id", description.journal_id.hex()},
      {"session_id", description.session_id.hex()},
      {"record_bytes", description.record_bytes},
      {"slot_bytes", description.slot_bytes},
      {"capacity", description.capacity},
      {"closed", description.closed},
  };
  if (!description.description.empty()) object["description"] = description.description;
  if (description.restamped) object["restamped"] = true;
  try {
    return object.dump(2) + "\n";
  } catch (const json::exception&) {
    return make_error(Errc::kInvalidArgument,
                      absl::StrCat("a name or path of the bus at ", directory, " is not UTF-8"));
  }
}

absl::StatusOr<BusDescription> parse_description(const std::string& path, const std::string& text) {
  const auto damaged = [&](const std::string& what) {
    return make_error(Errc::kDamaged,
                      absl::StrCat(path, ": ", what, "; a publisher that starts rewrites it"));
  };
  const json object = json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!object.is_object()) return damaged("not a JSON object");
  std::uint32_t abi = 0;
  if (!take(object, "abi", abi)) return damaged("`abi` is missing");
  if (abi != kAbiVersion) {
    return make_error(Errc::kAbiMismatch,
                      absl::StrCat(path, ": the publisher uses ABI ", abi, ", this program ",
                                   kAbiVersion, "; use the same release on both sides"));
  }
  BusDescription bus;
  const bool complete =
      take(object, "name", bus.name) && take(object, "schema", bus.schema) &&
      take(object, "ring_path", bus.ring_path) && take(object, "journal_root", bus.journal_root) &&
      take(object, "journal_writer", bus.journal_writer) &&
      take(object, "journal_id", bus.journal_id) && take(object, "session_id", bus.session_id) &&
      take(object, "record_bytes", bus.record_bytes) &&
      take(object, "slot_bytes", bus.slot_bytes) && take(object, "capacity", bus.capacity) &&
      take(object, "closed", bus.closed);
  const bool is_described = !object.contains("description") ||  // not before release 0.2
                            take(object, "description", bus.description);
  const bool has_stamps = !object.contains("restamped") || take(object, "restamped", bus.restamped);
  if (!complete || !is_described || !has_stamps)
    return damaged("a field is missing or of another type");
  if (!sizes_agree(bus)) return damaged("record, slot and ring sizes contradict each other");
  return bus;
}

}  // namespace

absl::Status prepare_directory(const std::string& directory, DirectoryUse use,
                               std::optional<unsigned> group) {
  const absl::StatusOr<bool> made = make_if_missing(directory, group);
  if (!made.ok()) return made.status();
  const UniqueFd opened = open_directory(directory);
  if (!opened.valid() && (errno == ENOTDIR || errno == ELOOP)) {
    return make_error(Errc::kNotALapwingFile,
                      absl::StrCat(directory, " is not a directory (links are not followed)"));
  }
  struct stat info{};
  if (!opened.valid() || ::fstat(opened.get(), &info) != 0) {
    return make_system_error(errno, absl::StrCat("cannot open the directory ", directory));
  }
  absl::Status status = check_ownership(directory, info);
  if (!status.ok() || *made) return status;
  if (use == DirectoryUse::kRingHome) {
    return group ? share(opened.get(), directory, group, kGroupDirectoryMode) : status;
  }
  status = check_content(directory, use);
  if (!status.ok() || !group) return status;
  return check_group(directory, info, *group);
}

absl::StatusOr<BusDescription> read_bus_description(const std::string& directory) {
  const std::string path = absl::StrCat(directory, "/", kBusFileName);
  const auto text = read_small_file(path, kBusFileBytesMax);
  if (text.ok()) {
    absl::StatusOr<BusDescription> bus = parse_description(path, *text);
    if (bus.ok()) bus->journal_root = from_bus_directory(directory, bus->journal_root);
    return bus;
  }
  switch (errc_of(text.status())) {
    case Errc::kNotFound:
      return make_error(Errc::kNoBus, absl::StrCat("no bus at ", directory, ": there is no ", path,
                                                   "; check the path, or start a publisher there"));
    case Errc::kNotPermitted:
      return make_error(
          Errc::kNotPermitted,
          absl::StrCat(text.status().message(), "; ask its owner for the publisher's group"));
    default:
      return text.status();
  }
}

absl::Status write_bus_description(const std::string& directory, const BusDescription& description,
                                   std::optional<unsigned> group) {
  PosixDisk disk(group);
  return write_bus_description(disk, directory, description);
}

absl::Status check_bus_description(const std::string& directory,
                                   const BusDescription& description) {
  if (const auto text = text_of(directory, description); !text.ok()) return text.status();
  for (const char* const name : {kBusFileName, kMetadataFileName}) {
    const std::string path = absl::StrCat(directory, "/", name);
    struct stat there{};
    if (::lstat(path.c_str(), &there) != 0 || !S_ISDIR(there.st_mode)) continue;
    return make_error(Errc::kNotALapwingFile,
                      absl::StrCat(path, " is a directory, not a file of a bus; move it away"));
  }
  return absl::OkStatus();
}

absl::Status write_bus_description(Disk& disk, const std::string& directory,
                                   const BusDescription& description) {
  const absl::StatusOr<std::string> text = text_of(directory, description);
  return text.ok() ? replace_file(disk, directory, kBusFileName, *text) : text.status();
}

absl::Status write_feed_metadata(const std::string& directory, const std::string& metadata,
                                 std::optional<unsigned> group) {
  if (metadata.size() > kMetadataBytesMax) {
    return make_error(Errc::kLimit, absl::StrCat("the feed's metadata has ", metadata.size(),
                                                 " bytes, more than ", kMetadataBytesMax));
  }
  return replace_file(directory, kMetadataFileName, metadata, group);
}

absl::StatusOr<std::string> read_feed_metadata(const std::string& directory) {
  auto content =
      read_small_file(absl::StrCat(directory, "/", kMetadataFileName), kMetadataBytesMax);
  if (errc_of(content.status()) == Errc::kNotFound) return std::string();
  return content;
}

}  // namespace lapwing
