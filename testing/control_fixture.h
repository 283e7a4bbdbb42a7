// Shared by the control socket tests: a directory, a server whose publisher records its
// requests, and a bare client.
#pragma once

#include <poll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <catch2/catch.hpp>

#include "bus/control/client.h"
#include "bus/control/server.h"
#include "os/kernel.h"
#include "proto/text_field.h"
#include "testing/far_deadline.h"
#include "testing/quiet_publisher.h"
#include "testing/skip.h"
#include "testing/temporary_directory.h"

namespace lapwing {

inline std::string socket_in(const std::string& directory) {
  return directory + "/" + kControlSocketName;
}

// A server and its publisher, which answers from plain fields and records its requests.
class TestServer {
  class AskedPublisher : public QuietPublisher {
   public:
    explicit AskedPublisher(TestServer& test) : test_(&test) {}
    WelcomeFrame welcome() override { return test_->welcome; }
    void flush_wanted(Sequence through) override {
      test_->flushes_wanted.push_back(through);
      if (test_->on_flush_wanted) test_->on_flush_wanted(through);
    }
    void prune_wanted(Sequence below) override {
      test_->prunes_wanted.push_back(below);
      if (test_->on_prune_wanted) test_->on_prune_wanted(below);
    }
    void log(const LogEntry& entry) const override { test_->log.push_back(entry.message); }

   private:
    TestServer* test_;
  };

  AskedPublisher publisher_{*this};

 public:
  explicit TestServer(std::optional<unsigned> group = std::nullopt, const std::string& where = "",
                      const std::vector<SubscriberInfoFrame>& expected = {})
      : path_(socket_in(where.empty() ? directory.path() : where)) {
    welcome = make_frame<WelcomeFrame>(FrameType::kWelcome);
    welcome.head = 100;
    welcome.durable = 40;
    welcome.has_journal = 1;
    welcome.journal_state = static_cast<std::uint32_t>(JournalState::kGood);
    set_text(welcome.bus_name, "test");
    auto started = ControlServer::start(
        {.path = path_, .group = group, .expected = expected, .events = {}}, publisher_);
    REQUIRE(started.ok());
    server = *std::move(started);
  }

  const std::string& path() const { return path_; }
  // Runs turns until there is nothing left to do. Packets on a local socket arrive as soon as they
  // are sent.
  std::uint64_t settle() {
    for (int turns = 0; turns < 10'000; ++turns) {
      const std::uint64_t deadline_ns = server->turn(now_ns);
      if (!has_work()) return deadline_ns;
    }
    FAIL("the server does not come to rest");
    return 0;
  }
  std::uint64_t dropped(DropReason reason) const { return server->drops().count(reason); }
  bool has_work() const {
    pollfd entry{server->epoll_fd(), POLLIN, 0};
    return poll(&entry, 1, 0) > 0;
  }

  TemporaryDirectory directory;
  WelcomeFrame welcome;
  std::function<void(Sequence through)> on_flush_wanted;  // called after recording it
  std::function<void(Sequence below)> on_prune_wanted;
  std::vector<Sequence> flushes_wanted;
  std::vector<Sequence> prunes_wanted;
  std::vector<std::string> log;
  std::uint64_t now_ns = 1'000'000'000'000;
  std::unique_ptr<ControlServer> server;

 private:
  std::string path_;
};

// A client without a protocol: sends what the test gives it, and receives what is available.
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
  bool send_packet(const std::vector<std::byte>& packet) {
    return send_bytes(packet.data(), packet.size());
  }
  bool send_bytes(const void* bytes, std::size_t size) {
    return ::send(fd_.get(), bytes, size, MSG_DONTWAIT | MSG_NOSIGNAL) >= 0;
  }
  // Returns 0 or errno.
  int send_descriptor(const std::vector<std::byte>& packet, int descriptor) {
    iovec part{const_cast<std::byte*>(packet.data()), packet.size()};
    alignas(cmsghdr) std::byte control[CMSG_SPACE(sizeof descriptor)] = {};
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    message.msg_control = control;
    message.msg_controllen = sizeof control;
    cmsghdr* const rights = CMSG_FIRSTHDR(&message);
    rights->cmsg_level = SOL_SOCKET;
    rights->cmsg_type = SCM_RIGHTS;
    rights->cmsg_len = CMSG_LEN(sizeof descriptor);
    std::memcpy(CMSG_DATA(rights), &descriptor, sizeof descriptor);
    return sendmsg(fd_.get(), &message, MSG_DONTWAIT | MSG_NOSIGNAL) < 0 ? errno : 0;
  }
  ReceiveOutcome receive(Packet& packet) { return receive_frame(fd_.get(), packet); }
  // Returns the next frame, which must be available and of this type.
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
  hello.version = kControlVersion;
  hello.min_version = kClientVersionMin;
  return hello;
}

inline WelcomeFrame welcome_frame() {
  WelcomeFrame welcome = make_frame<WelcomeFrame>(FrameType::kWelcome);
  welcome.version = kControlVersion;
  return welcome;
}

inline ListSubscribersFrame list_frame(std::uint64_t tag = 1) {
  ListSubscribersFrame list = make_frame<ListSubscribersFrame>(FrameType::kListSubscribers);
  list.tag = tag;
  return list;
}

inline FlushFrame flush_frame(std::uint64_t tag, Sequence through) {
  FlushFrame flush = make_frame<FlushFrame>(FrameType::kFlush);
  flush.tag = tag;
  flush.through = through;
  return flush;
}

