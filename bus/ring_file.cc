#include "bus/ring_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <utility>

#include "lapwing/error.h"
#include "os/huge_pages.h"
#include "os/kernel.h"
#include "os/mapping.h"
#include "os/process_state.h"
#include "os/sharing.h"
#include "os/system_error.h"
#include "os/unique_fd.h"
#include "proto/header_checksum.h"
#include "proto/ring_counters.h"
#include "proto/ring_words.h"
#include "proto/slot_stamp.h"
#include "proto/text_field.h"

namespace lapwing {
namespace {

absl::Status check_spec(const RingSpec& spec) {
  if (spec.record_bytes < kRecordBytesMin || spec.record_bytes > kRecordBytesMax) {
    return make_error(
        Errc::kInvalidArgument,
        absl::StrCat("records of ", spec.record_bytes, " bytes are not supported; use a size from ",
                     kRecordBytesMin, " to ", kRecordBytesMax));
  }
  if (spec.ring_first < 1 || spec.ring_first > spec.session_first ||
      spec.session_first > kSequenceMax) {
    return make_error(Errc::kInvalidArgument,
                      absl::StrCat("a ring from sequence ", spec.ring_first,
                                   " for a session from sequence ", spec.session_first));
  }
  if (spec.schema.name.size() >= sizeof(RingHeader::schema)) {
    return make_error(Errc::kInvalidArgument,
                      absl::StrCat("schema name ", spec.schema.name, " is longer than ",
                                   sizeof(RingHeader::schema) - 1, " bytes"));
  }
  if (spec.session_id.is_zero()) {
    return make_error(Errc::kInvalidArgument, "the ring has no session id");
  }
  if (spec.capacity == 0) return absl::OkStatus();
  return check_capacity(spec.capacity, slot_bytes_for(spec.record_bytes));
}

RingHeader make_header(const RingSpec& spec, std::uint64_t capacity) {
  RingHeader header{};
  header.magic = kRingMagic;
  header.abi_version = kAbiVersion;
  header.header_bytes = kRingHeaderBytes;
  header.slot_bytes = slot_bytes_for(spec.record_bytes);
  header.record_bytes = spec.record_bytes;
  header.capacity = capacity;
  header.journal_id = spec.journal_id;
  header.session_id = spec.session_id;
  header.boot_id = spec.boot_id;
  header.session_first_sequence = spec.session_first;
  header.ring_first_sequence =
      std::max(spec.ring_first, ring_oldest(1, spec.session_first - 1, capacity));
  header.created_wall_ns = wall_ns();
  header.publisher_pid = static_cast<std::uint32_t>(getpid());
  const ProcessNamespaces namespaces = own_namespaces();
  header.publisher_pid_namespace = namespaces.pid;
  header.publisher_time_namespace = namespaces.time;
  header.has_journal = spec.has_journal ? 1 : 0;
  header.directory_device = spec.owner.device;
  header.directory_inode = spec.owner.inode;
  set_schema(header, spec.schema);
  set_text(header.bus_name, spec.bus_name);
  header.checksum = checksum_of(header);
  return header;
}

void start_words(RingWords& words, const RingHeader& header) {
  const Sequence before = header.session_first_sequence - 1;
  store_head(words, before);
  store_archived(words, before);
  store_durable(words, before);
  store_oldest(words, header.session_first_sequence);
  store_journal_condition(words,
                          {header.has_journal != 0 ? JournalState::kGood : JournalState::kNone, 0});
  store_heartbeat(words, monotonic_ns());
  store_count(words.counters_kept, 1);
  store_ring_state(words, RingState::kRunning);
}

// Opens a file without a name. It disappears if the publisher is killed before the file gets one.
absl::StatusOr<UniqueFd> open_unnamed(int directory_fd, const std::string& directory) {
  UniqueFd fd = UniqueFd::opened_by(
      [&] { return openat(directory_fd, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600); });
  if (fd.valid()) return fd;
  if (errno == EOPNOTSUPP || errno == EISDIR || errno == EINVAL) {
    return make_error(Errc::kUnsupported,
                      absl::StrCat("the file system of ", directory,
                                   " cannot make a file without a name (O_TMPFILE); use a tmpfs "
                                   "with --ring-dir"));
  }
  return make_system_error(errno, absl::StrCat("making a ring file in ", directory));
}

absl::Status no_space(int fd, std::uint64_t bytes, const std::string& directory) {
  struct statvfs space{};
  std::uint64_t free_bytes = fstatvfs(fd, &space) == 0 ? space.f_bavail * space.f_frsize : 0;
  struct stat self{};
  if (fstat(fd, &self) == 0) free_bytes += static_cast<std::uint64_t>(self.st_blocks) * 512;
  return make_error(
      Errc::kNoSpace,
      absl::StrCat("the ring needs ", bytes, " bytes and ", directory, " has ", free_bytes,
                   " free; use a smaller --capacity, or --ring-dir on a larger tmpfs"));
}

absl::Status allocate(int fd, std::uint64_t bytes, const std::string& directory) {
  int failure = 0;
  do {
    failure = posix_fallocate(fd, 0, static_cast<off_t>(bytes));
  } while (failure == EINTR);
  if (failure == 0) return absl::OkStatus();
  if (failure == ENOSPC) return no_space(fd, bytes, directory);
  return make_system_error(failure,
                           absl::StrCat("allocating ", bytes, " bytes for a ring in ", directory));
}

// Huge pages are made first, because a range whose pages exist is copied into one. Then the rest is
// allocated, which fails if the tmpfs is full.
absl::StatusOr<boost::interprocess::mapped_region> map_pages(int fd, std::uint64_t bytes,
                                                             const std::string& directory,
                                                             bool huge_pages) {
  if (ftruncate(fd, static_cast<off_t>(bytes)) != 0) {
    return make_system_error(errno, absl::StrCat("sizing a ring in ", directory));
  }
  auto region = map_file(fd, MapAccess::kReadWrite, bytes, directory);
  if (!region.ok()) return region;
  const HugePageUse use{.what = absl::StrCat("the ring in ", directory),
                        .enlarge = "use a larger --capacity",
                        .allow_it = kAllowHugePagesOnTmpfs};
  if (huge_pages) {
    if (absl::Status status = request_huge_pages(*region, use); !status.ok()) return status;
    make_pages_huge(*region);
  }
  if (absl::Status status = allocate(fd, bytes, directory); !status.ok()) return status;
  if (!huge_pages) return region;
  auto* const begin = static_cast<std::byte*>(region->get_address());
  if (const int failure = populate_for_writing(begin, bytes); failure != 0) {
    return make_system_error(failure, absl::StrCat("populating a ring in ", directory));
  }
  if (absl::Status status = require_huge_pages(*region, use); !status.ok()) return status;
  return region;
}

// Uses a link, because unlike a rename it never replaces a file.
absl::Status give_name(int fd, int directory_fd, const std::string& name, const std::string& path) {
  const std::string unnamed = absl::StrCat("/proc/self/fd/", fd);
  if (linkat(AT_FDCWD, unnamed.c_str(), directory_fd, name.c_str(), AT_SYMLINK_FOLLOW) == 0) {
    return absl::OkStatus();
  }
  return make_system_error(errno, absl::StrCat("naming the ring file ", path));
}

}  // namespace

absl::Status check_capacity(std::uint64_t capacity, std::uint32_t slot_bytes) {
  const std::uint64_t lowest = capacity_min(slot_bytes);
  if (std::has_single_bit(capacity) && capacity >= lowest && capacity <= kCapacityMax) {
    return absl::OkStatus();
  }
  const std::uint64_t nearest = std::clamp(capacity, lowest, kCapacityMax) == capacity
                                    ? std::bit_ceil(capacity)
                                : capacity < lowest ? lowest
                                                    : kCapacityMax;
  return make_error(Errc::kInvalidArgument,
                    absl::StrCat("a capacity of ", capacity, " slots of ", slot_bytes,
                                 " bytes is not a power of two from ", lowest, " to ", kCapacityMax,
                                 "; use --capacity ", nearest));
}

absl::StatusOr<RingFile> RingFile::create(const RingSpec& spec) {
  if (absl::Status status = check_spec(spec); !status.ok()) return status;
  const absl::StatusOr<UniqueFd> directory = open_ring_directory(spec.directory);
  if (!directory.ok()) return directory.status();
  const std::uint32_t slot_bytes = slot_bytes_for(spec.record_bytes);
  const absl::StatusOr<std::uint64_t> capacity =
      spec.capacity != 0 ? spec.capacity : default_capacity(directory->get(), slot_bytes);
  if (!capacity.ok()) return capacity.status();
  absl::StatusOr<UniqueFd> fd = open_unnamed(directory->get(), spec.directory);
  if (!fd.ok()) return fd.status();
  const std::string name = ring_file_name(spec.session_id);
  absl::StatusOr<NamedFile> file =
      NamedFile::of(fd->get(), absl::StrCat(spec.directory, "/", name));
  if (!file.ok()) return file.status();
  const std::string path = file->path();
  if (const int failure = lock_whole_file(fd->get()); failure != 0) {
    return make_system_error(failure, absl::StrCat("locking the ring file ", path));
  }

  const std::uint64_t bytes = ring_file_bytes(*capacity, slot_bytes);
  auto region = map_pages(fd->get(), bytes, spec.directory, spec.huge_pages);
  if (!region.ok()) return region.status();
  RingFile ring(*std::move(fd), *std::move(file), make_header(spec, *capacity), *std::move(region));
  std::memcpy(ring.region_.get_address(), &ring.header_, sizeof ring.header_);
  start_words(ring.words(), ring.header_);

  const absl::Status shared = share(ring.fd_.get(), path, spec.group, spec.group ? 0440 : 0400);
  if (!shared.ok()) return shared;
  if (absl::Status status = give_name(ring.fd_.get(), directory->get(), name, path); !status.ok()) {
    return status;
  }
  return ring;
}

RingFile::RingFile(UniqueFd fd, NamedFile file, const RingHeader& header,
                   boost::interprocess::mapped_region region)
    : fd_(std::move(fd)), file_(std::move(file)), header_(header), region_(std::move(region)) {}

RingWords& RingFile::words() const {
  return *reinterpret_cast<RingWords*>(static_cast<std::byte*>(region_.get_address()) + kPageBytes);
}

std::byte* RingFile::slots() const {
  return static_cast<std::byte*>(region_.get_address()) + kRingHeaderBytes;
}

}  // namespace lapwing
