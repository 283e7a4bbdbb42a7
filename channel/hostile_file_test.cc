// Memory files with arbitrary headers: each is refused, or its header is correct.

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <bit>
#include <catch2/catch.hpp>
#include <vector>

#include "channel/descriptors.h"
#include "channel/memory_file.h"
#include "lapwing/error.h"
#include "os/local_socket.h"
#include "proto/channel_frames.h"
#include "testing/channel_frames.h"
#include "testing/lingering_socket.h"
#include "testing/open_descriptors.h"

namespace lapwing {
namespace {

constexpr int kSeals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_FUTURE_WRITE | F_SEAL_SEAL;
constexpr std::size_t kWordsTried = offsetof(ChannelHeader, connection_id) / 4;

// A correct header for each role.
std::array<ChannelHeader, 3> right_headers() {
  std::array<ChannelHeader, 3> headers{};
  headers[0] = frame_header(4096, 1000, kPayloadOffsetPacked);
  headers[1].role = ChannelRole::kConsumer;
  headers[2] = frame_header(2048, 900, kPayloadOffsetCalls);
  headers[2].role = ChannelRole::kDuplex;
  headers[2].call_window = 64;
  for (ChannelHeader& header : headers) {
    header.magic = kChannelMagic;
    header.abi_version = kChannelAbiVersion;
    header.header_bytes = kChannelHeaderBytes;
  }
  return headers;
}

UniqueFd make_file(const ChannelHeader& header, std::uint64_t bytes) {
  std::vector<std::byte> content(bytes);
  std::memcpy(content.data(), &header, sizeof header);
  UniqueFd fd(memfd_create("hostile", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  REQUIRE(write(fd.get(), content.data(), bytes) == static_cast<ssize_t>(bytes));
  REQUIRE(fcntl(fd.get(), F_ADD_SEALS, kSeals) == 0);
  return fd;
}

// Whether the file was accepted. An accepted file can be read up to the size in its header, and a
// ring in it works.
bool is_taken(const ChannelHeader& header, std::uint64_t bytes) {
  const absl::StatusOr<PeerMemory> memory = PeerMemory::map(make_file(header, bytes), "a test");
  if (!memory.ok()) {
    const Errc code = errc_of(memory.status());
    INFO(memory.status());
    REQUIRE((code == Errc::kProtocol || code == Errc::kAbiMismatch));
    return false;
  }
  const ChannelHeader& taken = memory->header();
  REQUIRE(std::memcmp(&taken, &header, sizeof taken) == 0);
  REQUIRE(kChannelHeaderBytes + taken.capacity == bytes);
  ChannelWords own{};
  FrameReader reader(memory->data(), taken, own);
  Message message;
  REQUIRE((taken.capacity == 0 || reader.look(0, message) == FrameReader::Look::kEmpty));
  if (taken.capacity != 0) {
    REQUIRE(memory->data()[taken.capacity - 1] == std::byte{});
    REQUIRE(std::has_single_bit(taken.capacity));
    REQUIRE(2 * message_frame_bytes(taken.message_bytes_max, taken.payload_offset) <=
            taken.capacity);
  }
  return true;
}

TEST_CASE("A file with one changed number in its header is refused or still consistent") {
  std::uint64_t refused = 0;
  std::uint64_t taken = 0;
  for (const ChannelHeader& right : right_headers()) {
    const std::uint64_t bytes = kChannelHeaderBytes + right.capacity;
    REQUIRE(is_taken(right, bytes));
    for (std::size_t word = 0; word < kWordsTried; ++word) {
      std::uint32_t old;
      std::memcpy(&old, reinterpret_cast<const std::byte*>(&right) + 4 * word, sizeof old);
      for (const std::uint32_t value :
           {0U,          1U,      2U,      3U,      4U,      16U,         32U,         48U,
            64U,         1024U,   4096U,   8192U,   65536U,  0x7fffffffU, 0x80000000U, 0xffffffffU,
            0xffffff00U, old - 1, old + 1, 2 * old, old / 2, ~old}) {
        ChannelHeader spoilt = right;
        std::memcpy(reinterpret_cast<std::byte*>(&spoilt) + 4 * word, &value, sizeof value);
        INFO("32-bit word " << word << " of the header is " << value);
        ++(is_taken(spoilt, bytes) ? taken : refused);
      }
    }
  }
  CHECK(refused > 500);
  CHECK(taken > 50);  // a smaller largest message, and purely informational fields
}

TEST_CASE("A file whose size differs from its header is refused") {
  for (const ChannelHeader& right : right_headers()) {
    const std::uint64_t bytes = kChannelHeaderBytes + right.capacity;
    for (const std::uint64_t other :
         {std::uint64_t{4096}, std::uint64_t{kChannelHeaderBytes - 1}, bytes - 1, bytes + 1,
          bytes + 4096, bytes + right.capacity + 64}) {
      INFO("role " << static_cast<int>(right.role) << ", " << other << " bytes");
      CHECK_FALSE(is_taken(right, other));
    }
  }
}

TEST_CASE("Headers of random numbers are refused or consistent") {
  Random random(4);
  const std::array<ChannelHeader, 3> rights = right_headers();
  for (int i = 0; i < 3000; ++i) {
    ChannelHeader header = rights[random.below(rights.size())];
    const std::uint64_t bytes = kChannelHeaderBytes + header.capacity;
    for (std::uint64_t changes = 1 + random.below(4); changes > 0; --changes) {
      const std::uint64_t at = random.below(2 * kWordsTried) * 2;
      const auto value = static_cast<std::uint16_t>(random.next());
      std::memcpy(reinterpret_cast<std::byte*>(&header) + at, &value, sizeof value);
    }
    is_taken(header, bytes);
  }
}

TEST_CASE("Control data that does not fit is a violation, and received descriptors are closed") {
  int pair[2];
  REQUIRE(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair) == 0);
  const UniqueFd ours(pair[0]);
  const UniqueFd theirs(pair[1]);
  constexpr std::size_t kSent = 3 * kDescriptorsMax;
  alignas(cmsghdr) std::array<std::byte, CMSG_SPACE(kSent * sizeof(int))> control{};
  auto hello = make_frame<ChannelHelloFrame>(FrameType::kChannelHello);
  iovec part{&hello, sizeof hello};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control.data();
  message.msg_controllen = control.size();
  cmsghdr* const rights = CMSG_FIRSTHDR(&message);
  rights->cmsg_level = SOL_SOCKET;
  rights->cmsg_type = SCM_RIGHTS;
  rights->cmsg_len = CMSG_LEN(kSent * sizeof(int));
  for (std::size_t i = 0; i < kSent; ++i) {
    const int descriptor = theirs.get();
    std::memcpy(CMSG_DATA(rights) + i * sizeof descriptor, &descriptor, sizeof descriptor);
  }
  REQUIRE(sendmsg(theirs.get(), &message, MSG_NOSIGNAL) == sizeof hello);
  const std::size_t before = open_descriptors();
  Packet packet;
  std::vector<UniqueFd> descriptors;
  CHECK(receive_with_descriptors(ours.get(), packet, descriptors) == ReceiveOutcome::kViolation);
  CHECK(descriptors.empty());
  CHECK(end_closing_apart());
  CHECK(open_descriptors() == before);
}

}  // namespace
}  // namespace lapwing
