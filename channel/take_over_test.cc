// A listening socket that is handed from one listener to the next, together with the waiting peers.
// If one of the two fails in between, the other one listens.

#include <sys/socket.h>

#include <filesystem>
#include <functional>
#include <vector>

#include "channel/descriptors.h"
#include "proto/channel_frames.h"
#include "testing/channel_fixture.h"
#include "testing/other_user.h"
#include "testing/status_text.h"

namespace lapwing {
namespace {

const ChannelOptions kSmallest{.capacity = 1024, .message_bytes_max = 100};

std::future<absl::StatusOr<ChannelProducer>> connect_aside(const std::string& path) {
  return std::async(std::launch::async,
                    [path] { return ChannelProducer::connect(path, kSmallest, soon()); });
}

std::future<absl::StatusOr<ChannelListener>> take_over_aside(const std::string& path) {
  return std::async(std::launch::async,
                    [path] { return ChannelListener::take_over(path, soon()); });
}

void check_serves(ChannelListener& listener, std::future<absl::StatusOr<ChannelProducer>> client) {
  auto consumer = ChannelConsumer::accept(listener, kSmallest, soon());
  auto producer = client.get();
  INFO(consumer.status() << ' ' << producer.status());
  REQUIRE(consumer.ok());
  REQUIRE(producer.ok());
  REQUIRE(producer->send(bytes_of("served"), 1) == Errc::kOk);
  CHECK(text_of(consumer->peek(soon())->payload) == "served");
}

void check_serves(ChannelListener& listener) {
  check_serves(listener, connect_aside(listener.path()));
}

// Tends until the listener has been handed over, or has counted another refusal.
absl::Status tend_until_decided(ChannelListener& listener) {
  const std::uint64_t before = listener.refused();
  const Deadline deadline = soon();
  for (;;) {
    const absl::Status status = listener.tend();
    if (!status.ok() || listener.refused() != before || deadline.has_passed()) {
      return status;
    }
    wait_readable(listener.fd(), 1'000'000);
  }
}

// A successor that performs the exchange manually.
struct RawSuccessor {
  explicit RawSuccessor(const std::string& path)
      : fd(*connect_local(path, soon().monotonic_ns(), kChannelSocket)) {}

  void ask(std::uint32_t abi_version = kChannelAbiVersion) const {
    auto frame = make_frame<TakeOverFrame>(FrameType::kTakeOver);
    frame.abi_version = abi_version;
    CHECK(send_frame(fd.get(), frame) == SendOutcome::kSent);
  }
  bool gets(FrameType type) {
    Packet packet;
    wait_readable(fd.get(), kChannelTestNs);
    const ReceiveOutcome outcome =
        receive_with_descriptors(fd.get(), packet, descriptors, Carried::kSockets);
    return outcome == ReceiveOutcome::kFrame && packet.as<FrameHeader>().type == type;
  }