inline ReportFrame report_frame(Sequence position) {
  ReportFrame report = make_frame<ReportFrame>(FrameType::kReport);
  report.position = position;
  report.state = ClientState::kLive;
  return report;
}

// A report with a different number in each field, for comparison with a frame from a list or with a
// status.
inline ReportFrame full_report(Sequence position, ClientState state) {
  ReportFrame report = report_frame(position);
  report.records = position + 1;
  report.gaps = position + 2;
  report.lost = position + 3;
  report.filled = position + 4;
  report.head = position + 5;
  report.wait = 2;
  report.on_gap = 3;
  report.state = state;
  return report;
}
template <typename Shown>
void check_full_report(const Shown& shown, Sequence position, ClientState state) {
  CHECK(shown.position == position);
  CHECK(shown.records == position + 1);
  CHECK(shown.gaps == position + 2);
  CHECK(shown.lost == position + 3);
  CHECK(shown.filled == position + 4);
  CHECK(shown.head_seen == position + 5);
  CHECK(shown.state == state);
}

// Returns a client that has been welcomed.
inline BareClient greeted(TestServer& server, const HelloFrame& hello = hello_frame()) {
  BareClient client(server.path());
  REQUIRE(client.send(hello));
  server.settle();
  client.expect<WelcomeFrame>(FrameType::kWelcome);
  return client;
}

template <typename Frame>
std::span<const std::byte> bytes_of(const Frame& frame) {
  return std::as_bytes(std::span(&frame, 1));
}

// The frame as sent by a release in which it has `size` bytes: truncated, or with random bytes
// appended.
template <typename Frame>
std::vector<std::byte> resized(Frame frame, std::size_t size) {
  frame.header.length = static_cast<std::uint32_t>(size);
  const std::span<const std::byte> bytes = bytes_of(frame);
  std::vector<std::byte> packet(bytes.begin(), bytes.end());
  packet.resize(size, std::byte{0xee});
  return packet;
}

// A frame that no release sends yet.
inline std::vector<std::byte> unknown_frame(std::size_t size = sizeof(FrameHeader)) {
  struct UnknownFrame {
    FrameHeader header;
  };
  return resized(make_frame<UnknownFrame>(static_cast<FrameType>(1000)), size);
}

// A publisher that sends only what the test gives it.
class ScriptedPublisher {
 public:
  ScriptedPublisher() {
    auto listening = listen_control(path(), 0600, std::nullopt);
    REQUIRE(listening.ok());
    listener_ = *std::move(listening);
  }

  std::string path() const { return socket_in(directory_.path()); }
  // Accepts a client and sends it this packet instead of a Welcome, then, if given, a second
  // packet.
  absl::StatusOr<ControlClient> connect_answering(std::span<const std::byte> first_packet,
                                                  std::span<const std::byte> second_packet = {}) {
    std::thread publisher([this, first_packet, second_packet] {
      pollfd entry{listener_.get(), POLLIN, 0};
      poll(&entry, 1, 60'000);
      peer_.reset(accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
      send(first_packet);
      if (!second_packet.empty()) send(second_packet);
    });
    auto client = ControlClient::connect({.path = path(), .name = "es"}, far_deadline());
    publisher.join();
    return client;
  }
  ControlClient connect() {
    const WelcomeFrame welcome = welcome_frame();
    auto client = connect_answering(bytes_of(welcome));
    REQUIRE(client.ok());
    Packet packet;
    REQUIRE(receive_frame(peer(), packet) == ReceiveOutcome::kFrame);
    REQUIRE(packet.as<FrameHeader>().type == FrameType::kHello);
    return *std::move(client);
  }
  int peer() const { return peer_.get(); }
  bool send(std::span<const std::byte> packet) {
    return ::send(peer_.get(), packet.data(), packet.size(), MSG_DONTWAIT | MSG_NOSIGNAL) >= 0;
  }
  void hang_up() { peer_.reset(); }

 private:
  TemporaryDirectory directory_;
  UniqueFd listener_;
  UniqueFd peer_;
};

// Changes the soft limit on open files during its lifetime. If it leaves no free descriptors, do
// not assert anything in the meantime, because the undefined-behaviour sanitizer needs two for an
// assertion.
class DescriptorLimit {
 public:
  explicit DescriptorLimit(rlim_t soft) {
    REQUIRE(getrlimit(RLIMIT_NOFILE, &before_) == 0);
    rlimit limit = before_;
    limit.rlim_cur = std::min(soft, before_.rlim_max);
    const bool set = setrlimit(RLIMIT_NOFILE, &limit) == 0;
    if (!set) FAIL("setrlimit: errno " << errno);
  }
  DescriptorLimit(const DescriptorLimit&) = delete;
  DescriptorLimit& operator=(const DescriptorLimit&) = delete;
  ~DescriptorLimit() { setrlimit(RLIMIT_NOFILE, &before_); }

 private:
  rlimit before_{};
};

// Runs `body` in a child process, calling `meanwhile`, if given, until the child ends. Returns the
// exit status that body returned, or minus the signal that killed it.
inline int run_in_child(const std::function<int()>& body,
                        const std::function<void()>& meanwhile = nullptr) {
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);  // a failing test leaves no process behind
    _exit(body());
  }
  int status = 0;
  while (waitpid(child, &status, meanwhile ? WNOHANG : 0) != child) {
    if (meanwhile) meanwhile();
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

}  // namespace lapwing
