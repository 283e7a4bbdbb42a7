#include "bus/control/socket.h"

#include <sys/stat.h>

#include "testing/control_fixture.h"

namespace lapwing {
namespace {

using Catch::Contains;

TEST_CASE(
    "A bus that is not there, that has ended or that is taken has a number and words of its own") {
  const TemporaryDirectory directory;
  const std::string path = socket_in(directory.path());
  const auto connect_status = [&path] { return connect_control(path, far_deadline()).status(); };
  CHECK(errc_of(connect_status()) == Errc::kNoBus);
  CHECK_THAT(std::string(connect_status().message()), Contains("no publisher runs at " + path));
  {
    const auto listener = listen_control(path, 0600, std::nullopt);
    REQUIRE(listener.ok());
    CHECK(connect_status().ok());
    const absl::Status taken = listen_control(path, 0600, std::nullopt).status();
    CHECK(errc_of(taken) == Errc::kInUse);
    CHECK_THAT(std::string(taken.message()),
               Contains("stop that publisher or choose another bus directory"));
  }
  CHECK(errc_of(connect_status()) == Errc::kPublisherGone);
  CHECK_THAT(std::string(connect_status().message()), Contains("the publisher has ended"));
}

TEST_CASE("A listener that is neither the directory's owner nor root gets no Hello") {
  if (geteuid() != 0) LAPWING_SKIP("other user ids need root");
  const TemporaryDirectory directory;
  const std::string path = socket_in(directory.path());
  REQUIRE(chmod(directory.path().c_str(), 0777) == 0);
  const uid_t owner = GENERATE(as<uid_t>{}, 54321, 54322);
  REQUIRE(chown(directory.path().c_str(), owner, owner) == 0);
  int made[2];
  int done[2];
  REQUIRE(pipe(made) == 0);
  REQUIRE(pipe(done) == 0);
  Errc connected = Errc::kOk;
  bool asked = false;
  const int result = run_in_child(
      [&] {
        close(done[1]);
        if (setgid(54321) != 0 || setuid(54321) != 0) return 1;
        const auto listener = listen_control(path, 0600, std::nullopt);
        if (!listener.ok() || write(made[1], "x", 1) != 1) return 2;
        char byte;
        return read(done[0], &byte, 1) == 0 ? 0 : 3;
      },
      [&] {
        char byte;
        if (asked || read(made[0], &byte, 1) != 1) return;
        asked = true;
        connected = errc_of(connect_control(path, far_deadline()).status());
        close(done[1]);
      });
  CHECK(result == 0);
  CHECK(asked);
  CHECK(connected == (owner == 54321 ? Errc::kOk : Errc::kNotPermitted));
  close(made[0]);
  close(made[1]);
  close(done[0]);
}

struct SocketPair {
  SocketPair() {
    int fds[2];
    REQUIRE(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds) == 0);
    left.reset(fds[0]);
    right.reset(fds[1]);
  }
  UniqueFd left;
  UniqueFd right;
};

TEST_CASE(
    "A frame may have any length from that of its first version to the longest, and no other") {
  for (std::uint16_t type = 0; type < 16; ++type) {
    const FrameType frame_type = static_cast<FrameType>(type);
    for (std::size_t size = 1; size <= kFrameBytesMax; ++size) {
      Packet packet{};
      packet.size = size;
      const FrameHeader header{kFrameMagic, kFrameVersion, frame_type,
                               static_cast<std::uint32_t>(size), 0};
      std::memcpy(packet.bytes, &header, sizeof header);
      const bool right = size >= std::max(first_frame_bytes(frame_type), sizeof header);
      if (check_frame(packet).ok() != right) FAIL("type " << type << ", size " << size);
    }
  }
}

TEST_CASE("A frame without the right magic, version and length is none") {
  Packet packet{};
  packet.size = sizeof(FlushFrame);
  FrameHeader header = make_frame<FlushFrame>(FrameType::kFlush).header;
  header.magic ^= 1;
  std::memcpy(packet.bytes, &header, sizeof header);
  CHECK(errc_of(check_frame(packet).status()) == Errc::kProtocol);
  header = make_frame<FlushFrame>(FrameType::kFlush).header;
  header.version = kFrameVersion + 1;
  std::memcpy(packet.bytes, &header, sizeof header);
  CHECK(errc_of(check_frame(packet).status()) == Errc::kProtocol);
  header = make_frame<FlushFrame>(FrameType::kFlush).header;
  header.length += 8;
  std::memcpy(packet.bytes, &header, sizeof header);
  CHECK(errc_of(check_frame(packet).status()) == Errc::kProtocol);
}

TEST_CASE("Another protocol's frames are checked by its own lengths") {
  constexpr FrameType kWake{100};
  struct WakeFrame {
    FrameHeader header;
  };
  const FrameLengths wake_length = [](FrameType type) {
    return type == kWake ? FrameLength{sizeof(WakeFrame), sizeof(WakeFrame)} : FrameLength{0, 0};
  };
  SocketPair pair;
  Packet packet;
  REQUIRE(send_frame(pair.left.get(), make_frame<WakeFrame>(kWake)) == SendOutcome::kSent);
  REQUIRE(receive_frame(pair.right.get(), packet, wake_length) == ReceiveOutcome::kFrame);
  CHECK(check_frame(packet, wake_length).value() == kWake);
  REQUIRE(send_frame(pair.left.get(), flush_frame(1, 2)) == SendOutcome::kSent);
  CHECK(receive_frame(pair.right.get(), packet, wake_length) == ReceiveOutcome::kViolation);
  const std::vector<std::byte> longer = resized(make_frame<WakeFrame>(kWake), 24);
  REQUIRE(send(pair.left.get(), longer.data(), longer.size(), 0) > 0);
  CHECK(receive_frame(pair.right.get(), packet, wake_length) == ReceiveOutcome::kViolation);
}

TEST_CASE("A packet that was longer than the place for it is no frame of any protocol") {
  constexpr std::size_t kTooLong = kFrameBytesMax + 8;
  FrameHeader header = make_frame<FlushFrame>(FrameType::kFlush).header;
  header.length = kTooLong;
  Packet packet{};
  packet.size = kTooLong;
  std::memcpy(packet.bytes, &header, sizeof header);
  CHECK(errc_of(check_frame(packet, [](FrameType) {
                  return FrameLength{kTooLong, kTooLong};
                }).status()) == Errc::kProtocol);
}

TEST_CASE("An empty packet is a violation, a closed peer is not") {
  SocketPair pair;
  Packet packet;
  CHECK(receive_frame(pair.right.get(), packet) == ReceiveOutcome::kWouldBlock);
  REQUIRE(send(pair.left.get(), "", 0, 0) == 0);
  CHECK(receive_frame(pair.right.get(), packet) == ReceiveOutcome::kViolation);
  REQUIRE(send_frame(pair.left.get(), flush_frame(1, 2)) == SendOutcome::kSent);
  pair.left.reset();
  CHECK(receive_frame(pair.right.get(), packet) == ReceiveOutcome::kFrame);
  CHECK(receive_frame(pair.right.get(), packet) == ReceiveOutcome::kClosed);
  CHECK(receive_frame(pair.right.get(), packet) == ReceiveOutcome::kClosed);
}

TEST_CASE("A packet larger than any frame is a violation, also if it starts like one") {
  SocketPair pair;
  const std::vector<std::byte> large =
      resized(make_frame<WelcomeFrame>(FrameType::kWelcome), kFrameBytesMax + 1);
  REQUIRE(send(pair.left.get(), large.data(), large.size(), 0) > 0);
  Packet packet;
  CHECK(receive_frame(pair.right.get(), packet) == ReceiveOutcome::kViolation);
}

TEST_CASE("What a peer sent before it reset the connection is still received") {
  SocketPair pair;
  REQUIRE(send_frame(pair.left.get(), flush_frame(1, 2)) == SendOutcome::kSent);
  REQUIRE(send_frame(pair.right.get(), flush_frame(3, 4)) == SendOutcome::kSent);
  pair.right.reset();  // the first frame is unread, so the left end sees a reset
  Packet packet;
  REQUIRE(receive_frame(pair.left.get(), packet) == ReceiveOutcome::kFrame);
  CHECK(packet.as<FlushFrame>().tag == 3);
  CHECK(receive_frame(pair.left.get(), packet) == ReceiveOutcome::kClosed);
}

TEST_CASE("A send to a full socket would block, to a closed one is refused without a signal") {
  SocketPair pair;
  SendOutcome outcome = SendOutcome::kSent;
  int sent = 0;
  for (; outcome == SendOutcome::kSent && sent < 1'000'000; ++sent) {
    outcome = send_frame(pair.left.get(), flush_frame(1, 2));
  }
  CHECK(outcome == SendOutcome::kWouldBlock);
  pair.right.reset();
  CHECK(send_frame(pair.left.get(), flush_frame(1, 2)) == SendOutcome::kClosed);
}

}  // namespace
}  // namespace lapwing
