#include "bus/open_ring.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <bit>
#include <cerrno>
#include <cstddef>
#include <filesystem>
#include <utility>

#include "absl/strings/str_cat.h"
#include "bus/ring_directory.h"
#include "lapwing/error.h"
#include "os/file_lock.h"
#include "os/system_error.h"
#include "proto/header_checksum.h"

namespace lapwing {
namespace {

// Opens with O_PATH first, because opening a device or a FIFO has side effects.
absl::StatusOr<UniqueFd> open_regular(const std::string& path) {
  const UniqueFd found =
      UniqueFd::opened_by([&] { return ::open(path.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC); });
  struct stat info{};
  if (!found.valid() || fstat(found.get(), &info) != 0) {
    return make_system_error(errno, absl::StrCat("opening the ring file ", path));
  }
  if (S_ISLNK(info.st_mode)) {
    return make_error(Errc::kNotALapwingFile, absl::StrCat(path, " is a link, not a ring file"));
  }
  if (!S_ISREG(info.st_mode)) {
    return make_error(Errc::kNotALapwingFile, absl::StrCat(path, " is not a regular file"));
  }
  UniqueFd fd = UniqueFd::opened_by(
      [&] { return ::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK); });
  struct stat opened{};
  if (!fd.valid() || fstat(fd.get(), &opened) != 0) {
    return make_system_error(errno, absl::StrCat("opening the ring file ", path));
  }
  if (opened.st_dev == info.st_dev && opened.st_ino == info.st_ino) return fd;
  return make_error(Errc::kNotFound, absl::StrCat("the ring file ", path,
                                                  " was replaced while it was being opened; "
                                                  "try again"));
}

absl::StatusOr<RingHeader> read_header(int fd, const std::string& path) {
  RingHeader header{};
  ssize_t got = 0;
  do {
    got = pread(fd, &header, sizeof header, 0);
  } while (got < 0 && errno == EINTR);
  if (got == static_cast<ssize_t>(sizeof header)) return header;
  if (got < 0) return make_system_error(errno, absl::StrCat("reading the header of ", path));
  return make_error(
      Errc::kNotALapwingFile,
      absl::StrCat(path, " has ", got, " bytes; a ring file has more than ", kRingHeaderBytes));
}

absl::Status damaged(const std::string& path, const std::string& what) {
  return make_error(Errc::kDamaged,
                    absl::StrCat("ring file ", path, ": ", what,
                                 "; restart the publisher, which makes a new ring"));
}

bool is_sound_geometry(const RingHeader& header) {
  return header.header_bytes == kRingHeaderBytes && header.record_bytes >= kRecordBytesMin &&
         header.record_bytes <= kRecordBytesMax &&
         header.slot_bytes == slot_bytes_for(header.record_bytes) &&
         std::has_single_bit(header.capacity) && header.capacity <= kCapacityMax &&
         header.capacity >= capacity_min(header.slot_bytes);
}

bool are_sound_sequences(const RingHeader& header) {
  return header.ring_first_sequence >= 1 &&
         header.ring_first_sequence <= header.session_first_sequence &&
         header.session_first_sequence <= kSequenceMax &&
         header.session_first_sequence - header.ring_first_sequence <= header.capacity;
}

}  // namespace

absl::Status check_ring_header(const RingHeader& header, std::uint64_t file_bytes,
                               const std::string& path) {
  if (header.magic != kRingMagic) {
    return make_error(Errc::kNotALapwingFile,
                      absl::StrCat(path, " does not begin like a ring file"));
  }
  if (header.abi_version != kAbiVersion) {
    return make_error(Errc::kAbiMismatch,
                      absl::StrCat("ring file ", path, " has ABI version ", header.abi_version,
                                   " but this program supports ", kAbiVersion,
                                   "; use the same release on both sides"));
  }
  if (header.checksum != checksum_of(header)) {
    return damaged(path, "the checksum of the header, at offset 4088, does not match");
  }
  if (header.feature_bits != 0) {
    return make_error(Errc::kAbiMismatch,
                      absl::StrCat("ring file ", path, " needs features ", header.feature_bits,
                                   " that this program does not support; use a newer release"));
  }
  if (!is_sound_geometry(header) || header.has_journal > 1) {
    return damaged(path, "the header's sizes contradict each other");
  }
  if (!are_sound_sequences(header)) return damaged(path, "the header's sequences are impossible");
  const std::uint64_t expected = ring_file_bytes(header.capacity, header.slot_bytes);
  if (file_bytes == expected) return absl::OkStatus();
  return damaged(path,
                 absl::StrCat("it has ", file_bytes, " bytes, but its header has ", expected));
}

absl::StatusOr<DirectoryIdentity> directory_identity(const std::string& directory) {
  struct stat info{};
  if (stat(directory.c_str(), &info) != 0) {
    return make_system_error(errno, absl::StrCat("checking the directory ", directory));
  }
  return DirectoryIdentity{info.st_dev, info.st_ino, info.st_uid};
}

std::optional<uid_t> foreign_user(const std::string& path, uid_t owner) {
  struct stat info{};
  std::filesystem::path nearest(path);
  while (lstat(nearest.c_str(), &info) != 0) {
    if (!nearest.has_relative_path()) return std::nullopt;
    nearest = nearest.parent_path();
  }
  if (info.st_uid == owner || info.st_uid == 0) return std::nullopt;
  return info.st_uid;
}

std::string ring_file_name(const Id128& session_id) {
  return absl::StrCat(session_id.hex(), kRingFileExtension);
}

bool is_ring_path(const std::string& path, const Id128& session_id) {
  const std::filesystem::path given(path);
  return given.is_absolute() && given.lexically_normal().string() == path &&
         given.filename() == ring_file_name(session_id);
}

absl::StatusOr<bool> OpenRing::is_held() const {
  return is_whole_file_locked(fd_.get(), path());
}

absl::StatusOr<OpenRing> OpenRing::open(const std::string& path) {
  absl::StatusOr<UniqueFd> fd = open_regular(path);
  if (!fd.ok()) return fd.status();
  absl::StatusOr<NamedFile> file = NamedFile::of(fd->get(), path);
  if (!file.ok()) return file.status();
  struct stat info{};
  if (fstat(fd->get(), &info) != 0) {
    return make_system_error(errno, absl::StrCat("checking the ring file ", path));
  }
  const absl::StatusOr<RingHeader> header = read_header(fd->get(), path);
  if (!header.ok()) return header.status();
  const auto bytes = static_cast<std::uint64_t>(info.st_size);
  if (absl::Status sound = check_ring_header(*header, bytes, path); !sound.ok()) return sound;
  return OpenRing(*std::move(fd), *std::move(file), info, *header);
}

OpenRing::OpenRing(UniqueFd fd, NamedFile file, const struct stat& info, const RingHeader& header)
    : fd_(std::move(fd)),
      file_(std::move(file)),
      bytes_(static_cast<std::uint64_t>(info.st_size)),
      user_(info.st_uid),
      header_(header) {}

}  // namespace lapwing
