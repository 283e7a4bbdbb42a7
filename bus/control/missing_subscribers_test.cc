// Tests for subscribers that were attached when the last session ended and do not return.
#include "bus/control/missing_subscribers.h"

#include <unistd.h>

#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "proto/text_field.h"
#include "testing/control_fixture.h"

namespace lapwing {
namespace {

SubscriberInfoFrame expected(const std::string& name, uid_t uid = ::geteuid()) {
  SubscriberInfoFrame subscriber{};
  subscriber.role = ClientRole::kSubscriber;
  subscriber.state = ClientState::kJoining;
  subscriber.uid = uid;
  subscriber.pid = 7;
  subscriber.pid_is_claimed = 1;
  subscriber.position = 41;
  set_text(subscriber.name, name);
  return subscriber;
}

ForgetFrame forget_frame(const std::string& name) {
  ForgetFrame forget = make_frame<ForgetFrame>(FrameType::kForget);
  forget.tag = 9;
  set_text(forget.name, name);
  return forget;
}

// Returns the names of the listed subscribers, with a "-" before the missing ones.
std::vector<std::string> listed(TestServer& server, BareClient& client) {
  REQUIRE(client.send(list_frame()));
  server.settle();
  std::vector<std::string> names;
  for (;;) {
    Packet packet;
    REQUIRE(client.receive(packet) == ReceiveOutcome::kFrame);
    if (packet.as<FrameHeader>().type == FrameType::kEndOfList) {
      CHECK(packet.as<EndOfListFrame>().count == names.size());
      return names;
    }
    const auto info = packet.as<SubscriberInfoFrame>();
    const bool is_missing = info.state == ClientState::kMissing;
    CHECK(is_missing == (info.missing_since_wall_ns != 0));
    names.push_back((is_missing ? "-" : "") + get_text(info.name));
  }
}

std::vector<BusEventKind> kinds_of(const TestServer& server) {
  std::vector<BusEventKind> kinds;
  EventLog& events = server.server->events();
  for (const EventInfoFrame* event = events.next(1); event != nullptr;
       event = events.next(event->number + 1)) {
    kinds.push_back(event->kind);
  }
  return kinds;
}

struct Restarted : TestServer {
  explicit Restarted(const std::vector<SubscriberInfoFrame>& subscribers)
      : TestServer(std::nullopt, "", subscribers) {
    settle();
  }
  void pass(std::uint64_t ns) {
    now_ns += ns;
    settle();
  }
};

TEST_CASE("Who does not return in time is missing: listed, and an event") {
  Restarted server({expected("stuck"), expected("logger")});
  BareClient logger = greeted(server, hello_frame("logger"));
  BareClient tool = greeted(server, hello_frame("tool", ClientRole::kTool));
  server.pass(kReturnNs - 1);
  CHECK(listed(server, tool) == std::vector<std::string>{"logger"});
  server.pass(1);
  CHECK(listed(server, tool) == std::vector<std::string>{"logger", "-stuck"});
  server.pass(10 * kReturnNs);
  CHECK(kinds_of(server) ==
        std::vector<BusEventKind>{BusEventKind::kAttached, BusEventKind::kMissing});
}

TEST_CASE("Who was missing before is missing from the start on, and since then") {
  SubscriberInfoFrame long_gone = expected("long-gone");
  long_gone.state = ClientState::kMissing;
  long_gone.missing_since_wall_ns = 5;
  Restarted server({expected("stuck"), long_gone});
  BareClient tool = greeted(server, hello_frame("tool", ClientRole::kTool));
  CHECK(listed(server, tool) == std::vector<std::string>{"-long-gone"});
  CHECK(server.server->missing().list().front().missing_since_wall_ns == 5);
  CHECK(kinds_of(server) == std::vector<BusEventKind>{BusEventKind::kMissing});
  server.pass(kReturnNs);
  CHECK(listed(server, tool) == std::vector<std::string>{"-long-gone", "-stuck"});
  CHECK(kinds_of(server) ==
        std::vector<BusEventKind>{BusEventKind::kMissing, BusEventKind::kMissing});
}

TEST_CASE("Until its time is up a subscriber is awaited in the next session, too") {
  Restarted server({expected("stuck")});
  const std::vector<SubscriberInfoFrame> left = server.server->missing().all();
  REQUIRE(left.size() == 1);
  CHECK(left.front().state != ClientState::kMissing);
  Restarted next(left);
  CHECK(next.server->missing().list().empty());
  next.pass(kReturnNs);
  REQUIRE(next.server->missing().list().size() == 1);
  CHECK(next.server->missing().list().front().missing_since_wall_ns ==
        left.front().missing_since_wall_ns);
}

TEST_CASE("Who returns late is missing no more") {
  Restarted server({expected("stuck")});
  server.pass(kReturnNs);
  BareClient stuck = greeted(server, hello_frame("stuck"));
  BareClient tool = greeted(server, hello_frame("tool", ClientRole::kTool));
  CHECK(listed(server, tool) == std::vector<std::string>{"stuck"});
}

TEST_CASE("Of two with the same name the one that returns is missing no more") {
  SubscriberInfoFrame other = expected("twin");
  SubscriberInfoFrame same = expected("twin");
  same.pid = static_cast<std::uint32_t>(::getpid());
  same.process_start = identity_of(same.pid).start_ticks;
  Restarted server({other, same});
  BareClient twin = greeted(server, hello_frame("twin"));
  server.pass(kReturnNs);
  REQUIRE(server.server->missing().list().size() == 1);
  CHECK(server.server->missing().list().front().pid == other.pid);
}

TEST_CASE("Of two with the same name one returns") {
  Restarted server({expected("twin"), expected("twin")});
  BareClient twin = greeted(server, hello_frame("twin"));
  server.pass(kReturnNs);
  BareClient tool = greeted(server, hello_frame("tool", ClientRole::kTool));
  CHECK(listed(server, tool) == std::vector<std::string>{"twin", "-twin"});
}

TEST_CASE("A subscriber of another user, an observer and a tool do not return for it") {
  Restarted server({expected("stuck", ::geteuid() + 1), expected("watched"), expected("asked")});
  HelloFrame observer = hello_frame("watched");
  observer.observes = 1;
  BareClient first = greeted(server, hello_frame("stuck"));
  BareClient second = greeted(server, observer);
  BareClient tool = greeted(server, hello_frame("asked", ClientRole::kTool));
  server.pass(kReturnNs);
  CHECK(listed(server, tool) ==
        std::vector<std::string>{"stuck", "watched", "-stuck", "-watched", "-asked"});
}

TEST_CASE("An older client is not shown states that it does not know") {
  Restarted server({expected("stuck")});
  server.pass(kReturnNs);
  HelloFrame older = hello_frame("older", ClientRole::kTool);
  older.version = kMissingVersionMin - 1;
  BareClient tool = greeted(server, older);
  CHECK(listed(server, tool).empty());
}

TEST_CASE("A missing subscriber is forgotten by its name, and all are at once") {
  Restarted server({expected("a"), expected("b"), expected("b"), expected("c")});
  server.pass(kReturnNs);
  BareClient tool = greeted(server, hello_frame("tool", ClientRole::kTool));
  REQUIRE(tool.send(forget_frame("b")));
  server.settle();
  auto answer = tool.expect<ForgottenFrame>(FrameType::kForgotten);
  CHECK(answer.tag == 9);
  CHECK(answer.count == 2);
  CHECK(answer.error == 0);
  CHECK(listed(server, tool) == std::vector<std::string>{"-a", "-c"});
  REQUIRE(tool.send(forget_frame("unknown")));
  server.settle();
  CHECK(tool.expect<ForgottenFrame>(FrameType::kForgotten).count == 0);
  ForgetFrame all = forget_frame("");
  all.all = 1;
  REQUIRE(tool.send(all));
  server.settle();
  CHECK(tool.expect<ForgottenFrame>(FrameType::kForgotten).count == 2);
  CHECK(listed(server, tool).empty());
  CHECK(std::ranges::count(kinds_of(server), BusEventKind::kForgotten) == 4);
}

TEST_CASE("No more are kept than there is room for in a list") {
  const MissingSubscribers missing(
      std::vector<SubscriberInfoFrame>(kMissingMax + 1, expected("one")), 5);
  CHECK(missing.all().size() == kMissingMax);
}

}  // namespace
}  // namespace lapwing
