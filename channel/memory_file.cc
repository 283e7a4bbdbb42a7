#include "channel/memory_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <utility>

#include "absl/strings/str_cat.h"
#include "lapwing/detail/channel_words.h"
#include "lapwing/error.h"
#include "os/fork.h"
#include "os/huge_pages.h"
#include "os/kernel.h"
#include "os/mapping.h"
#include "os/numa_node.h"
#include "os/system_error.h"

namespace lapwing {
namespace {

constexpr int kSeals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_FUTURE_WRITE | F_SEAL_SEAL;

HugePageUse huge_page_use() {
  return {"a channel's memory", "use a larger capacity", kAllowHugePagesInMemfd};
}

std::uint64_t file_bytes(const ChannelHeader& header) {
  return kChannelHeaderBytes + header.capacity;
}

absl::StatusOr<UniqueFd> make_memory_file(std::uint64_t bytes) {
  UniqueFd fd = UniqueFd::opened_by(
      [] { return memfd_create(kChannelFileName, MFD_CLOEXEC | MFD_ALLOW_SEALING); });
  if (!fd.valid()) return make_system_error(errno, "making a memory file for a channel");
  if (ftruncate(fd.get(), static_cast<off_t>(bytes)) == 0) return fd;
  return make_system_error(errno, absl::StrCat("sizing a channel's memory file to ", bytes));
}

absl::Status no_memory(std::uint64_t bytes, const std::string& why) {
  return make_error(
      Errc::kNoSpace,
      absl::StrCat("there is no memory for the ", bytes, " bytes of a channel's file (", why,
                   "); use a smaller capacity, or make more memory available"));
}

// A memory file has no size limit of its own. Without this check, a capacity beyond the machine's
// memory would invoke the kernel's out-of-memory killer.
absl::Status check_available_memory(std::uint64_t bytes) {
  const ForkHold hold;
  std::ifstream meminfo("/proc/meminfo");
  for (std::string line; std::getline(meminfo, line);) {
    std::uint64_t kib = 0;
    if (std::sscanf(line.c_str(), "MemAvailable: %" SCNu64 " kB", &kib) != 1) continue;
    if (bytes <= kib * 1024) break;
    return no_memory(bytes, absl::StrCat(kib * 1024, " are available"));
  }
  return absl::OkStatus();
}

absl::Status populate_error(std::uint64_t bytes) {
  if (errno == EFAULT || errno == ENOMEM) {
    return no_memory(bytes, "the limit of this process or its container");
  }
  if (errno != EINVAL) return make_system_error(errno, "populating a channel's memory file");
  return make_error(Errc::kUnsupported,
                    "this kernel cannot populate a channel's memory (MADV_POPULATE_WRITE); it "
                    "needs Linux 5.14 or newer");
}

// Populates every page. Huge pages are allocated by page faults, so none are allocated before.
absl::Status populate(boost::interprocess::mapped_region& region,
                      OwnMemory::BeforeStep before_step) {
  auto* const begin = static_cast<std::byte*>(region.get_address());
  const std::uint64_t bytes = region.get_size();
  for (std::uint64_t done = 0; done < bytes; done += kPopulateStepBytes) {
    if (absl::Status status = before_step(); !status.ok()) return status;
    const std::uint64_t step = std::min(kPopulateStepBytes, bytes - done);
    if (madvise(begin + done, step, MADV_POPULATE_WRITE) != 0) return populate_error(bytes);
  }
  return absl::OkStatus();
}

absl::Status seal(int fd) {
  if (fchmod(fd, 0400) != 0) return make_system_error(errno, "making a memory file read-only");
  if (fcntl(fd, F_ADD_SEALS, kSeals) == 0) return absl::OkStatus();
  if (errno != EINVAL) return make_system_error(errno, "sealing a channel's memory file");
  return make_error(Errc::kUnsupported,
                    "this kernel cannot seal a channel's memory against writing; it needs Linux "
                    "5.1 or newer");
}

// Returns which field of a peer's header is invalid; null if all are valid.
const char* header_fault(const ChannelHeader& header) {
  const std::uint64_t capacity = header.capacity;
  if (header.header_bytes != kChannelHeaderBytes) return "the offset of its data";
  if (header.feature_bits != 0) return "a feature that this release does not know";
  if (header.role < ChannelRole::kProducer || header.role > ChannelRole::kDuplex) return "its role";
  const bool is_duplex = header.role == ChannelRole::kDuplex;
  if ((header.call_window != 0) != is_duplex || header.call_window > kCallWindowMax) {
    return "its window of calls";
  }
  if ((capacity != 0) != (header.role != ChannelRole::kConsumer)) return "its capacity";
  if (capacity == 0) return nullptr;
  const std::uint32_t offset = header.payload_offset;
  const std::uint32_t packed = is_duplex ? kPayloadOffsetCalls : kPayloadOffsetPacked;
  if (offset != packed && offset != kPayloadOffsetAligned) return "where its payloads begin";
  if (!check_channel_geometry(capacity, header.message_bytes_max, offset).ok()) {
    return "its capacity and largest message";
  }
  return nullptr;
}

absl::Status bad_file(const std::string& peer, const std::string& fault) {
  return make_error(Errc::kProtocol, absl::StrCat("the memory file of ", peer, " ", fault,
                                                  "; the channel was not opened"));
}

// Checks the file before it is mapped: it must be a memory file that its owner can no longer shrink
// or make writable for others.
absl::StatusOr<std::uint64_t> checked_size(int fd, const std::string& peer) {
  const int seals = fcntl(fd, F_GET_SEALS);
  if (seals < 0) return bad_file(peer, "is not a file in memory");
  if ((seals & kSeals) != kSeals) return bad_file(peer, "is not sealed");
  struct stat found{};
  if (fstat(fd, &found) != 0) return make_system_error(errno, "checking a peer's memory file");
  const std::uint64_t bytes = static_cast<std::uint64_t>(found.st_size);
  if (bytes < kChannelHeaderBytes || bytes > kChannelHeaderBytes + kChannelCapacityMax) {
    return bad_file(peer, absl::StrCat("has ", bytes, " bytes, which is not a valid size"));
  }
  if ((fcntl(fd, F_GETFL) & O_ACCMODE) == O_WRONLY) return bad_file(peer, "cannot be read");
  // A process that reads a hole fills it, and may be killed for that if memory is short. Counting
  // the blocks is not enough, because they may be beyond the end.
  if (lseek(fd, 0, SEEK_HOLE) < found.st_size) return bad_file(peer, "is not allocated in full");
  return bytes;
}

absl::Status check_header(const ChannelHeader& header, std::uint64_t bytes,
                          const std::string& peer) {
  if (header.magic != kChannelMagic) return bad_file(peer, "is not that of a channel");
  if (header.abi_version != kChannelAbiVersion) {
    return make_error(
        Errc::kAbiMismatch,
        absl::StrCat(peer, " uses channel ABI version ", header.abi_version, ", this process uses ",
                     kChannelAbiVersion, "; install the same release for both"));
  }
  if (const char* fault = header_fault(header)) {
    return bad_file(peer, absl::StrCat("has a header that cannot be right: ", fault));
  }
  if (bytes != file_bytes(header)) {
    return bad_file(peer,
                    absl::StrCat("has ", bytes, " bytes, but its header has ", file_bytes(header)));
  }
  return absl::OkStatus();
}

template <typename Byte>
Byte* at(const boost::interprocess::mapped_region& region, std::size_t offset) {
  return static_cast<Byte*>(region.get_address()) + offset;
}

}  // namespace

absl::Status check_channel_geometry(std::uint64_t capacity, std::uint64_t message_bytes_max,
                                    std::uint32_t payload_offset) {
  if (message_bytes_max > kMessageBytesMax) {
    return make_error(
        Errc::kInvalidArgument,
        absl::StrCat("a message of up to ", message_bytes_max,
                     " bytes is too long: a channel takes at most ", kMessageBytesMax));
  }
  const std::uint64_t needed = channel_capacity_for(message_bytes_max, payload_offset);
  if (!std::has_single_bit(capacity) || capacity < kChannelCapacityMin ||
      capacity > kChannelCapacityMax) {
    return make_error(
        Errc::kInvalidArgument,
        absl::StrCat("a channel's capacity of ", capacity,
                     " bytes is not valid. It must be a power of two from ", kChannelCapacityMin,
                     " to ", kChannelCapacityMax, ", and at least ", needed,
                     " for messages of up to ", message_bytes_max, " bytes"));
  }
  if (capacity >= needed) return absl::OkStatus();
  return make_error(
      Errc::kInvalidArgument,
      absl::StrCat("a channel of ", capacity, " bytes is too small for messages of up to ",
                   message_bytes_max, " bytes; use a capacity of ", needed));
}

absl::StatusOr<OwnMemory> OwnMemory::create(ChannelHeader header, bool huge_pages,
                                            std::optional<int> numa_node) {
  return create(header, huge_pages, numa_node, [] { return absl::OkStatus(); });
}

absl::StatusOr<OwnMemory> OwnMemory::create(ChannelHeader header, bool huge_pages,
                                            std::optional<int> numa_node, BeforeStep before_step) {
  header.magic = kChannelMagic;
  header.abi_version = kChannelAbiVersion;
  header.header_bytes = kChannelHeaderBytes;
  header.created_wall_ns = wall_ns();
  header.pid = static_cast<std::uint32_t>(getpid());
  if (header.capacity != 0) {
    const absl::Status fits =
        check_channel_geometry(header.capacity, header.message_bytes_max, header.payload_offset);
    if (!fits.ok()) return fits;
  }
  if (absl::Status enough = check_available_memory(file_bytes(header)); !enough.ok()) return enough;
  OwnMemory memory;
  memory.header_ = header;
  absl::StatusOr<UniqueFd> fd = make_memory_file(file_bytes(header));
  if (!fd.ok()) return fd.status();
  auto region = map_file(fd->get(), MapAccess::kReadWrite, file_bytes(header), kChannelFileName);
  if (!region.ok()) return region.status();
  memory.fd_ = std::move(*fd);
  memory.region_.swap(*region);
  if (numa_node) {
    if (auto bound = bind_to_numa_node(memory.region_, *numa_node); !bound.ok()) return bound;
  }
  if (huge_pages) {
    if (auto asked = request_huge_pages(memory.region_, huge_page_use()); !asked.ok()) return asked;
  }
  if (auto populated = populate(memory.region_, before_step); !populated.ok()) return populated;
  if (huge_pages) {
    if (auto got = require_huge_pages(memory.region_, huge_page_use()); !got.ok()) return got;
  }
  if (numa_node) {
    if (auto there = require_numa_node(memory.region_, *numa_node); !there.ok()) return there;
  }
  std::memcpy(memory.region_.get_address(), &header, sizeof header);
  store_channel_state(memory.words(), ChannelState::kOpen);
  if (absl::Status sealed = seal(memory.fd()); !sealed.ok()) return sealed;
  return memory;
}

ChannelWords& OwnMemory::words() const {
  return *reinterpret_cast<ChannelWords*>(at<std::byte>(region_, kPageBytes));
}
std::byte* OwnMemory::data() const {
  return at<std::byte>(region_, kChannelHeaderBytes);
}

absl::StatusOr<ChannelHeader> read_channel_header(int fd, const std::string& peer) {
  const absl::StatusOr<std::uint64_t> bytes = checked_size(fd, peer);
  if (!bytes.ok()) return bytes.status();
  ChannelHeader header;
  if (pread(fd, &header, sizeof header, 0) != static_cast<ssize_t>(sizeof header)) {
    return make_system_error(errno, "reading the header of a channel's memory file");
  }
  if (absl::Status fits = check_header(header, *bytes, peer); !fits.ok()) return fits;
  return header;
}

absl::StatusOr<PeerMemory> PeerMemory::map(UniqueFd fd, const std::string& peer) {
  const absl::StatusOr<ChannelHeader> header = read_channel_header(fd.get(), peer);
  if (!header.ok()) return header.status();
  auto region = map_file(fd.get(), MapAccess::kReadOnly, file_bytes(*header), kChannelFileName);
  if (!region.ok()) return region.status();
  PeerMemory memory;
  memory.header_ = *header;
  memory.region_.swap(*region);
  // Causes the page faults now instead of at the first messages. If it fails, they occur then.
  madvise(memory.region_.get_address(), memory.region_.get_size(), MADV_POPULATE_READ);
  return memory;
}

const ChannelWords& PeerMemory::words() const {
  return *reinterpret_cast<const ChannelWords*>(at<const std::byte>(region_, kPageBytes));
}
const std::byte* PeerMemory::data() const {
  return at<const std::byte>(region_, kChannelHeaderBytes);
}

}  // namespace lapwing
