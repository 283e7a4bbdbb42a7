#include "os/foreign_socket.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cstring>
#include <string>
#include <utility>

#include "lapwing/error.h"
#include "os/frame_socket.h"
#include "os/kernel.h"
#include "os/local_socket.h"
#include "testing/lingering_socket.h"
#include "testing/temporary_directory.h"

namespace lapwing {
namespace {

constexpr SocketKind kKind{
    .name = "test socket", .listener = "test", .place = "path", .listener_gone = Errc::kPeerGone};
constexpr std::uint64_t kWaitNs = 60'000'000'000;

struct Pair {
  Pair() {
    int ends[2];
    REQUIRE(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) == 0);
    ours = UniqueFd(ends[0]);
    theirs = UniqueFd(ends[1]);
  }
  UniqueFd ours;
  UniqueFd theirs;
};

// 0, or the errno.
int send_packet(int socket, const std::string& bytes, int descriptor = -1) {
  iovec part{const_cast<char*>(bytes.data()), bytes.size()};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  if (descriptor >= 0) {
    message.msg_control = control;
    message.msg_controllen = sizeof control;
    cmsghdr* const rights = CMSG_FIRSTHDR(&message);
    rights->cmsg_level = SOL_SOCKET;
    rights->cmsg_type = SCM_RIGHTS;
    rights->cmsg_len = CMSG_LEN(sizeof(int));
    std::memcpy(CMSG_DATA(rights), &descriptor, sizeof descriptor);
  }
  return sendmsg(socket, &message, MSG_NOSIGNAL) < 0 ? errno : 0;
}

TEST_CASE("A packet is known to carry descriptors before it is taken") {
  for (const int credentials : {0, 1}) {
    const Pair pair;
    REQUIRE(setsockopt(pair.ours.get(), SOL_SOCKET, SO_PASSCRED, &credentials,
                       sizeof credentials) == 0);
    CHECK_FALSE(carries_descriptors(pair.ours.get()));
    REQUIRE(send_packet(pair.theirs.get(), "plain") == 0);
    REQUIRE(send_packet(pair.theirs.get(), "") == 0);
    REQUIRE(send_packet(pair.theirs.get(), "with", pair.theirs.get()) == 0);
    char bytes[8];
    CHECK_FALSE(carries_descriptors(pair.ours.get()));
    CHECK(recv(pair.ours.get(), bytes, sizeof bytes, 0) == 5);
    CHECK_FALSE(carries_descriptors(pair.ours.get()));
    CHECK(recv(pair.ours.get(), bytes, sizeof bytes, 0) == 0);
    CHECK(carries_descriptors(pair.ours.get()));
    CHECK(recv(pair.ours.get(), bytes, sizeof bytes, 0) == 4);
    CHECK_FALSE(carries_descriptors(pair.ours.get()));
  }
}

TEST_CASE("Descriptors whose close waits do not hold up the close of a socket") {
  for (const bool has_left : {false, true}) {
    Pair pair;
    LingeringSocket lingering = make_lingering_socket();
    REQUIRE(send_packet(pair.theirs.get(), "x") == 0);
    REQUIRE(send_packet(pair.theirs.get(), "") == 0);
    REQUIRE(send_packet(pair.theirs.get(), "", lingering.fd.get()) == 0);
    lingering.fd.reset();
    if (has_left) pair.theirs.reset();
    close_foreign(std::move(pair.ours));  // would wait for ten minutes
    CHECK(closing_apart() == 1);
    lingering.other.reset();
    CHECK(end_closing_apart());
  }
}

TEST_CASE("A socket without descriptors is closed at once") {
  Pair pair;
  REQUIRE(send_packet(pair.theirs.get(), "x") == 0);
  REQUIRE(send_packet(pair.theirs.get(), "") == 0);
  close_foreign(std::move(pair.ours));
  CHECK(closing_apart() == 0);
  CHECK(send_packet(pair.theirs.get(), "x") == EPIPE);
}

TEST_CASE("Whoever waits to be accepted does not hold up the close of a listening socket") {
  const TemporaryDirectory directory;
  const std::string path = directory.file("test.sock");
  SocketKind kind = kKind;
  kind.takes_descriptors = true;
  absl::StatusOr<UniqueFd> listener = listen_local(path, 0600, {}, kind);
  REQUIRE(listener.ok());
  const auto client = connect_local(path, monotonic_ns() + kWaitNs, kind);
  const auto another = connect_local(path, monotonic_ns() + kWaitNs, kind);
  REQUIRE(another.ok());
  LingeringSocket lingering = make_lingering_socket();
  REQUIRE(send_packet(another->get(), "", lingering.fd.get()) == 0);
  lingering.fd.reset();
  close_listening(std::move(*listener));
  CHECK(closing_apart() == 1);
  CHECK(send_packet(client->get(), "x") == EPIPE);
  lingering.other.reset();
  CHECK(end_closing_apart());
}

TEST_CASE("The kernel rejects descriptors on a socket of a kind that takes none") {
  if (!kernel_refuses_descriptors()) return;  // before Linux 6.16
  const TemporaryDirectory directory;
  const std::string path = directory.file("test.sock");
  const absl::StatusOr<UniqueFd> listener = listen_local(path, 0600, {}, kKind);
  REQUIRE(listener.ok());
  const auto client = connect_local(path, monotonic_ns() + kWaitNs, kKind);
  REQUIRE(client.ok());
  CHECK(send_packet(client->get(), "x", client->get()) == EPERM);  // not accepted yet
  const UniqueFd server(accept4(listener->get(), nullptr, nullptr, SOCK_CLOEXEC));
  REQUIRE(server.valid());
  CHECK(send_packet(client->get(), "x", client->get()) == EPERM);
  CHECK(send_packet(server.get(), "x", client->get()) == EPERM);
  CHECK(send_packet(client->get(), "x") == 0);
}

TEST_CASE("Only files in memory close at once, whoever made them") {
  const UniqueFd memory(memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  CHECK(closes_at_once(memory.get()));
  const Pair pair;
  CHECK_FALSE(closes_at_once(pair.ours.get()));
  const UniqueFd file(open("/proc/self/exe", O_RDONLY | O_CLOEXEC));
  CHECK_FALSE(closes_at_once(file.get()));
}

}  // namespace
}  // namespace lapwing
