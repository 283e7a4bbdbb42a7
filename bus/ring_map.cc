#include "bus/ring_map.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#include <bit>
#include <cerrno>
#include <cstddef>
#include <utility>

#include "bus/mapping.h"
#include "bus/unique_fd.h"
#include "proto/error.h"

namespace lapwing {
namespace {

struct OpenRing {
  UniqueFd fd;
  std::uint64_t bytes;
};

absl::StatusOr<OpenRing> open_ring(const std::string& path) {
  // O_NONBLOCK, or a FIFO in the ring's place would hold the reader until somebody writes to it.
  UniqueFd fd(open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK));
  struct stat found{};
  if (!fd.valid() || fstat(fd.get(), &found) != 0) {
    if (errno == ELOOP) {
      return make_error(Errc::kNotALapwingFile, absl::StrCat(path, " is a link, not a ring file"));
    }
    return make_system_error(errno, absl::StrCat("opening the ring file ", path));
  }
  if (!S_ISREG(found.st_mode)) {
    return make_error(Errc::kNotALapwingFile, absl::StrCat(path, " is not a regular file"));
  }
  return OpenRing{std::move(fd), static_cast<std::uint64_t>(found.st_size)};
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

std::uint64_t checksum_of(const RingHeader& header) {
  return XXH3_64bits(&header, offsetof(RingHeader, checksum));
}

absl::Status check_ring_header(const RingHeader& header, std::uint64_t file_bytes,
                               const std::string& path) {
  if (header.magic != kRingMagic) {
    return make_error(Errc::kNotALapwingFile,
                      absl::StrCat(path, " does not begin like a ring file"));
  }
  if (header.abi_version != kAbiVersion) {
    return make_error(Errc::kAbiMismatch,
                      absl::StrCat("ring file ", path, " has ABI version ", header.abi_version,
                                   " and this program speaks ", kAbiVersion,
                                   "; use the same release on both sides"));
  }
  if (header.checksum != checksum_of(header)) {
    return damaged(path, "the checksum of the header, at offset 4088, does not match");
  }
  if (header.feature_bits != 0) {
    return make_error(Errc::kAbiMismatch,
                      absl::StrCat("ring file ", path, " needs features ", header.feature_bits,
                                   " that this program does not know; use a newer release"));
  }
  if (!is_sound_geometry(header) || header.has_journal > 1) {
    return damaged(path, "the header's sizes contradict each other");
  }
  if (!are_sound_sequences(header)) return damaged(path, "the header's sequences are impossible");
  const std::uint64_t expected = ring_file_bytes(header.capacity, header.slot_bytes);
  if (file_bytes == expected) return absl::OkStatus();
  return damaged(path, absl::StrCat("it has ", file_bytes, " bytes, its header says ", expected));
}

absl::StatusOr<RingMap> RingMap::attach(const std::string& path) {
  const absl::StatusOr<OpenRing> file = open_ring(path);
  if (!file.ok()) return file.status();
  const absl::StatusOr<RingHeader> header = read_header(file->fd.get(), path);
  if (!header.ok()) return header.status();
  if (absl::Status status = check_ring_header(*header, file->bytes, path); !status.ok())
    return status;
  auto region = map_file(file->fd.get(), MapAccess::kReadOnly, file->bytes, path);
  if (!region.ok()) return region.status();
  // Page faults now rather than on the read path. EFAULT: a page is not there any more, for the
  // file has shrunk. A kernel before 5.14 does not know the advice, and faults later.
  if (madvise(region->get_address(), region->get_size(), MADV_POPULATE_READ) != 0 &&
      errno == EFAULT) {
    return damaged(path, "it shrank while it was being mapped");
  }
  return RingMap(path, *header, *std::move(region));
}

RingMap::RingMap(std::string path, const RingHeader& header,
                 boost::interprocess::mapped_region region)
    : path_(std::move(path)), header_(header), region_(std::move(region)) {}

const RingWords& RingMap::words() const {
  return *reinterpret_cast<const RingWords*>(static_cast<std::byte*>(region_.get_address()) +
                                             kPageBytes);
}

const std::byte* RingMap::slots() const {
  return static_cast<std::byte*>(region_.get_address()) + kRingHeaderBytes;
}

}  // namespace lapwing
