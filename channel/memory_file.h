// The sealed memory file of each side of a channel: the own one, which is written, and the peer's,
// which is only read.
//
// A file is allocated and populated in full and sealed before its descriptor can reach anyone, so
// that the other side can neither map it writable nor shrink it under a reader, and no side meets a
// SIGBUS. What comes from the peer is checked before it is mapped, and its header is copied once.
//
// Thread safety: const members, any thread. Owns mapping and descriptor.
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

// The names under which /proc/PID/fd shows the files: by these `lapwing info` finds them.
inline constexpr char kChannelFileName[] = "lapwing-channel";

// A file is populated in steps of so many bytes, since gigabytes take seconds.
inline constexpr std::uint64_t kPopulateStepBytes = std::uint64_t{16} << 20;

class OwnMemory {
 public:
  // Asked before each step; what it answers but ok ends the making.
  using BeforeStep = absl::FunctionRef<absl::Status()>;

  // `header` says what the file is to be; magic, version and sizes are filled in. Its capacity is 0
  // for a side that only receives. Errors: kInvalidArgument (names the capacity that would do),
  // kNoSpace, kUnsupported (huge pages, node, seals), and those of `before_step`.
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
  // small, a header that cannot be right), kAbiMismatch, kSystem.
  static absl::StatusOr<PeerMemory> map(UniqueFd fd, const std::string& peer);

  const ChannelHeader& header() const { return header_; }  // a copy, checked
  const ChannelWords& words() const;
  const std::byte* data() const;

 private:
  PeerMemory() = default;

  ChannelHeader header_{};
  boost::interprocess::mapped_region region_;
};

// The header of the memory file behind `fd`, checked as that of a peer is, without mapping it.
absl::StatusOr<ChannelHeader> read_channel_header(int fd, const std::string& peer);

// kInvalidArgument, naming the capacity that would do, unless every message of up to
// `message_bytes_max` bytes always becomes sendable in `capacity` bytes.
absl::Status check_channel_geometry(std::uint64_t capacity, std::uint64_t message_bytes_max,
                                    std::uint32_t payload_offset);

}  // namespace lapwing
