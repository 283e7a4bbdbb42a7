// What the control socket's tests share: a directory, a server with recording hooks, a bare client.
#pragma once

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "bus/control_server.h"
#include "bus/kernel.h"

namespace lapwing {

inline constexpr std::uint64_t kNsPerMs = 1'000'000;

// Ends a hang; nothing is measured by it.
inline std::uint64_t far_deadline() {
  return monotonic_ns() + 60'000 * kNsPerMs;
}

class TemporaryDirectory {
 public:
  TemporaryDirectory() {
    char name[] = "/tmp/lapwing-control-XXXXXX";
    REQUIRE(mkdtemp(name) != nullptr);
    path_ = name;
  }
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;
  ~TemporaryDirectory() { std::filesystem::remove_all(path_); }
  const std::string& path() const { return path_; }
  std::string socket_path() const { return path_ + "/" + kControlSocketName; }

 private:
  std::string path_;
};

// A server whose hooks answer from plain fields and write down what they were asked.
class TestServer {
 public:
  explicit TestServer(std::optional<unsigned> group = std::nullopt) {
    welcome = make_frame<WelcomeFrame>(FrameType::kWelcome);
    welcome.head = 100;
    welcome.durable = 40;
    welcome.has_journal = 1;
    welcome.journal_state = static_cast<std::uint32_t>(JournalState::kGood);
    set_text(welcome.bus_name, "test");
    ServerHooks hooks;
    hooks.welcome = [this] { return welcome; };
    hooks.flush_wanted = [this](Sequence through) { flushes_wanted.push_back(through); };
    hooks.prune_wanted = [this](Sequence below) { prunes_wanted.push_back(below); };
    hooks.log = [this](const std::string& line) { log.push_back(line); };
    auto started = ControlServer::start({directory.socket_path(), group}, std::move(hooks));
    REQUIRE(started.ok());
    server = *std::move(started);
  }

  std::string path() const { return directory.socket_path(); }
  // Turns until nothing is left to do. Packets on a local socket are there once they are sent.
  std::uint64_t settle() {
    std::uint64_t deadline = server->turn(now_ns);
    for (int i = 0; i < 10'000 && has_work(); ++i) deadline = server->turn(now_ns);
    REQUIRE_FALSE(has_work());
    return deadline;
  }
  std::uint64_t dropped(DropReason reason) const { return server->dropped(reason); }

  TemporaryDirectory directory;
  WelcomeFrame welcome;
  std::vector<Sequence> flushes_wanted;
  std::vector<Sequence> prunes_wanted;
  std::vector<std::string> log;
  std::uint64_t now_ns = 1'000'000'000'000;
  std::unique_ptr<ControlServer> server;

 private:
  bool has_work() const {
    pollfd entry{server->epoll_fd(), POLLIN, 0};
    return poll(&entry, 1, 0) > 0;
  }
};

// A client without manners: sends what it is told to, receives what is there.
class BareClient {
 public:
  explicit BareClient(const std::string& path) {
    auto connected = connect_control(path, far_deadline());
    REQUIRE(connected.ok());
    fd_ = *std::move(connected);
  }

  int fd() const { return fd_.get(); }
  void close() { fd_.reset(); }
  template <typename Frame>
  bool send(const Frame& frame) {
    return send_frame(fd_.get(), frame) == SendOutcome::kSent;
  }
  bool send_bytes(const void* bytes, std::size_t size) {
    return ::send(fd_.get(), bytes, size, MSG_DONTWAIT | MSG_NOSIGNAL) >= 0;
  }
  ReceiveOutcome receive(Packet& packet) { return receive_frame(fd_.get(), packet); }
  // The next frame, which must be there and of this type.
  template <typename Frame>
  Frame expect(FrameType type) {
    Packet packet;
    REQUIRE(receive(packet) == ReceiveOutcome::kFrame);
    REQUIRE(packet.as<FrameHeader>().type == type);
    return packet.as<Frame>();
  }
  bool nothing_there() {
    Packet packet;
    return receive(packet) == ReceiveOutcome::kWouldBlock;
  }
  bool closed() {
    Packet packet;
    return receive(packet) == ReceiveOutcome::kClosed;
  }

 private:
  UniqueFd fd_;
};

inline HelloFrame hello_frame(const std::string& name = "bare",
                              ClientRole role = ClientRole::kSubscriber) {
  HelloFrame hello = make_frame<HelloFrame>(FrameType::kHello);
  hello.abi_version = kAbiVersion;
  hello.role = role;
  hello.pid = static_cast<std::uint32_t>(getpid());
  set_text(hello.name, name);
  return hello;
}

inline FlushFrame flush_frame(std::uint64_t tag, Sequence through) {
  FlushFrame flush = make_frame<FlushFrame>(FrameType::kFlush);
  flush.tag = tag;
  flush.through = through;
  return flush;
}

// A client that has been welcomed.
inline BareClient greeted(TestServer& server, const HelloFrame& hello = hello_frame()) {
  BareClient client(server.path());
  REQUIRE(client.send(hello));
  server.settle();
  client.expect<WelcomeFrame>(FrameType::kWelcome);
  return client;
}

}  // namespace lapwing