  UniqueFd fd;
  std::vector<UniqueFd> descriptors;
};

struct Old {
  TemporaryDirectory directory;
  std::string path = directory.file("channel.sock");
  std::optional<ChannelListener> listener{*ChannelListener::listen(path)};
};

}  // namespace

TEST_CASE("A successor serves all waiting peers, and the old listener continues with its peer") {
  Old old;
  auto first = connect_aside(old.path);
  auto consumer = ChannelConsumer::accept(*old.listener, kSmallest, soon());
  auto producer = first.get();
  REQUIRE(consumer.ok());
  REQUIRE(producer.ok());

  std::vector<std::future<absl::StatusOr<ChannelProducer>>> waiting;
  for (int i = 0; i < 5; ++i) waiting.push_back(connect_aside(old.path));
  REQUIRE(old.listener->tend().ok());  // some of them may have been accepted by now
  auto taking = take_over_aside(old.path);
  CHECK(errc_of(tend_until_decided(*old.listener)) == Errc::kClosed);
  CHECK(old.listener->handed_over());
  auto next = taking.get();
  REQUIRE(next.ok());
  CHECK(says(old.listener->tend(), "was handed over to a new process"));
  const auto refused = ChannelConsumer::accept(*old.listener, kSmallest, soon());
  CHECK(errc_of(refused.status()) == Errc::kClosed);

  for (std::size_t i = 0; i < waiting.size(); ++i) {
    auto served = ChannelConsumer::accept(*next, kSmallest, soon());
    INFO(served.status());
    CHECK(served.ok());
  }
  for (auto& client : waiting) CHECK(client.get().ok());
  check_serves(*next);
  REQUIRE(producer->send(bytes_of("undisturbed"), 1) == Errc::kOk);
  CHECK(text_of(consumer->peek(soon())->payload) == "undisturbed");
  old.listener.reset();  // keeps the name, which is now the successor's
  check_serves(*next);
}

TEST_CASE("The name is removed with the last listener that a socket was handed to") {
  Old old;
  for (int i = 0; i < 3; ++i) {
    auto taking = take_over_aside(old.path);
    CHECK(errc_of(tend_until_decided(*old.listener)) == Errc::kClosed);
    auto next = taking.get();
    REQUIRE(next.ok());
    old.listener.reset();
    old.listener.emplace(std::move(*next));
    CHECK(std::filesystem::exists(old.path));
  }
  check_serves(*old.listener);
  old.listener.reset();
  CHECK_FALSE(std::filesystem::exists(old.path));
}

TEST_CASE("A failed successor leaves the old listener unchanged, with all waiting peers") {
  Old old;
  auto client = connect_aside(old.path);
  std::optional<RawSuccessor> successor(old.path);

  SECTION("it ends before it has the socket") {
    successor->ask();
    successor.reset();
    CHECK(tend_until_decided(*old.listener).ok());
  }
  SECTION("it ends when it has the socket") {
    successor->ask();
    auto ending = std::async(std::launch::async, [&] {
      const bool handed_over = successor->gets(FrameType::kHandedOver);
      successor.reset();
      return handed_over;
    });
    CHECK(tend_until_decided(*old.listener).ok());
    CHECK(ending.get());
  }
  SECTION("it has the socket and says something else") {
    successor->ask();
    auto saying = std::async(std::launch::async, [&] {
      const bool handed_over = successor->gets(FrameType::kHandedOver);
      send_frame(successor->fd.get(), make_frame<WakeFrame>(FrameType::kWake));
      return handed_over;
    });
    CHECK(tend_until_decided(*old.listener).ok());
    CHECK(saying.get());
    CHECK(successor->gets(FrameType::kRefused));
  }
  SECTION("it has the socket and says so too late") {
    successor->ask();
    CHECK(tend_until_decided(*old.listener).ok());
    CHECK(successor->gets(FrameType::kHandedOver));
    CHECK(send_frame(successor->fd.get(), make_frame<TakenOverFrame>(FrameType::kTakenOver)) ==
          SendOutcome::kClosed);
    CHECK(successor->gets(FrameType::kRefused));
  }
  SECTION("it is of another ABI version") {
    successor->ask(kChannelAbiVersion + 1);
    CHECK(tend_until_decided(*old.listener).ok());
    CHECK(successor->gets(FrameType::kRefused));
    CHECK(says(old.listener->last_refusal(), "ABI version"));
  }
  successor.reset();
  CHECK_FALSE(old.listener->handed_over());
  CHECK(old.listener->refused() == 1);
  INFO(old.listener->last_refusal());
  check_serves(*old.listener, std::move(client));
  check_serves(*old.listener);
  old.listener.reset();
  CHECK_FALSE(std::filesystem::exists(old.path));
}

TEST_CASE("A successor that asks directly after another one is served while peers are accepted") {
  Old old;
  RawSuccessor outdated(old.path);
  outdated.ask(kChannelAbiVersion + 1);
  RawSuccessor successor(old.path);
  successor.ask();
  auto taking = std::async(std::launch::async, [&] {
    return successor.gets(FrameType::kHandedOver) &&
           send_frame(successor.fd.get(), make_frame<TakenOverFrame>(FrameType::kTakenOver)) ==
               SendOutcome::kSent;
  });
  const auto accepted = ChannelConsumer::accept(*old.listener, kSmallest, soon());
  CHECK(errc_of(accepted.status()) == Errc::kClosed);
  CHECK(taking.get());
  CHECK(old.listener->handed_over());
  CHECK(old.listener->refused() == 1);
}

TEST_CASE("A successor whose hand-over was abandoned does not listen") {
  Old old;
  // A take_over() that is stopped for so long between its steps cannot be timed. So the test plays
  // the old listener: it hands over, abandons the hand-over, and reports that.
  old.listener.reset();
  auto raw = listen_local(old.path, 0600, {}, kChannelSocket);
  REQUIRE(raw.ok());
  auto taking = take_over_aside(old.path);
  wait_readable(raw->get(), kChannelTestNs);
  UniqueFd fd(accept4(raw->get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
  shutdown(fd.get(), SHUT_RD);
  const auto frame = make_frame<HandedOverFrame>(FrameType::kHandedOver);
  const int listening = raw->get();
  REQUIRE(send_with_descriptors(fd.get(), std::as_bytes(std::span(&frame, 1)),
                                std::span(&listening, 1)) == SendOutcome::kSent);
  refuse(fd.get(), make_error(Errc::kTimedOut, "it took too long"));
  fd.reset();
  const absl::Status status = taking.get().status();
  CHECK(errc_of(status) == Errc::kRefused);
  CHECK(says(status, "it took too long"));
  CHECK(std::filesystem::exists(old.path));
}

TEST_CASE("A successor of a listener that died while it handed over listens in its place") {
  Old old;
  old.listener.reset();
  auto raw = listen_local(old.path, 0600, {}, kChannelSocket);
  REQUIRE(raw.ok());
  auto taking = take_over_aside(old.path);
  wait_readable(raw->get(), kChannelTestNs);
  UniqueFd fd(accept4(raw->get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
  auto client = connect_aside(old.path);
  const auto frame = make_frame<HandedOverFrame>(FrameType::kHandedOver);
  const int listening = raw->get();
  shutdown(fd.get(), SHUT_RD);  // as if it had ended before the answer arrived
  REQUIRE(send_with_descriptors(fd.get(), std::as_bytes(std::span(&frame, 1)),
                                std::span(&listening, 1)) == SendOutcome::kSent);
  fd.reset();
  raw->reset();
  auto next = taking.get();
  INFO(next.status());
  REQUIRE(next.ok());
  check_serves(*next, std::move(client));
}

TEST_CASE("A successor checks that it received the socket") {
  Old old;
  old.listener.reset();
  auto raw = listen_local(old.path, 0600, {}, kChannelSocket);
  REQUIRE(raw.ok());
  const auto answered = [&](const std::function<void(int)>& answer) {
    auto taking = take_over_aside(old.path);
    wait_readable(raw->get(), kChannelTestNs);
    UniqueFd fd(accept4(raw->get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    answer(fd.get());
    fd.reset();
    return errc_of(taking.get().status());
  };
  const auto handed = [](int fd, std::uint32_t waiting, const std::vector<int>& descriptors) {
    auto frame = make_frame<HandedOverFrame>(FrameType::kHandedOver);
    frame.waiting = waiting;
    send_with_descriptors(fd, std::as_bytes(std::span(&frame, 1)), descriptors);
  };
  CHECK(answered([](int) {}) == Errc::kPeerGone);
  CHECK(answered([](int fd) { send(fd, "rubbish", 7, MSG_NOSIGNAL); }) == Errc::kProtocol);
  CHECK(answered([](int fd) { send_frame(fd, make_frame<WakeFrame>(FrameType::kWake)); }) ==
        Errc::kProtocol);
  CHECK(answered([&](int fd) { handed(fd, 0, {}); }) == Errc::kProtocol);
  CHECK(answered([&](int fd) { handed(fd, 0, {fd}); }) == Errc::kProtocol);
  CHECK(answered([&](int fd) { handed(fd, 2, {raw->get(), fd}); }) == Errc::kProtocol);
  CHECK(std::filesystem::exists(old.path));
  raw->reset();
  CHECK(errc_of(ChannelListener::take_over(old.path, soon()).status()) == Errc::kPeerGone);
  std::filesystem::remove(old.path);
  CHECK(errc_of(ChannelListener::take_over(old.path, soon()).status()) == Errc::kNoBus);
}

TEST_CASE("A listener that expects another user is still handed over to its own") {
  if (geteuid() != 0) LAPWING_SKIP("it takes root to expect a user that is not this one");
  const TemporaryDirectory directory;
  const std::string path = directory.file("channel.sock");
  auto old = ChannelListener::listen(path, kTestUser);
  REQUIRE(old.ok());
  auto taking = std::async(std::launch::async,
                           [&] { return ChannelListener::take_over(path, soon(), kTestUser); });
  CHECK(errc_of(tend_until_decided(*old)) == Errc::kClosed);
  const auto next = taking.get();
  INFO(next.status());
  CHECK(next.ok());
}

}  // namespace lapwing
