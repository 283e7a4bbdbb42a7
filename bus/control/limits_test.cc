// Tests the limits on a client of the control server, and their effect on other clients.

#include <sys/ioctl.h>

#include <cerrno>

#include "bus/control/server.h"
#include "os/foreign_socket.h"
#include "os/kernel.h"
#include "proto/text_field.h"
#include "testing/control_fixture.h"
#include "testing/lingering_socket.h"

namespace lapwing {
namespace {

constexpr JournalCondition kSoundJournal{JournalState::kGood, 0};

// Checks that the client received `code` and was closed, and that the drop was counted and logged
// once.
void check_dropped(TestServer& server, BareClient& client, DropReason reason, Errc code) {
  server.settle();
  CHECK(client.expect<RefusedFrame>(FrameType::kRefused).error == static_cast<std::uint32_t>(code));
  CHECK(client.closed());
  CHECK(server.dropped(reason) == 1);
  REQUIRE(server.log.size() == 1);
  CHECK(server.log[0].find(name_of(reason)) != std::string::npos);
}

TEST_CASE("Whatever is not the frame that is due drops its sender") {
  TestServer server;
  BareClient client(server.path());
  SECTION("garbage") {
    REQUIRE(client.send_bytes("garbage that is longer than a header", 36));
  }
  SECTION("a packet shorter than a header") {
    REQUIRE(client.send_bytes("x", 1));
  }
  SECTION("an empty packet") {
    REQUIRE(client.send_bytes("", 0));
  }
  SECTION("half a Hello") {
    const HelloFrame hello = hello_frame();
    REQUIRE(client.send_bytes(&hello, sizeof hello / 2));
  }
  SECTION("a Hello with a byte too many") {
    char bytes[sizeof(HelloFrame) + 1] = {};
    const HelloFrame hello = hello_frame();
    std::memcpy(bytes, &hello, sizeof hello);
    REQUIRE(client.send_bytes(bytes, sizeof bytes));
  }
  SECTION("a packet larger than any frame") {
    const std::vector<char> large(kFrameBytesMax + 1, 'x');
    REQUIRE(client.send_bytes(large.data(), large.size()));
  }
  SECTION("another magic") {
    HelloFrame hello = hello_frame();
    ++hello.header.magic;
    REQUIRE(client.send(hello));
  }
  SECTION("another frame version") {
    HelloFrame hello = hello_frame();
    ++hello.header.version;
    REQUIRE(client.send(hello));
  }
  SECTION("a wrong length") {
    HelloFrame hello = hello_frame();
    hello.header.length += 8;
    REQUIRE(client.send(hello));
  }
  SECTION("an unknown type before Hello") {
    HelloFrame hello = hello_frame();
    hello.header.type = static_cast<FrameType>(99);
    REQUIRE(client.send(hello));
  }
  SECTION("an unknown role") {
    HelloFrame hello = hello_frame();
    hello.role = static_cast<ClientRole>(3);
    REQUIRE(client.send(hello));
  }
  SECTION("a Report before Hello") {
    REQUIRE(client.send(report_frame(1)));
  }
  SECTION("a Flush before Hello") {
    REQUIRE(client.send(flush_frame(1, 1)));
  }
  check_dropped(server, client, DropReason::kBadFrame, Errc::kProtocol);
  CHECK(server.server->subscriber_count() == 0);
}

TEST_CASE(
    "An empty packet is a violation although its sender has closed behind it, a close is none") {
  TestServer server;
  BareClient rude = greeted(server);
  BareClient polite = greeted(server);
  REQUIRE(rude.send(report_frame(1)));
  REQUIRE(rude.send_bytes("", 0));
  rude.close();
  REQUIRE(polite.send(report_frame(1)));
  polite.close();
  server.settle();
  CHECK(server.server->subscriber_count() == 0);
  CHECK(server.dropped(DropReason::kBadFrame) == 1);
  CHECK(server.log.size() == 1);
}

TEST_CASE("A welcomed client that breaks the dialogue is dropped") {
  TestServer server;
  BareClient client = greeted(server);
  SECTION("a second Hello") {
    REQUIRE(client.send(hello_frame()));
  }
  SECTION("a publisher's frame") {
    REQUIRE(client.send(make_frame<WelcomeFrame>(FrameType::kWelcome)));
  }
  SECTION("a Report with an unknown state") {
    ReportFrame report = report_frame(1);
    report.state = static_cast<ClientState>(GENERATE(0U, 5U));
    REQUIRE(client.send(report));
  }
  check_dropped(server, client, DropReason::kBadFrame, Errc::kProtocol);
  CHECK(server.server->subscriber_count() == 0);
}

// Without the precautions the service thread would wait for ten minutes.
TEST_CASE("A descriptor whose close waits does not hold up the publisher") {
  TestServer server;
  BareClient good = greeted(server);
  BareClient client = greeted(server);
  LingeringSocket lingering = make_lingering_socket();
  const int sent = client.send_descriptor(unknown_frame(), lingering.fd.get());
  if (sent == 0) lingering.fd.reset();
  server.settle();
  if (kernel_refuses_descriptors()) {
    CHECK(sent == EPERM);
  } else {
    CHECK(server.dropped(DropReason::kBadFrame) == 1);
    CHECK(closing_apart() == 1);
  }
  REQUIRE(good.send(flush_frame(1, 40)));
  server.settle();
  CHECK(good.expect<FlushedFrame>(FrameType::kFlushed).tag == 1);
  lingering.other.reset();
  CHECK(end_closing_apart());
}

TEST_CASE("A list that is asked for again before its end gives way to the new one") {
  TestServer server;
  std::vector<BareClient> clients;
  for (int i = 0; i < 100; ++i) clients.push_back(greeted(server));
  BareClient asker = greeted(server, hello_frame("asker", ClientRole::kTool));
  REQUIRE(asker.send(list_frame(1)));
  server.server->turn(server.now_ns);  // reads the request
  server.server->turn(server.now_ns);  // sends a part
  REQUIRE(asker.send(list_frame(2)));
  server.settle();
  std::size_t listed[3] = {};
  Packet packet;
  for (;;) {
    if (asker.receive(packet) == ReceiveOutcome::kWouldBlock) {
      REQUIRE(server.has_work());
      server.settle();
      continue;
    }
    if (packet.as<FrameHeader>().type != FrameType::kSubscriberInfo) break;
    ++listed[std::min<std::uint64_t>(packet.as<SubscriberInfoFrame>().tag, 2)];
  }
  CHECK(listed[1] > 0);
  CHECK(listed[1] < 100);
  CHECK(listed[2] == 100);
  REQUIRE(packet.as<FrameHeader>().type == FrameType::kEndOfList);
  CHECK(packet.as<EndOfListFrame>().tag == 2);
  CHECK(asker.nothing_there());
}

TEST_CASE("Two hundred frames in a second are served, the next drops the client") {
  TestServer server;
  BareClient client = greeted(server);  // one frame
  for (std::uint32_t i = 1; i < kFramesPerSecondMax; ++i) {
    REQUIRE(client.send(report_frame(i)));
    server.settle();
  }
  CHECK(server.server->subscribers().at(0).position == kFramesPerSecondMax - 1);
  server.now_ns += kNsPerSecond;
  for (std::uint32_t i = 1; i <= kFramesPerSecondMax; ++i) {
    REQUIRE(client.send(report_frame(1000 + i)));
    server.settle();
  }
  CHECK(server.server->subscribers().at(0).position == 1000 + kFramesPerSecondMax);
  REQUIRE(client.send(report_frame(1)));
  check_dropped(server, client, DropReason::kTooManyFrames, Errc::kLimit);
}

TEST_CASE("Eight flushes of a client may wait, the ninth drops it") {
  TestServer server;
  BareClient client = greeted(server);
  for (int round = 1; round <= 2; ++round) {  // answered flushes no longer count
    for (std::uint64_t tag = 1; tag <= kFlushesWaitingMax; ++tag) {
      REQUIRE(client.send(flush_frame(tag, 90)));
    }
    server.settle();
    if (round == 2) break;
    server.server->answer_flushes(90, kSoundJournal);
    for (std::uint64_t tag = 1; tag <= kFlushesWaitingMax; ++tag) {
      CHECK(client.expect<FlushedFrame>(FrameType::kFlushed).tag == tag);
    }
  }
  CHECK(client.nothing_there());
  CHECK(server.flushes_wanted.size() == 2 * kFlushesWaitingMax);
  REQUIRE(client.send(flush_frame(99, 90)));
  check_dropped(server, client, DropReason::kTooManyFrames, Errc::kLimit);
  CHECK_FALSE(server.server->flushes_waiting());
}

TEST_CASE("Sixty-four answers are queued for a client that does not read, then it is dropped") {
  TestServer server;
  BareClient client = greeted(server);
  std::uint64_t asked = 0;
  while (server.dropped(DropReason::kQueueFull) == 0 && asked < 100'000) {
    server.now_ns += kNsPerSecond / kFramesPerSecondMax;  // as fast as permitted
    REQUIRE(client.send(flush_frame(++asked, 1)));
    server.settle();
  }
  REQUIRE(server.dropped(DropReason::kQueueFull) == 1);
  std::uint64_t received = 0;
  Packet packet;
  while (client.receive(packet) == ReceiveOutcome::kFrame) {
    if (packet.as<FrameHeader>().type != FrameType::kFlushed) break;  // the reason for the drop
    ++received;
    CHECK(packet.as<FlushedFrame>().tag == received);
  }
  CHECK(received > 0);
  CHECK(asked == received + kFramesQueuedMax + 1);
}

// Returns the bytes that are waiting in the socket, before the server's queue.
std::size_t bytes_waiting(const BareClient& client) {
  int bytes = 0;
  REQUIRE(ioctl(client.fd(), FIONREAD, &bytes) == 0);
  return static_cast<std::size_t>(bytes);
}

// Sends requests with consecutive tags, starting with `tag`, as fast as permitted, until `queued`
// answers are in the server's queue. Returns the last tag.
std::uint64_t ask_until_queued(TestServer& server, BareClient& client, std::uint64_t tag,
                               std::size_t queued) {
  for (std::size_t asked = 1;; ++asked, ++tag) {
    REQUIRE(asked < 100'000);
    server.now_ns += kNsPerSecond / kFramesPerSecondMax;
    REQUIRE(client.send(flush_frame(tag, 1)));
    server.settle();
    if (asked - bytes_waiting(client) / sizeof(FlushedFrame) == queued) return tag;
  }
}

TEST_CASE("A client that reads late gets every answer, in order") {
  TestServer server;
  BareClient client = greeted(server);
  const std::uint64_t last = ask_until_queued(server, client, 1, kFramesQueuedMax / 2);
  for (std::uint64_t tag = 1; tag <= last; ++tag) {
    CHECK(client.expect<FlushedFrame>(FrameType::kFlushed).tag == tag);
    server.settle();
  }
  CHECK(client.nothing_there());
  CHECK_FALSE(server.has_work());
}

TEST_CASE("An answer does not overtake those that are queued, even if the socket has room again") {
  TestServer server;
  BareClient client = greeted(server);
  REQUIRE(client.send(flush_frame(1, 90)));  // waits
  server.settle();
  const std::uint64_t last = ask_until_queued(server, client, 2, 10);
  for (std::uint64_t tag = 2; tag < 32; ++tag) {  // makes room
    REQUIRE(client.expect<FlushedFrame>(FrameType::kFlushed).tag == tag);
  }
  server.server->answer_flushes(90, kSoundJournal);
  for (std::uint64_t tag = 32; tag <= last; ++tag) {
    server.settle();
    REQUIRE(client.expect<FlushedFrame>(FrameType::kFlushed).tag == tag);
  }
  server.settle();
  CHECK(client.expect<FlushedFrame>(FrameType::kFlushed).tag == 1);
}

TEST_CASE("Who owes a Hello for two seconds is refused, not earlier, and others stay") {
  TestServer server;
  BareClient welcomed = greeted(server);
  BareClient silent(server.path());
  CHECK(server.settle() == server.now_ns + kHandshakeNs);
  const std::uint64_t connected_ns = server.now_ns;
  server.now_ns = connected_ns + kHandshakeNs / 2;
  BareClient later(server.path());
  CHECK(server.settle() == connected_ns + kHandshakeNs);
  server.now_ns = connected_ns + kHandshakeNs - 1;
  server.settle();
  CHECK(silent.nothing_there());
  server.now_ns = connected_ns + kHandshakeNs;
  check_dropped(server, silent, DropReason::kHandshakeTimeout, Errc::kTimedOut);
  CHECK(later.nothing_there());
  REQUIRE(later.send(hello_frame()));
  CHECK(server.settle() == UINT64_MAX);
  later.expect<WelcomeFrame>(FrameType::kWelcome);
  REQUIRE(welcomed.send(flush_frame(1, 1)));
  server.settle();
  welcomed.expect<FlushedFrame>(FrameType::kFlushed);
}

TEST_CASE("Without descriptors accepting pauses for a tenth of a second and nobody is lost") {
  TestServer server;
  BareClient welcomed = greeted(server);
  BareClient waiting(server.path());
  REQUIRE(waiting.send(hello_frame("waiting")));
  // Nothing is asserted while no descriptor is left, because a sanitizer needs two for an
  // assertion.
  const std::uint64_t started_ns = server.now_ns;
  std::uint64_t first_deadline_ns = 0;
  std::uint64_t second_deadline_ns = 0;
  std::uint64_t first_drops = 0;
  std::size_t first_log_size = 0;
  bool answered = false;
  {
    const UniqueFd lowest_free(dup(0));
    const DescriptorLimit none_free(static_cast<rlim_t>(lowest_free.get()) + 1);
    first_deadline_ns = server.settle();
    first_drops = server.dropped(DropReason::kOutOfDescriptors);
    first_log_size = server.log.size();
    answered = welcomed.send(flush_frame(1, 1));
    server.settle();
    Packet packet;
    answered = answered && welcomed.receive(packet) == ReceiveOutcome::kFrame &&
               packet.as<FrameHeader>().type == FrameType::kFlushed;
    server.now_ns += kAcceptPauseNs;  // still no descriptor: pauses again
    second_deadline_ns = server.settle();
  }
  CHECK(first_deadline_ns == started_ns + kAcceptPauseNs);
  CHECK(first_drops == 1);
  CHECK(first_log_size == 1);
  CHECK(answered);
  CHECK(second_deadline_ns == started_ns + 2 * kAcceptPauseNs);
  CHECK(server.dropped(DropReason::kOutOfDescriptors) == 2);
  server.now_ns += kAcceptPauseNs - 1;
  server.settle();
  CHECK(waiting.nothing_there());
  ++server.now_ns;
  server.settle();
  waiting.expect<WelcomeFrame>(FrameType::kWelcome);
}

// Checks that the owner's next subscriber is refused after its Hello.
void check_no_place(TestServer& server) {
  BareClient refused(server.path());
  REQUIRE(refused.send(hello_frame("one too many")));
  check_dropped(server, refused, DropReason::kTooManyClients, Errc::kLimit);
}

TEST_CASE("The clients' limit leaves 256 descriptors to the process") {
  TestServer server;
  const DescriptorLimit limit(256 + 20);
  std::vector<BareClient> clients;
  for (int i = 0; i < 20; ++i) clients.push_back(greeted(server));
  check_no_place(server);
  CHECK(server.server->subscriber_count() == 20);
  clients.pop_back();
  server.settle();
  greeted(server);
}

TEST_CASE("Where no more subscribers are served the owner still asks, sixteen times at once") {
  TestServer server;
  const DescriptorLimit limit(256 + 20);
  std::vector<BareClient> clients;
  for (int i = 0; i < 20; ++i) clients.push_back(greeted(server));
  std::vector<BareClient> askers;
  for (std::size_t i = 0; i < kQuestionsMax; ++i) {
    askers.push_back(greeted(server, hello_frame("asker", ClientRole::kTool)));
  }
  REQUIRE(askers.back().send(list_frame()));
  server.settle();
  for (int i = 0; i < 20; ++i)
    askers.back().expect<SubscriberInfoFrame>(FrameType::kSubscriberInfo);
  CHECK(askers.back().expect<EndOfListFrame>(FrameType::kEndOfList).count == 20);
  BareClient refused(server.path());
  check_dropped(server, refused, DropReason::kTooManyClients, Errc::kLimit);

  // Tools do not use the subscribers' client slots.
  clients.pop_back();
  askers.pop_back();
  server.settle();
  clients.push_back(greeted(server));
  BareClient late(server.path());
  REQUIRE(late.send(hello_frame("one too many")));
  server.settle();
  CHECK(late.expect<RefusedFrame>(FrameType::kRefused).error ==
        static_cast<std::uint32_t>(Errc::kLimit));
}

TEST_CASE("The 1,025th client is refused, and the list of all streams to a slow reader") {
  const rlim_t needed = 2 * (kClientsMax + 1) + 256;
  rlimit possible{};
  REQUIRE(getrlimit(RLIMIT_NOFILE, &possible) == 0);
  if (possible.rlim_max < needed) {
    LAPWING_SKIP("2,306 open files need a higher hard limit (ulimit -Hn)");
  }
  const DescriptorLimit limit(needed);
  TestServer server;
  std::vector<BareClient> clients;
  for (std::size_t i = 0; i < kClientsMax; ++i) {
    clients.push_back(greeted(server, hello_frame(std::to_string(i))));
  }
  check_no_place(server);

  BareClient& asker = clients[kClientsMax / 2];
  REQUIRE(asker.send(list_frame()));
  server.settle();
  std::size_t listed = 0;
  int stalls = 0;
  for (;;) {
    Packet packet;
    if (asker.receive(packet) == ReceiveOutcome::kWouldBlock) {
      REQUIRE(++stalls < 1000);
      server.settle();
      continue;
    }
    if (packet.as<FrameHeader>().type == FrameType::kEndOfList) {
      CHECK(packet.as<EndOfListFrame>().count == kClientsMax);
      break;
    }
    REQUIRE(packet.as<FrameHeader>().type == FrameType::kSubscriberInfo);
    REQUIRE(get_text(packet.as<SubscriberInfoFrame>().name) == std::to_string(listed++));
  }
  CHECK(listed == kClientsMax);
  CHECK(stalls > 0);  // the socket did fill up along the way
  CHECK(server.dropped(DropReason::kQueueFull) == 0);
}

TEST_CASE("Who joins or leaves while a list is sent does not disturb it") {
  TestServer server;
  std::vector<BareClient> clients;
  for (int i = 0; i < 200; ++i) clients.push_back(greeted(server));
  BareClient asker = greeted(server, hello_frame("asker", ClientRole::kTool));
  REQUIRE(asker.send(list_frame()));
  server.server->turn(server.now_ns);  // reads the request
  server.server->turn(server.now_ns);  // sends a part
  for (int i = 0; i < 100; ++i) clients.pop_back();
  for (int i = 0; i < 50; ++i) clients.push_back(greeted(server));
  std::uint64_t listed = 0;
  for (;;) {
    Packet packet;
    if (asker.receive(packet) == ReceiveOutcome::kWouldBlock) {
      REQUIRE(server.has_work());
      server.settle();
      continue;
    }
    if (packet.as<FrameHeader>().type == FrameType::kEndOfList) {
      CHECK(packet.as<EndOfListFrame>().count == listed);
      break;
    }
    ++listed;
  }
  CHECK(listed == 100);
}

TEST_CASE("A turn takes little from a flooder and serves the others") {
  TestServer server;
  BareClient flooder = greeted(server);
  BareClient polite = greeted(server);
  for (std::uint32_t i = 1; i < kFramesPerSecondMax; ++i) REQUIRE(flooder.send(report_frame(i)));
  REQUIRE(polite.send(flush_frame(1, 1)));
  server.server->turn(server.now_ns);
  polite.expect<FlushedFrame>(FrameType::kFlushed);
  const Sequence taken = server.server->subscribers().at(0).position;
  CHECK(taken > 0);
  CHECK(taken < 10);
  CHECK(server.has_work());
}

TEST_CASE("While others flood, stall and send garbage, a good client's flush is answered") {
  TestServer server;
  BareClient good = greeted(server, hello_frame("good"));
  BareClient flooder = greeted(server, hello_frame("flooder"));
  BareClient deaf = greeted(server, hello_frame("deaf"));
  for (int i = 0; i < 250; ++i) flooder.send(report_frame(1));
  for (int i = 0; i < 150; ++i) deaf.send(flush_frame(1, 1));
  std::vector<BareClient> rude;
  for (int i = 0; i < 60; ++i) {
    rude.emplace_back(server.path());
    const HelloFrame hello = hello_frame();
    const std::size_t sizes[] = {0, 1, sizeof hello / 2, sizeof hello - 1};
    rude.back().send_bytes(&hello, sizes[i % 4]);
  }
  REQUIRE(good.send(flush_frame(5, 90)));
  server.settle();
  server.server->answer_flushes(90, kSoundJournal);
  CHECK(good.expect<FlushedFrame>(FrameType::kFlushed).tag == 5);
  CHECK(server.dropped(DropReason::kBadFrame) == 60);
  CHECK(server.dropped(DropReason::kTooManyFrames) == 1);
  CHECK(server.server->subscriber_count() == 2);
  CHECK(server.log.size() == kLogLinesPerSecondMax);  // the log was rate-limited
  server.now_ns += kNsPerSecond;
  server.settle();
  CHECK(server.log.size() == kLogLinesPerSecondMax + 1);
}

TEST_CASE("A refusal does not wait for a client that does not read") {
  TestServer server;
  for (int i = 0; i < 500; ++i) {
    BareClient client(server.path());
    client.send_bytes("x", 1);
    server.settle();
  }
  CHECK(server.dropped(DropReason::kBadFrame) == 500);
  CHECK(server.server->subscriber_count() == 0);
}

}  // namespace
}  // namespace lapwing
