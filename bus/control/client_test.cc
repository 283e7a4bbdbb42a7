#include "bus/control/client.h"

#include <atomic>
#include <csignal>
#include <thread>

#include "proto/text_field.h"
#include "testing/control_fixture.h"

namespace lapwing {
namespace {

// Turns a server while the test's thread waits inside a client's call.
class TurningThread {
 public:
  explicit TurningThread(TestServer& server)
      : thread_([this, &server] {
          while (!stop_) {
            pollfd entry{server.server->epoll_fd(), POLLIN, 0};
            poll(&entry, 1, 10);
            server.server->turn(server.now_ns);
          }
        }) {}
  TurningThread(const TurningThread&) = delete;
  TurningThread& operator=(const TurningThread&) = delete;
  ~TurningThread() {
    stop_ = true;
    thread_.join();
  }

 private:
  std::atomic<bool> stop_{false};
  std::thread thread_;
};

absl::StatusOr<ControlClient> connect_to(const std::string& path,
                                         std::uint64_t deadline_ns = far_deadline()) {
  return ControlClient::connect({.path = path, .name = "es"}, deadline_ns);
}

ControlClient must_connect(const std::string& path) {
  auto client = connect_to(path);
  REQUIRE(client.ok());
  return *std::move(client);
}

FlushedFrame flushed_frame(std::uint64_t tag, Sequence durable) {
  FlushedFrame frame = make_frame<FlushedFrame>(FrameType::kFlushed);
  frame.tag = tag;
  frame.durable = durable;
  return frame;
}

TEST_CASE("A client that shakes hands holds the Welcome, can flush and is listed") {
  TestServer server;
  const TurningThread turning(server);
  ControlClient client = must_connect(server.path());
  CHECK(client.welcome().head == 100);
  CHECK(get_text(client.welcome().bus_name) == "test");
  CHECK_FALSE(client.publisher_gone());
  const auto flushed = client.flush(30, far_deadline());
  REQUIRE(flushed.ok());
  CHECK(flushed->ok);
  CHECK(flushed->durable == 40);
  client.report(report_frame(33));
  const auto list = client.list_subscribers(far_deadline());
  REQUIRE(list.ok());
  REQUIRE(list->subscribers.size() == 1);
  CHECK(get_text(list->subscribers[0].name) == "es");
  CHECK(list->subscribers[0].position == 33);
  CHECK(list->end.count == 1);
}

TEST_CASE("A failed journal is an answer, with its state and errno") {
  TestServer server;
  server.welcome.journal_state = static_cast<std::uint32_t>(JournalState::kFailed);
  server.welcome.journal_errno = EIO;
  const TurningThread turning(server);
  ControlClient client = must_connect(server.path());
  const auto flushed = client.flush(90, far_deadline());
  REQUIRE(flushed.ok());
  CHECK_FALSE(flushed->ok);
  CHECK(flushed->durable == 40);
  CHECK(flushed->journal == JournalState::kFailed);
  CHECK(flushed->sys_errno == EIO);
}

TEST_CASE("A prune returns the oldest that is kept, or the publisher's error") {
  TestServer server;
  server.on_prune_wanted = [&server](Sequence below) {
    server.server->answer_prune(25, below == 30 ? Errc::kOk : Errc::kNoJournal);
  };
  const TurningThread turning(server);
  ControlClient client = must_connect(server.path());
  const auto pruned = client.prune(30, far_deadline());
  REQUIRE(pruned.ok());
  CHECK(*pruned == 25);
  CHECK(errc_of(client.prune(31, far_deadline()).status()) == Errc::kNoJournal);
}

TEST_CASE("A publisher that does not answer in time is an error, at each step") {
  TemporaryDirectory directory;
  auto listener = listen_control(socket_in(directory.path()), 0600, std::nullopt);
  REQUIRE(listener.ok());
  const auto handshake = connect_to(socket_in(directory.path()), monotonic_ns() + kNsPerMs);
  CHECK(errc_of(handshake.status()) == Errc::kTimedOut);

  ScriptedPublisher publisher;
  ControlClient client = publisher.connect();
  CHECK(errc_of(client.flush(1, monotonic_ns() + kNsPerMs).status()) == Errc::kTimedOut);
  CHECK(errc_of(client.flush(1, 0).status()) == Errc::kTimedOut);
  CHECK_FALSE(client.publisher_gone());
  CHECK(errc_of(client.list_subscribers(0).status()) == Errc::kTimedOut);
  CHECK(errc_of(client.prune(1, 0).status()) == Errc::kTimedOut);
  CHECK_FALSE(client.publisher_gone());
}

TEST_CASE("A full backlog is waited for until the deadline, then an error") {
  TemporaryDirectory directory;
  auto listener = listen_control(socket_in(directory.path()), 0600, std::nullopt);
  REQUIRE(listener.ok());
  std::vector<UniqueFd> waiting;
  Errc last = Errc::kOk;
  while (last == Errc::kOk && waiting.size() < 10 * kListenBacklog) {
    auto client = connect_control(socket_in(directory.path()), 0);
    last = errc_of(client.status());
    if (client.ok()) waiting.push_back(*std::move(client));
  }
  CHECK(last == Errc::kTimedOut);
  CHECK(waiting.size() > kListenBacklog / 2);
  std::thread accepting(
      [&listener] { UniqueFd accepted(accept4(listener->get(), nullptr, nullptr, SOCK_CLOEXEC)); });
  CHECK(connect_control(socket_in(directory.path()), far_deadline()).ok());
  accepting.join();
}

TEST_CASE("The late answer to a flush that timed out does not answer the next") {
  ScriptedPublisher publisher;
  ControlClient client = publisher.connect();
  CHECK(errc_of(client.flush(50, 0).status()) == Errc::kTimedOut);
  send_frame(publisher.peer(), flushed_frame(1, 50));
  send_frame(publisher.peer(), flushed_frame(2, 77));
  const auto flushed = client.flush(70, far_deadline());
  REQUIRE(flushed.ok());
  CHECK(flushed->durable == 77);
}

TEST_CASE("Late answers to a list and a prune do not answer the next") {
  ScriptedPublisher publisher;
  ControlClient client = publisher.connect();
  CHECK(errc_of(client.list_subscribers(0).status()) == Errc::kTimedOut);
  CHECK(errc_of(client.prune(30, 0).status()) == Errc::kTimedOut);
  SubscriberInfoFrame info = make_frame<SubscriberInfoFrame>(FrameType::kSubscriberInfo);
  EndOfListFrame end = make_frame<EndOfListFrame>(FrameType::kEndOfList);
  PrunedFrame pruned = make_frame<PrunedFrame>(FrameType::kPruned);
  SECTION("a list") {
    for (const std::uint64_t tag :
         {1U, 2U, 3U}) {  // of the late list, the late prune, and this one
      info.tag = end.tag = pruned.tag = tag;
      info.position = 100 + tag;
      send_frame(publisher.peer(), info);
      if (tag == 2) {
        send_frame(publisher.peer(), pruned);
      } else {
        send_frame(publisher.peer(), end);
      }
    }
    const auto list = client.list_subscribers(far_deadline());
    REQUIRE(list.ok());
    REQUIRE(list->subscribers.size() == 1);
    CHECK(list->subscribers[0].position == 103);
  }
  SECTION("a prune") {
    for (const std::uint64_t tag : {2U, 3U}) {
      pruned.tag = tag;
      pruned.oldest = 50 + tag;
      send_frame(publisher.peer(), pruned);
    }
    CHECK(client.prune(31, far_deadline()).value() == 53);
  }
}

TEST_CASE("A list and a prune whose answer has the tag of no request are a violation") {
  ScriptedPublisher publisher;
  ControlClient client = publisher.connect();
  const std::uint64_t tag = GENERATE(as<std::uint64_t>{}, 0, 2);
  SECTION("a list") {
    EndOfListFrame end = make_frame<EndOfListFrame>(FrameType::kEndOfList);
    end.tag = tag;
    send_frame(publisher.peer(), end);
    CHECK(errc_of(client.list_subscribers(far_deadline()).status()) == Errc::kProtocol);
  }
  SECTION("a prune") {
    PrunedFrame pruned = make_frame<PrunedFrame>(FrameType::kPruned);
    pruned.tag = tag;
    send_frame(publisher.peer(), pruned);
    CHECK(errc_of(client.prune(1, far_deadline()).status()) == Errc::kProtocol);
  }
}

TEST_CASE("Answers to nothing that was asked are a violation") {
  ScriptedPublisher publisher;
  ControlClient client = publisher.connect();
  SECTION("a tag from the future") {
    REQUIRE(publisher.send(bytes_of(flushed_frame(9, 50))));
  }
  SECTION("tag 0") {
    REQUIRE(publisher.send(bytes_of(flushed_frame(0, 50))));
  }
  SECTION("a list") {
    REQUIRE(publisher.send(bytes_of(make_frame<EndOfListFrame>(FrameType::kEndOfList))));
  }
  SECTION("an unknown state of the journal") {
    FlushFailedFrame failed = make_frame<FlushFailedFrame>(FrameType::kFlushFailed);
    failed.tag = 1;
    failed.journal_state = 4;
    REQUIRE(publisher.send(bytes_of(failed)));
  }
  SECTION("a subscriber's frame") {
    REQUIRE(publisher.send(bytes_of(hello_frame())));
  }
  SECTION("garbage") {
    REQUIRE(publisher.send(std::as_bytes(std::span("garbage"))));
  }
  SECTION("an empty packet") {
    REQUIRE(publisher.send({}));
  }
  CHECK(errc_of(client.flush(1, far_deadline()).status()) == Errc::kProtocol);
}

TEST_CASE("A Welcome with an unknown state of the journal is a violation") {
  ScriptedPublisher publisher;
  WelcomeFrame welcome = welcome_frame();
  welcome.journal_state = 4;
  CHECK(errc_of(publisher.connect_answering(bytes_of(welcome)).status()) == Errc::kProtocol);
}

TEST_CASE("A Refused becomes an error with the publisher's reason, fit for a terminal") {
  ScriptedPublisher publisher;
  RefusedFrame refused = make_frame<RefusedFrame>(FrameType::kRefused);
  refused.error = static_cast<std::uint32_t>(Errc::kLimit);
  std::memset(refused.message, '\x1b', sizeof refused.message);  // without a terminator
  const absl::Status status = publisher.connect_answering(bytes_of(refused)).status();
  CHECK(errc_of(status) == Errc::kRefused);
  CHECK(status.message().find(std::string(sizeof refused.message, '?')) != absl::string_view::npos);
  CHECK(status.message().size() < 1000);
}

TEST_CASE("A publisher of another ABI version is named with both versions") {
  ScriptedPublisher publisher;
  RefusedFrame refused = make_frame<RefusedFrame>(FrameType::kRefused);
  refused.error = static_cast<std::uint32_t>(Errc::kAbiMismatch);
  refused.abi_version = kAbiVersion + 7;
  const absl::Status status = publisher.connect_answering(bytes_of(refused)).status();
  CHECK(errc_of(status) == Errc::kAbiMismatch);
  const std::string message(status.message());
  CHECK(message.find("uses ABI version " + std::to_string(kAbiVersion + 7)) != std::string::npos);
  CHECK(message.find("this program uses version " + std::to_string(kAbiVersion)) !=
        std::string::npos);
}

TEST_CASE("A refusal reaches a client that the server has closed before its Hello") {
  // The server refuses at once. The client's Hello then fails on a closed socket, or resets the
  // connection.
  TestServer server;
  const DescriptorLimit limit(256 + 16);
  std::vector<BareClient> clients;
  for (int i = 0; i < 16; ++i) clients.push_back(greeted(server));
  const TurningThread turning(server);
  for (int i = 0; i < 100; ++i) {
    const auto client = connect_to(server.path());
    REQUIRE(errc_of(client.status()) == Errc::kRefused);
    REQUIRE(client.status().message().find("its limit") != absl::string_view::npos);
  }
}

TEST_CASE("A report never blocks: what does not fit the socket is dropped whole") {
  ScriptedPublisher publisher;
  ControlClient client = publisher.connect();
  constexpr Sequence kReports = 20'000;
  for (Sequence i = 1; i <= kReports; ++i) client.report(report_frame(i));
  Sequence received = 0;
  Packet packet;
  while (receive_frame(publisher.peer(), packet) == ReceiveOutcome::kFrame) {
    REQUIRE(packet.as<FrameHeader>().type == FrameType::kReport);
    REQUIRE(packet.as<ReportFrame>().position == ++received);
  }
  CHECK(received > 0);
  CHECK(received < kReports);
  client.report(report_frame(1));
  CHECK(receive_frame(publisher.peer(), packet) == ReceiveOutcome::kFrame);
  publisher.hang_up();
  client.report(report_frame(1));  // no signal
  CHECK(client.publisher_gone());
}

TEST_CASE("Late answers are not taken for the publisher's end") {
  ScriptedPublisher publisher;
  ControlClient client = publisher.connect();
  for (std::uint64_t tag = 1; tag < 100; ++tag) send_frame(publisher.peer(), flushed_frame(tag, 1));
  for (int i = 0; i < 10; ++i) REQUIRE_FALSE(client.publisher_gone());
  for (std::uint64_t tag = 1; tag < 10; ++tag) send_frame(publisher.peer(), flushed_frame(tag, 1));
  publisher.hang_up();
  CHECK(client.publisher_gone());
  CHECK(client.publisher_gone());
}

TEST_CASE("A server that closes is seen as gone, also in the middle of a flush") {
  TestServer server;
  ControlClient client = [&server] {
    const TurningThread turning(server);
    return must_connect(server.path());
  }();
  CHECK_FALSE(client.publisher_gone());
  std::thread closing([&server] {
    while (!server.server->flushes_waiting()) {
      pollfd entry{server.server->epoll_fd(), POLLIN, 0};
      poll(&entry, 1, 10);
      server.server->turn(server.now_ns);
    }
    server.server->close();
  });
  CHECK(errc_of(client.flush(90, far_deadline()).status()) == Errc::kPublisherGone);
  closing.join();
  CHECK(client.publisher_gone());
  CHECK(errc_of(connect_to(server.path()).status()) == Errc::kNoBus);
}

TEST_CASE("A publisher that is killed is seen as gone") {
  TemporaryDirectory directory;
  int ready[2];
  REQUIRE(pipe(ready) == 0);
  const pid_t publisher = fork();
  REQUIRE(publisher >= 0);
  if (publisher == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    QuietPublisher quiet;
    auto server = ControlServer::start({socket_in(directory.path()), std::nullopt}, quiet);
    if (!server.ok() || write(ready[1], "x", 1) != 1) _exit(1);
    for (;;) {
      pollfd entry{(*server)->epoll_fd(), POLLIN, 0};
      poll(&entry, 1, 10);
      (*server)->turn(monotonic_ns());
    }
  }
  char byte;
  REQUIRE(read(ready[0], &byte, 1) == 1);
  ControlClient client = must_connect(socket_in(directory.path()));
  CHECK_FALSE(client.publisher_gone());
  REQUIRE(kill(publisher, SIGKILL) == 0);
  pollfd entry{client.fd(), POLLIN, 0};
  CHECK(poll(&entry, 1, 60'000) == 1);
  CHECK(client.publisher_gone());
  REQUIRE(waitpid(publisher, nullptr, 0) == publisher);
  CHECK(errc_of(connect_to(socket_in(directory.path())).status()) == Errc::kPublisherGone);
  close(ready[0]);
  close(ready[1]);
}

TEST_CASE("A client in steps is welcomed and answered only once the server has turned") {
  TestServer server;
  auto client = ControlClient::begin({.path = server.path(), .name = "es"});
  REQUIRE(client.ok());
  CHECK_FALSE(client->welcomed().value());
  server.settle();
  REQUIRE(client->welcomed().value());
  CHECK(client->welcome().head == 100);
  REQUIRE(client->begin_flush(90).ok());
  server.settle();
  CHECK_FALSE(client->flush_answer().value());
  server.server->answer_flushes(95, {JournalState::kGood, 0});
  server.settle();
  const auto answer = client->flush_answer();
  REQUIRE(answer.value());
  CHECK((*answer)->ok);
  CHECK((*answer)->durable == 95);
}

TEST_CASE("A client in steps that is hung up on says so") {
  TestServer server;
  auto client = ControlClient::begin({.path = server.path(), .name = "es"});
  REQUIRE(client.ok());
  server.server->close();
  CHECK(errc_of(client->welcomed().status()) == Errc::kPublisherGone);
}

}  // namespace
}  // namespace lapwing
