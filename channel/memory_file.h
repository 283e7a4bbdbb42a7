// The sealed memory file of each side of a channel: this side writes its own, and only reads the
// peer's.
//
// A file is completely allocated, populated and sealed before its descriptor is sent. So the other
// side can neither map it writable nor shrink it under a reader, and neither side gets a SIGBUS. A
// peer's file is checked before it is mapped, and its header is copied once.
//
// Thread safety: const members, any thread. Owns the mapping and the descriptor.
#pragma once

#include <boost/interprocess/mapped_region.hpp>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "lapwing/detail/channel_layout.h"
#include "os/unique_fd.h"

namespace lapwing {

// The name under which /proc/PID/fd shows the files. `lapwing info` uses it to find them.
inline constexpr char kChannelFileName[] = "lapwing-channel";

// A file is populated in steps of this size, because gigabytes take seconds.
inline constexpr std::uint64_t kPopulateStepBytes = std::uint64_t{16} << 20;

class OwnMemory {
 public:
  // Called before each step. A result other than ok aborts the creation.
  using BeforeStep = absl::FunctionRef<absl::Status()>;

  // `header` describes the file; magic, version and sizes are filled in. Its capacity is 0 for a
  // side that only receives. Errors: kInvalidArgument (with a sufficient capacity), kNoSpace,
  // kUnsupported (huge pages, node, seals), and those of `before_step`.
  static absl::StatusOr<OwnMemory> create(ChannelHeader header, bool huge_pages,
                                          std::optional<int> numa_node, BeforeStep before_step);
  static absl::StatusOr<OwnMemory> create(ChannelHeader header, bool huge_pages,
                                          std::optional<int> numa_node);

  const ChannelHeader& header() const { return header_; }
  int fd() const { return fd_.get(); }
  ChannelWords& words() const;
  std::byte* data() const;

 private:
  OwnMemory() = default;

  ChannelHeader header_{};
  UniqueFd fd_;
  boost::interprocess::mapped_region region_;
};

class PeerMemory {
 public:
  // `peer` names the other side in messages. Errors: kProtocol (not sealed, not allocated, too
  // small, an invalid header), kAbiMismatch, kSystem.
  static absl::StatusOr<PeerMemory> map(UniqueFd fd, const std::string& peer);

  const ChannelHeader& header() const { return header_; }  // a copy, checked
  const ChannelWords& words() const;
  const std::byte* data() const;

 private:
  PeerMemory() = default;

  ChannelHeader header_{};
  boost::interprocess::mapped_region region_;
};

// Reads and checks the header of the memory file `fd` like that of a peer, without mapping it.
absl::StatusOr<ChannelHeader> read_channel_header(int fd, const std::string& peer);

// Ok if a message of any size up to `message_bytes_max` always becomes sendable with `capacity`
// bytes. Otherwise kInvalidArgument, with a sufficient capacity.
absl::Status check_channel_geometry(std::uint64_t capacity, std::uint64_t message_bytes_max,
                                    std::uint32_t payload_offset);

}  // namespace lapwing
