#include "snapshot/bus_directory.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <bit>
#include <cerrno>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "proto/error.h"
#include "proto/ring_layout.h"
#include "snapshot/small_file.h"

namespace lapwing {
namespace {

using nlohmann::json;

constexpr unsigned kDirectoryMode = 0700;
constexpr unsigned kGroupDirectoryMode = 0750;

// Owns a directory's descriptor for the length of a check.
struct DirectoryFd {
  explicit DirectoryFd(int number) : fd(number) {}
  DirectoryFd(const DirectoryFd&) = delete;
  DirectoryFd& operator=(const DirectoryFd&) = delete;
  ~DirectoryFd() {
    if (fd >= 0) ::close(fd);
  }
  const int fd;
};

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

absl::Status give_to_group(const std::string& directory, const struct stat& info, int fd,
                           unsigned group) {
  if (info.st_gid != group && ::fchown(fd, static_cast<uid_t>(-1), group) != 0) {
    return make_system_error(errno, absl::StrCat("cannot give ", directory, " to group ", group,
                                                 " (its owner must be a member)"));
  }
  if ((info.st_mode & 07777) != kGroupDirectoryMode && ::fchmod(fd, kGroupDirectoryMode) != 0) {
    return make_system_error(errno, absl::StrCat("cannot set the mode of ", directory));
  }
  return absl::OkStatus();
}

bool take(const json& object, const char* key, std::string& out) {
  const auto found = object.find(key);
  if (found == object.end() || !found->is_string()) return false;
  out = found->get<std::string>();
  return true;
}

bool take(const json& object, const char* key, Id128& out) {
  std::string hex;
  if (!take(object, key, hex)) return false;
  const auto id = Id128::from_hex(hex);
  if (id) out = *id;
  return id.has_value();
}

bool take(const json& object, const char* key, bool& out) {
  const auto found = object.find(key);
  if (found == object.end() || !found->is_boolean()) return false;
  out = found->get<bool>();
  return true;
}

bool take(const json& object, const char* key, std::uint64_t& out) {
  const auto found = object.find(key);
  if (found == object.end() || !found->is_number_unsigned()) return false;
  out = found->get<std::uint64_t>();
  return true;
}

bool take(const json& object, const char* key, std::uint32_t& out) {
  std::uint64_t wide = 0;
  if (!take(object, key, wide) || wide > UINT32_MAX) return false;
  out = static_cast<std::uint32_t>(wide);
  return true;
}

bool sizes_agree(const BusDescription& bus) {
  return bus.record_bytes >= kRecordBytesMin && bus.record_bytes <= kRecordBytesMax &&
         bus.slot_bytes == slot_bytes_for(bus.record_bytes) && std::has_single_bit(bus.capacity) &&
         bus.capacity >= kCapacityMin && bus.capacity <= kCapacityMax;
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
                      absl::StrCat(path, ": the publisher speaks ABI ", abi, ", this program ",
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
  if (!complete) return damaged("a field is missing or of another type");
  if (!sizes_agree(bus)) return damaged("record, slot and ring sizes contradict each other");
  return bus;
}

}  // namespace

absl::Status prepare_bus_directory(const std::string& directory, std::optional<unsigned> group) {
  const bool made = ::mkdir(directory.c_str(), kDirectoryMode) == 0;
  if (!made && errno == ENOENT) {
    return make_system_error(ENOENT, absl::StrCat("cannot make the directory ", directory,
                                                  ": make the one that is to hold it first"));
  }
  if (!made && errno != EEXIST) {
    return make_system_error(errno, absl::StrCat("cannot make the directory ", directory));
  }
  const DirectoryFd opened(
      ::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (opened.fd < 0 && (errno == ENOTDIR || errno == ELOOP)) {
    return make_error(Errc::kNotALapwingFile,
                      absl::StrCat(directory, " is not a directory (links are not followed)"));
  }
  struct stat info{};
  if (opened.fd < 0 || ::fstat(opened.fd, &info) != 0) {
    return make_system_error(errno, absl::StrCat("cannot open the directory ", directory));
  }
  const absl::Status owned = check_ownership(directory, info);
  if (!owned.ok() || !group) return owned;
  return give_to_group(directory, info, opened.fd, *group);
}

absl::StatusOr<BusDescription> read_bus_description(const std::string& directory) {
  const std::string path = absl::StrCat(directory, "/", kBusFileName);
  const auto text = read_small_file(path, kBusFileBytesMax);
  if (text.ok()) return parse_description(path, *text);
  if (errc_of(text.status()) != Errc::kNotFound) return text.status();
  return make_error(Errc::kNoBus, absl::StrCat("no bus at ", directory, ": there is no ", path));
}

absl::Status write_bus_description(const std::string& directory, const BusDescription& description,
                                   std::optional<unsigned> group) {
  const json object = {
      {"abi", kAbiVersion},
      {"name", description.name},
      {"schema", description.schema},
      {"ring_path", description.ring_path},
      {"journal_root", description.journal_root},
      {"journal_writer", description.journal_writer},
      {"journal_id", description.journal_id.hex()},
      {"session_id", description.session_id.hex()},
      {"record_bytes", description.record_bytes},
      {"slot_bytes", description.slot_bytes},
      {"capacity", description.capacity},
      {"closed", description.closed},
  };
  std::string text;
  try {
    text = object.dump(2);
  } catch (const json::exception&) {
    return make_error(Errc::kInvalidArgument,
                      absl::StrCat("a name or path of the bus at ", directory, " is not UTF-8"));
  }
  return replace_file(directory, kBusFileName, text + "\n", group);
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
