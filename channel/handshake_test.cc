// Incorrect peers: each is refused, receives the reason and is counted, and the next one is
// served.

#include "channel/handshake.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <functional>
#include <future>
#include <span>
#include <thread>
#include <vector>

#include "channel/descriptors.h"
#include "os/foreign_socket.h"
#include "proto/channel_frames.h"
#include "testing/channel_fixture.h"
#include "testing/child_process.h"
#include "testing/is_readable.h"
#include "testing/lingering_socket.h"
#include "testing/open_descriptors.h"
#include "testing/other_user.h"
#include "testing/raw_channel_peer.h"

namespace lapwing {

TEST_CASE("A peer that breaks the protocol gets the reason, and the next one is served") {
  struct Fault {
    const char* name;
    std::function<void(RawPeer&)> act;
    const char* reason;
  };
  const auto with_file = [](const std::function<void(ChannelHeader&, RawFile&)>& spoil) {
    return [spoil](RawPeer& peer) {
      ChannelHeader header = whole(peer.header);
      RawFile file;
      spoil(header, file);
      const UniqueFd fd = make_raw_file(header, file);
      peer.send_hello({fd.get()});
    };
  };
  const Fault faults[] = {
      {"garbage", [](RawPeer& peer) { peer.send_bytes("GET / HTTP/1.1\r\n\r\n"); },
       "not a channel frame"},
      {"one byte", [](RawPeer& peer) { peer.send_bytes("x"); }, "not a channel frame"},
      {"a packet larger than any frame",
       [](RawPeer& peer) { peer.send_bytes(std::string(100'000, 'x')); }, "not a channel frame"},
      {"a frame of another protocol",
       [](RawPeer& peer) {
         auto frame = make_frame<HelloFrame>(FrameType::kHello);
         send_frame(peer.fd.get(), frame);
       },
       "not a channel frame"},
      {"a frame out of turn",
       [](RawPeer& peer) { send_frame(peer.fd.get(), make_frame<WakeFrame>(FrameType::kWake)); },
       "did not keep to the handshake"},
      {"a hello without a memory file", [](RawPeer& peer) { peer.send_hello({}); },
       "did not keep to the handshake"},
      {"a hello with two of them",
       [](RawPeer& peer) {
         const UniqueFd fd = make_raw_file(whole(peer.header), {});
         peer.send_hello({fd.get(), fd.get()});
       },
       "not a channel frame"},
      {"another ABI version",
       [](RawPeer& peer) {
         const UniqueFd fd = make_raw_file(whole(peer.header), {});
         peer.hello.abi_version = kChannelAbiVersion + 1;
         peer.send_hello({fd.get()});
       },
       "install the same release for both"},
      {"the same role",
       [](RawPeer& peer) {
         const UniqueFd fd = make_raw_file(whole(peer.header), {});
         peer.hello.role = ChannelRole::kConsumer;
         peer.send_hello({fd.get()});
       },
       "must be a producer"},
      {"a role that does not exist",
       [](RawPeer& peer) {
         const UniqueFd fd = make_raw_file(whole(peer.header), {});
         peer.hello.role = static_cast<ChannelRole>(77);
         peer.send_hello({fd.get()});
       },
       "is an unknown role"},
      {"a descriptor that is a pipe's",
       [](RawPeer& peer) {
         int ends[2];
         REQUIRE(pipe(ends) == 0);
         peer.send_hello({ends[0]});
         close(ends[0]);
         close(ends[1]);
       },
       "not a file in memory"},
      {"a file on disk",
       [](RawPeer& peer) {
         const UniqueFd fd(open("/proc/self/exe", O_RDONLY | O_CLOEXEC));
         peer.send_hello({fd.get()});
       },
       "not a file in memory"},
      {"no seals", with_file([](ChannelHeader&, RawFile& file) { file.seals = 0; }), "not sealed"},
      {"a file that can shrink",
       with_file([](ChannelHeader&, RawFile& file) { file.seals &= ~F_SEAL_SHRINK; }),
       "not sealed"},
      {"a file that others can write",
       with_file([](ChannelHeader&, RawFile& file) { file.seals &= ~F_SEAL_FUTURE_WRITE; }),
       "not sealed"},
      {"a hole", with_file([](ChannelHeader&, RawFile& file) { file.allocated = false; }),
       "not allocated in full"},
      {"holes, and as much memory beyond the end",
       [](RawPeer& peer) {
         const UniqueFd fd = make_raw_file(whole(peer.header), {.seals = 0, .allocated = false});
         REQUIRE(fallocate(fd.get(), FALLOC_FL_KEEP_SIZE, 64 * 1024, 64 * 1024) == 0);
         REQUIRE(fcntl(fd.get(), F_ADD_SEALS, kRawFileSeals) == 0);
         peer.send_hello({fd.get()});
       },
       "not allocated in full"},
      {"a descriptor that cannot be read",
       [](RawPeer& peer) {
         const UniqueFd fd = make_raw_file(whole(peer.header), {});
         const std::string path = "/proc/self/fd/" + std::to_string(fd.get());
         const UniqueFd write_only(open(path.c_str(), O_WRONLY | O_CLOEXEC));
         REQUIRE(write_only.valid());
         peer.send_hello({write_only.get()});
       },
       "cannot be read"},
      {"no file to speak of", with_file([](ChannelHeader&, RawFile& file) { file.bytes = 4096; }),
       "has 4096 bytes, which is not a valid size"},
      {"a size that the header does not say",
       with_file([](ChannelHeader&, RawFile& file) { file.bytes += 4096; }), "but its header has"},
      {"another magic", with_file([](ChannelHeader& header, RawFile&) { header.magic ^= 1; }),
       "not that of a channel"},
      {"a header of another ABI version",
       with_file([](ChannelHeader& header, RawFile&) { header.abi_version = 9; }), "ABI version 9"},
      {"an unknown feature",
       with_file([](ChannelHeader& header, RawFile&) { header.feature_bits = 1; }), "a feature"},
      {"another role in the file", with_file([](ChannelHeader& header, RawFile&) {
         header.role = ChannelRole::kDuplex;
         header.call_window = 1;
         header.payload_offset = kPayloadOffsetCalls;
       }),
       "of another channel"},
      {"another side in the file",
       with_file([](ChannelHeader& header, RawFile&) { header.connection_id = *random_id(); }),
       "of another channel"},
      {"a capacity that is no power of two",
       with_file([](ChannelHeader& header, RawFile&) { header.capacity = 1023; }), "its capacity"},
      {"no capacity", with_file([](ChannelHeader& header, RawFile&) { header.capacity = 0; }),
       "its capacity"},
      {"messages that do not fit",
       with_file([](ChannelHeader& header, RawFile&) { header.message_bytes_max = 0xfffffffe; }),
       "largest message"},
      {"payloads in the middle of nowhere",
       with_file([](ChannelHeader& header, RawFile&) { header.payload_offset = 48; }),
       "where its payloads begin"},
  };
  Listening here;
  std::uint64_t refused = 0;
  for (const Fault& fault : faults) {
    INFO(fault.name);
    RawPeer peer(here.path);
    fault.act(peer);
    expect_no_client(here.listener);
    CHECK(here.listener.refused() == ++refused);
    const std::string told = peer.refusal();
    INFO(told);
    CHECK(says(told, fault.reason));
    CHECK(says(here.listener.last_refusal().message(), fault.reason));
    CHECK(says(told, "pid " + std::to_string(getpid())));
    check_next_is_served(here.listener);
  }
}

TEST_CASE("Unexpected descriptors are closed") {
  Listening here;
  RawPeer peer(here.path);
  RawPeer empty(here.path);
  const auto before = open_descriptors();
  const std::vector<int> many(kDescriptorsMax, here.listener.fd());
  peer.send_hello(many);
  CHECK(send_with_descriptors(empty.fd.get(), {}, many) == SendOutcome::kSent);
  expect_no_client(here.listener);
  CHECK(here.listener.refused() == 2);
  CHECK(end_closing_apart());
  CHECK(open_descriptors() == before);
}

static std::vector<int> one(const UniqueFd& descriptor) {
  return {descriptor.get()};
}

// Without the precautions, the listener would wait for ten minutes.
TEST_CASE("A descriptor whose close waits does not block the listener") {
  Listening here;
  LingeringSocket lingering = make_lingering_socket();
  const auto give_away = [&] { lingering.fd.reset(); };
  {
    RawPeer peer(here.path);
    const UniqueFd memory = make_raw_file(whole(peer.header), {});
    SECTION("in the place of the memory file") {
      peer.send_hello({lingering.fd.get()});
    }
    SECTION("beside it") {
      peer.send_hello({memory.get(), lingering.fd.get()});
    }
    SECTION("with an empty packet") {
      CHECK(send_with_descriptors(peer.fd.get(), {}, one(lingering.fd)) == SendOutcome::kSent);
    }
    SECTION("with a wrong hello") {
      peer.hello.abi_version = kChannelAbiVersion + 1;
      peer.send_hello({lingering.fd.get()});
    }
    give_away();
    expect_no_client(here.listener);
    CHECK(here.listener.refused() == 1);
    CHECK(closing_apart() > 0);
    CHECK_FALSE(peer.refusal().empty());
  }
  check_next_is_served(here.listener);
  lingering.other.reset();
  CHECK(end_closing_apart());
}

TEST_CASE("A descriptor after the hello ends the channel and does not block the receiver") {
  Listening here;
  LingeringSocket lingering = make_lingering_socket();
  RawPeer peer(here.path);
  const UniqueFd memory = make_raw_file(whole(peer.header), {});
  peer.send_hello({memory.get()});
  const auto wake = make_frame<WakeFrame>(FrameType::kWake);
  REQUIRE(send_with_descriptors(peer.fd.get(), std::as_bytes(std::span(&wake, 1)),
                                one(lingering.fd)) == SendOutcome::kSent);
  lingering.fd.reset();
  {
    auto consumer = ChannelConsumer::accept(here.listener, kSmall, soon());
    REQUIRE(consumer.ok());
    SECTION("of a side that waits") {
      CHECK(consumer->peek(soon()).error() == Errc::kCorrupt);
    }
    SECTION("of a side that closes") {}
  }
  CHECK(closing_apart() == 1);
  lingering.other.reset();
  CHECK(end_closing_apart());
}

TEST_CASE("A listener pauses while too many descriptors are being closed") {
  Listening here;
  std::vector<LingeringSocket> lingering;
  for (std::size_t i = 0; i < kClosingApartMax; ++i) {
    lingering.push_back(make_lingering_socket());
    close_apart(std::move(lingering.back().fd));
  }
  REQUIRE(closing_apart() == kClosingApartMax);
  RawPeer peer(here.path);
  bool rests = false;  // otherwise an event loop would spin
  for (int i = 0; i < 100 && !rests; ++i) {
    expect_no_client(here.listener);
    rests = !is_readable(here.listener.fd());
  }
  CHECK(rests);
  CHECK(here.listener.refused() == 0);
  lingering.clear();
  CHECK(end_closing_apart());
  check_next_is_served(here.listener);
}

TEST_CASE("On an open channel the kernel rejects descriptors") {
  if (!kernel_refuses_descriptors()) return;  // before Linux 6.16
  Listening here;
  RawPeer peer(here.path);
  const UniqueFd memory = make_raw_file(whole(peer.header), {});
  peer.send_hello({memory.get()});
  const auto consumer = ChannelConsumer::accept(here.listener, kSmall, soon());
  REQUIRE(consumer.ok());
  const auto wake = make_frame<WakeFrame>(FrameType::kWake);
  CHECK(send_with_descriptors(peer.fd.get(), std::as_bytes(std::span(&wake, 1)), one(memory)) ==
        SendOutcome::kClosed);
}

TEST_CASE("A producer refuses a producer and reports the required role") {
  Listening here;
  auto connecting = std::async(std::launch::async, [&] {
    return ChannelProducer::connect(here.path, kSmall, soon()).status();
  });
  while (here.listener.refused() == 0) {
    const auto nobody = ChannelProducer::accept(here.listener, kSmall, Deadline::now());
    REQUIRE(errc_of(nobody.status()) == Errc::kWouldBlock);
  }
  const absl::Status told = connecting.get();
  INFO(told);
  CHECK(errc_of(told) == Errc::kRefused);
  CHECK(says(told.message(), here.path));
  CHECK(says(told.message(), "must be a consumer"));
  check_next_is_served(here.listener);
}

TEST_CASE("A peer that leaves before it is served is skipped") {
  Listening here;
  {
    const RawPeer peer(here.path);
  }
  {
    RawPeer peer(here.path);
    const UniqueFd fd = make_raw_file(whole(peer.header), {});
    peer.send_hello({fd.get()});
  }
  check_next_is_served(here.listener);
}

TEST_CASE("Silent peers do not block others, and are dropped after a while") {
  Listening here;
  std::vector<RawPeer> silent;
  const std::uint64_t begin_ns = monotonic_ns();
  for (int i = 0; i < 10; ++i) silent.emplace_back(here.path);
  check_next_is_served(here.listener);
  CHECK((here.listener.refused() == 0 || monotonic_ns() - begin_ns >= kHandshakeNs));
  // More than may wait: those that have been silent longest are dropped for the next one.
  for (std::size_t i = silent.size(); i < kPeersWaitingMax + 5; ++i) silent.emplace_back(here.path);
  check_next_is_served(here.listener);
  CHECK(here.listener.refused() >= 6);
  CHECK(says(here.listener.last_refusal().message(), "did not send its hello"));
  CHECK(says(silent.front().refusal(), "did not send its hello"));
}

TEST_CASE("A listener without free descriptors drops silent peers") {
  Listening here;
  const std::uint64_t begin_ns = monotonic_ns();
  const RawPeer silent(here.path);
  expect_no_client(here.listener);
  const RawPeer next(here.path);
  rlimit before{};
  REQUIRE(getrlimit(RLIMIT_NOFILE, &before) == 0);
  const rlimit few = {256, before.rlim_max};
  REQUIRE(setrlimit(RLIMIT_NOFILE, &few) == 0);
  // Asserts nothing while no descriptor is free, because a sanitizer needs two for an assertion.
  std::vector<UniqueFd> others;
  do {
    others.emplace_back(dup(here.listener.fd()));
  } while (others.back().valid());

  const auto accept_error = [&] {
    return errc_of(ChannelConsumer::accept(here.listener, kSmall, Deadline::now()).status());
  };
  const Errc first_error = accept_error();
  const bool first_was_late = monotonic_ns() - begin_ns >= kHandshakeNs;
  const Deadline deadline = soon();
  Errc error = first_error;
  while (error == Errc::kLimit && !deadline.has_passed()) {
    wait_readable(-1, 10'000'000);
    error = accept_error();
  }
  setrlimit(RLIMIT_NOFILE, &before);
  CHECK((first_error == Errc::kLimit || first_was_late));
  CHECK(error == Errc::kWouldBlock);  // and has accepted the next one
}

TEST_CASE("A peer of an unexpected user is refused with the reason, and the next one is served") {
  if (geteuid() != 0) LAPWING_SKIP("it takes root to become another user");
  const TemporaryDirectory directory;
  REQUIRE(chmod(directory.path().c_str(), 0777) == 0);
  const std::string path = directory.file("channel.sock");
  auto listener = ChannelListener::listen(path, kTestUser);
  REQUIRE(listener.ok());
  const Shared<Complaint> said;
  // First as root, who listens, then as a foreign user, after the first has been refused.
  for (const uid_t uid : {uid_t{0}, kOtherTestUser}) {
    ChildProcess stranger([&] {
      if (setgid(kTestGroup) != 0 || setuid(uid) != 0) return 2;
      const ChannelOptions options{
          .capacity = 1024, .message_bytes_max = 100, .expected_peer_uid = 0};
      const absl::Status told = ChannelProducer::connect(path, options, soon()).status();
      said->say(std::string(told.message()));
      return errc_of(told) == Errc::kRefused ? 0 : 1;
    });
    const std::uint64_t before = listener->refused();
    while (listener->refused() == before) {
      const auto nobody = ChannelConsumer::accept(*listener, kSmall, std::chrono::milliseconds(10));
      REQUIRE(errc_of(nobody.status()) == Errc::kTimedOut);
    }
    const int code = stranger.wait();
    INFO(said->text);
    CHECK(code == 0);
    CHECK(says(said->text, "user " + std::to_string(uid) + " is not expected on " + path));
    CHECK(errc_of(listener->last_refusal()) == Errc::kNotPermitted);
  }
  ChildProcess expected([&] {
    if (setgid(kTestGroup) != 0 || setuid(kTestUser) != 0) return 2;
    const ChannelOptions options{
        .capacity = 1024, .message_bytes_max = 100, .expected_peer_uid = 0};
    auto producer = ChannelProducer::connect(path, options, soon());
    if (!producer.ok()) return said->say(std::string(producer.status().message()));
    return producer->send(bytes_of("expected"), 1).ok() ? 0 : 1;
  });
  auto consumer = ChannelConsumer::accept(*listener, kSmall, soon());
  REQUIRE(consumer.ok());
  CHECK(text_of(consumer->peek(soon())->payload) == "expected");
  const int code = expected.wait();
  INFO(said->text);
  CHECK(code == 0);
}

TEST_CASE("A flood of unexpected peers does not delay the listener's caller") {
  if (geteuid() != 0) LAPWING_SKIP("it takes root to become another user");
  const TemporaryDirectory directory;
  REQUIRE(chmod(directory.path().c_str(), 0777) == 0);
  const std::string path = directory.file("channel.sock");
  auto listener = ChannelListener::listen(path, kTestUser);
  REQUIRE(listener.ok());
  constexpr std::uint64_t kFlood = kPeersWaitingMax + 20;
  REQUIRE(seteuid(kOtherTestUser) == 0);
  std::vector<absl::StatusOr<UniqueFd>> flood;
  for (std::uint64_t i = 0; i < kFlood; ++i) {
    flood.push_back(connect_local(path, soon().monotonic_ns(), kChannelSocket));
  }
  REQUIRE(seteuid(0) == 0);
  CHECK(listener->tend().ok());
  CHECK(listener->refused() == kPeersWaitingMax);  // the rest in another call
  CHECK(listener->tend().ok());
  CHECK(listener->refused() == kFlood);
}

TEST_CASE("A connecting peer refuses a listener of an unexpected user") {
  if (geteuid() != 0) LAPWING_SKIP("it takes root to become another user");
  Listening here;
  ChannelOptions options = kSmall;
  options.expected_peer_uid = kTestUser;
  const absl::Status status = ChannelProducer::connect(here.path, options, soon()).status();
  CHECK(errc_of(status) == Errc::kNotPermitted);
  CHECK(says(status.message(), "user 0 listens on " + here.path));
  CHECK(says(status.message(), "expected_peer_uid"));
  check_next_is_served(here.listener);
}

TEST_CASE("With retry, a connect finds a listener that starts later") {
  const TemporaryDirectory directory;
  const std::string path = directory.file("channel.sock");
  std::atomic<int> tries = 0;
  ChannelOptions options = kSmall;
  options.retry = std::chrono::hours(1);
  options.is_interrupted = [&] { return ++tries < 0; };
  auto connecting = std::async(std::launch::async,
                               [&] { return ChannelConsumer::connect(path, options, soon()); });
  while (tries < 2) std::this_thread::yield();
  auto listener = ChannelListener::listen(path);
  REQUIRE(listener.ok());
  CHECK(ChannelProducer::accept(*listener, kSmall, soon()).ok());
  CHECK(connecting.get().ok());
}

TEST_CASE(
    "A retry ends with its time, its deadline or an interrupt, and reports what was missing") {
  const TemporaryDirectory directory;
  const std::string path = directory.file("channel.sock");
  ChannelOptions options = kSmall;
  const auto connect_status = [&](Deadline deadline) {
    return ChannelProducer::connect(path, options, deadline).status();
  };
  options.retry = std::chrono::milliseconds(30);
  CHECK(errc_of(connect_status(soon())) == Errc::kNoBus);
  options.retry = std::chrono::hours(1);
  CHECK(errc_of(connect_status(std::chrono::milliseconds(30))) == Errc::kNoBus);
  options.is_interrupted = [] { return true; };
  CHECK(errc_of(connect_status(soon())) == Errc::kInterrupted);
}

TEST_CASE("Connecting to an invalid listener ends with the reason") {
  const TemporaryDirectory directory;
  const std::string path = directory.file("channel.sock");
  const auto connect_status = [&](Deadline deadline) {
    return ChannelProducer::connect(path, kSmall, deadline).status();
  };
  CHECK(errc_of(connect_status(soon())) == Errc::kNoBus);
  auto raw = listen_local(path, 0600, {}, kChannelSocket);
  REQUIRE(raw.ok());
  const absl::Status stopped = connect_status(std::chrono::milliseconds(20));
  CHECK(errc_of(stopped) == Errc::kTimedOut);
  CHECK(says(stopped.message(), "did not answer in time"));
  UniqueFd(accept4(raw->get(), nullptr, nullptr, SOCK_CLOEXEC)).reset();

  const auto answered = [&](const std::function<void(int)>& answer) {
    auto connecting = std::async(std::launch::async, [&] { return connect_status(soon()); });
    wait_readable(raw->get(), kChannelTestNs);
    UniqueFd fd(accept4(raw->get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    answer(fd.get());
    fd.reset();
    return connecting.get();
  };
  CHECK(errc_of(answered([](int) {})) == Errc::kPeerGone);
  CHECK(errc_of(answered([](int fd) { send(fd, "rubbish", 7, MSG_NOSIGNAL); })) == Errc::kProtocol);
  CHECK(errc_of(answered([](int fd) {
          send_frame(fd, make_frame<WakeFrame>(FrameType::kWake));
        })) == Errc::kProtocol);
  const absl::Status refused =
      answered([](int fd) { refuse(fd, make_error(Errc::kRefused, "closed\x1b[2J on Sundays")); });
  CHECK(errc_of(refused) == Errc::kRefused);
  CHECK(says(refused.message(), "closed?[2J on Sundays"));  // without control characters
  CHECK(errc_of(answered([](int fd) {
          auto hello = make_frame<ChannelHelloFrame>(FrameType::kChannelWelcome);
          hello.abi_version = kChannelAbiVersion;
          hello.role = ChannelRole::kConsumer;
          const int descriptor = fd;
          send_with_descriptors(fd, std::as_bytes(std::span(&hello, 1)), std::span(&descriptor, 1));
        })) == Errc::kProtocol);
  raw->reset();
  CHECK(errc_of(connect_status(soon())) == Errc::kPeerGone);
}

}  // namespace lapwing
