// Tests a listener in an event loop: regardless of its peers, fd() is readable if accept() or
// tend() has work to do, and not otherwise.

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <deque>
#include <optional>
#include <vector>

#include "channel/handshake.h"
#include "lapwing/listener.h"
#include "testing/is_readable.h"
#include "testing/raw_channel_peer.h"

namespace lapwing {
namespace {

constexpr int kHangMs = static_cast<int>(kChannelTestNs / 1'000'000);

// A listener as in an event loop: polled, and then called without waiting.
struct Loop {
  // False if nothing arrived within the test's time limit.
  bool sleep() {
    ++wakes;
    return is_readable(here.listener.fd(), kHangMs);
  }
  absl::StatusOr<ChannelConsumer> accept() {
    return ChannelConsumer::accept(here.listener, kSmall, Deadline::now());
  }
  // Whether no peer can be served and no work is left. After kSilenceNsMin, silent peers may be
  // due, and cause work.
  bool accepts_nobody_and_sleeps() {
    const auto nobody = accept();
    if (errc_of(nobody.status()) != Errc::kWouldBlock) return false;
    return !is_readable(here.listener.fd()) || monotonic_ns() - began_ns >= kSilenceNsMin;
  }

  Listening here;
  std::uint64_t began_ns = monotonic_ns();
  int wakes = 0;
};

void say_hello(const RawPeer& peer) {
  const UniqueFd fd = make_raw_file(whole(peer.header), {});
  peer.send_hello({fd.get()});
}

// A simulated successor, which has sent its request.
UniqueFd ask_for_socket(const std::string& path) {
  UniqueFd successor = *connect_local(path, soon().monotonic_ns(), kChannelSocket);
  auto ask = make_frame<TakeOverFrame>(FrameType::kTakeOver);
  ask.abi_version = kChannelAbiVersion;
  REQUIRE(send_frame(successor.get(), ask) == SendOutcome::kSent);
  return successor;
}
// Takes the socket. False if it was so late that the listener may have abandoned it.
bool says_it_has_the_socket(const UniqueFd& successor, std::uint64_t began_ns) {
  Packet packet;
  std::vector<UniqueFd> descriptors;
  REQUIRE(await_with_descriptors(successor.get(), packet, descriptors, soon().monotonic_ns()) ==
          ReceiveOutcome::kFrame);
  CHECK(packet.as<FrameHeader>().type == FrameType::kHandedOver);
  send_frame(successor.get(), make_frame<TakenOverFrame>(FrameType::kTakenOver));
  return monotonic_ns() - began_ns < kHandshakeNs;
}

}  // namespace

TEST_CASE("A client that says hello after it was taken in wakes the event loop, and is served") {
  Loop loop;
  CHECK_FALSE(is_readable(loop.here.listener.fd()));
  const RawPeer peer(loop.here.path);
  REQUIRE(loop.sleep());
  CHECK(loop.accepts_nobody_and_sleeps());  // it has sent nothing yet
  say_hello(peer);
  CHECK(is_readable(loop.here.listener.fd()));  // at once, not when it would be dropped
  CHECK(loop.accept().ok());
  CHECK(loop.accepts_nobody_and_sleeps());
}

TEST_CASE("An event loop serves any number of clients in addition to silent ones") {
  constexpr std::size_t kClients = 150;  // more than may wait
  Loop loop;
  std::vector<RawPeer> silent;
  for (std::size_t i = 0; i < kPeersWaitingMax / 2; ++i) silent.emplace_back(loop.here.path);
  auto connecting = std::async(std::launch::async, [&] {
    std::size_t served = 0;
    std::deque<RawPeer> shaking_hands;  // each with some others between its connect and its hello
    const auto say_next_hello = [&] {
      const RawPeer& peer = shaking_hands.front();
      const UniqueFd file = try_to_make_raw_file(whole(peer.header), {});
      Packet packet;
      std::vector<UniqueFd> descriptors;
      served += peer.try_to_send_hello({file.get()}) &&
                await_with_descriptors(peer.fd.get(), packet, descriptors, soon().monotonic_ns()) ==
                    ReceiveOutcome::kFrame &&
                packet.as<FrameHeader>().type == FrameType::kChannelWelcome;
      shaking_hands.pop_front();
    };
    for (std::size_t i = 0; i < kClients; ++i) {
      shaking_hands.emplace_back(loop.here.path);
      if (shaking_hands.size() == 5) say_next_hello();
    }
    while (!shaking_hands.empty()) say_next_hello();
    return served;
  });
  std::size_t accepted = 0;
  while (accepted < kClients && loop.sleep()) {
    for (;;) {
      const auto consumer = loop.accept();
      accepted += consumer.ok();
      if (errc_of(consumer.status()) == Errc::kWouldBlock) break;
    }
  }
  CHECK(accepted == kClients);
  CHECK(connecting.get() == kClients);
}

TEST_CASE("A silent client wakes an event loop when it connects and when it is dropped") {
  Loop loop;
  const RawPeer silent(loop.here.path);
  while (loop.here.listener.refused() == 0 && loop.sleep()) {
    CHECK(errc_of(loop.accept().status()) == Errc::kWouldBlock);
  }
  CHECK(loop.wakes == 2);
  CHECK(silent.refusal().find("did not send its hello") != std::string::npos);
  CHECK_FALSE(is_readable(loop.here.listener.fd()));
}

TEST_CASE("A client that leaves or sends an invalid hello wakes an event loop once") {
  Loop loop;
  {
    const RawPeer leaves(loop.here.path);
    REQUIRE(loop.sleep());
    CHECK(loop.accepts_nobody_and_sleeps());
  }
  CHECK(is_readable(loop.here.listener.fd()));
  CHECK(loop.accepts_nobody_and_sleeps());
  CHECK(loop.here.listener.refused() == 1);
  CHECK(errc_of(loop.here.listener.last_refusal()) == Errc::kPeerGone);
  const RawPeer mad(loop.here.path);
  mad.send_bytes("nonsense");
  REQUIRE(loop.sleep());
  CHECK(loop.accepts_nobody_and_sleeps());
  CHECK(loop.here.listener.refused() == 2);
  CHECK(errc_of(loop.accept().status()) == Errc::kWouldBlock);
}

TEST_CASE(
    "If the limit of silent clients is reached, a new client replaces one, and the loop sleeps") {
  Loop loop;
  std::vector<RawPeer> silent;
  for (std::size_t i = 0; i < kPeersWaitingMax; ++i) silent.emplace_back(loop.here.path);
  REQUIRE(loop.sleep());
  CHECK(loop.accepts_nobody_and_sleeps());
  const RawPeer client(loop.here.path);
  say_hello(client);
  bool served = false;
  while (!served && loop.sleep()) served = loop.accept().ok();
  CHECK(served);
  // Only its arrival and the dropping of silent peers woke the loop.
  CHECK(loop.wakes <= 4);
  CHECK(silent.front().refusal().find("did not send its hello") != std::string::npos);
}

TEST_CASE("Clients that wait to be served do not wake a loop that tends, and are served later") {
  Loop loop;
  const RawPeer client(loop.here.path);
  say_hello(client);
  REQUIRE(loop.sleep());
  CHECK(loop.here.listener.tend().ok());
  CHECK_FALSE(is_readable(loop.here.listener.fd()));
  const RawPeer other(loop.here.path);
  REQUIRE(loop.sleep());
  CHECK(loop.here.listener.tend().ok());
  say_hello(other);
  REQUIRE(loop.sleep());
  CHECK(loop.here.listener.tend().ok());
  CHECK_FALSE(is_readable(loop.here.listener.fd()));
  CHECK(loop.accept().ok());
  REQUIRE(loop.sleep());  // the peer that tend() did not serve
  CHECK(loop.accept().ok());
  CHECK(loop.accepts_nobody_and_sleeps());
}

TEST_CASE("An event loop without free descriptors is not kept awake, and continues later") {
  Loop loop;
  rlimit before{};
  REQUIRE(getrlimit(RLIMIT_NOFILE, &before) == 0);
  const RawPeer client(loop.here.path);
  const UniqueFd file = make_raw_file(whole(client.header), {});
  client.send_hello({file.get()});
  const rlimit few = {256, before.rlim_max};
  REQUIRE(setrlimit(RLIMIT_NOFILE, &few) == 0);
  // Asserts nothing while no descriptor is free, because a sanitizer needs two for an assertion.
  std::vector<UniqueFd> others;
  do {
    others.emplace_back(dup(loop.here.listener.fd()));
  } while (others.back().valid());
  const std::uint64_t asked_ns = monotonic_ns();
  const Errc error = errc_of(loop.accept().status());
  const bool sleeps =
      !is_readable(loop.here.listener.fd()) || monotonic_ns() - asked_ns >= kPauseNs;
  const bool wakes = loop.sleep();
  others.clear();
  const bool is_served = loop.accept().ok();
  setrlimit(RLIMIT_NOFILE, &before);
  CHECK(error == Errc::kLimit);
  CHECK(sleeps);
  CHECK(wakes);
  CHECK(is_served);
}

TEST_CASE("A slow successor does not block an event loop") {
  Loop loop;
  const UniqueFd successor = ask_for_socket(loop.here.path);
  REQUIRE(loop.sleep());
  CHECK(loop.here.listener.tend().ok());
  CHECK_FALSE(loop.here.listener.handed_over());
  // In this thread: if tend() waited for the successor, it would have abandoned it by now.
  const bool in_time = says_it_has_the_socket(successor, loop.began_ns);
  REQUIRE(loop.sleep());
  const Errc answer = errc_of(loop.here.listener.tend());
  CHECK((answer == Errc::kClosed || !in_time));
  CHECK((loop.here.listener.handed_over() || !in_time));
}

TEST_CASE("A silent successor is abandoned, and clients that came meanwhile are served") {
  Loop loop;
  const UniqueFd successor = ask_for_socket(loop.here.path);
  REQUIRE(loop.sleep());
  CHECK(errc_of(loop.accept().status()) == Errc::kWouldBlock);
  const RawPeer client(loop.here.path);
  say_hello(client);
  bool served = false;
  while (!served && loop.sleep()) served = loop.accept().ok();
  CHECK(served);
  CHECK(loop.wakes <= 4);  // its request, its end, the client
  CHECK(loop.here.listener.refused() == 1);
}

TEST_CASE("A listener that ends while its successor takes the socket leaves the name to it") {
  const TemporaryDirectory directory;
  const std::string path = directory.file("channel.sock");
  std::optional<ChannelListener> old = *ChannelListener::listen(path);
  const UniqueFd successor = ask_for_socket(path);
  REQUIRE(is_readable(old->fd(), kHangMs));
  CHECK(old->tend().ok());
  const std::uint64_t began_ns = monotonic_ns();
  auto ending = std::async(std::launch::async, [&] { old.reset(); });
  const bool in_time = says_it_has_the_socket(successor, began_ns);
  ending.get();
  CHECK((access(path.c_str(), F_OK) == 0 || !in_time));
}

}  // namespace lapwing
