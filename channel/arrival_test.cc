// Tests waiting for the first of several duplex events: replies to its own calls, and messages from
// the other side.
#include <chrono>
#include <optional>
#include <utility>
#include <vector>

#include "testing/duplex_fixture.h"
#include "testing/is_readable.h"
#include "testing/skip.h"
#include "testing/waiting_call.h"

namespace lapwing {
namespace {

TEST_CASE("wait_any takes replies, calls and one-way messages as they arrive") {
  DuplexPair pair;
  const CallId asked = pair.call_taken("how much?");
  CHECK(pair.client().try_wait_any().error() == Errc::kWouldBlock);
  REQUIRE(pair.server().try_send(bytes_of("hint"), 7) == Errc::kOk);
  Result<Arrival> arrival = pair.client().try_wait_any();
  REQUIRE(arrival->kind == Arrival::Kind::kIncoming);
  CHECK(arrival.ok());
  CHECK_FALSE(arrival->incoming.is_call());
  CHECK(arrival->incoming.type == 7);
  CHECK(text_of(arrival->incoming.payload) == "hint");
  CHECK(arrival->reply.error() == Errc::kWouldBlock);
  REQUIRE(pair.server().reply(asked, bytes_of("ten"), 6) == Errc::kOk);
  arrival = pair.client().wait_any(soon());
  REQUIRE(arrival->kind == Arrival::Kind::kReply);
  CHECK(arrival.ok());
  CHECK(arrival->reply->call == asked);
  CHECK(text_of(arrival->reply->payload) == "ten");
  const CallId its = *pair.server().try_start(bytes_of("and you?"), 8);
  arrival = pair.client().wait_any(soon());
  REQUIRE(arrival->kind == Arrival::Kind::kIncoming);
  CHECK(arrival->incoming.call == its);
  REQUIRE(pair.client().reply(its, bytes_of("fine"), 9) == Errc::kOk);
  arrival = pair.server().try_wait_any();
  REQUIRE(arrival->kind == Arrival::Kind::kReply);
  CHECK(text_of(arrival->reply->payload) == "fine");
}

TEST_CASE("wait_any may wait while no call is under way") {
  DuplexPair pair;
  const Result<Arrival> nothing = pair.client().try_wait_any();
  CHECK(nothing.error() == Errc::kWouldBlock);
  CHECK(pair.client().wait_any(std::chrono::milliseconds(1)).error() == Errc::kTimedOut);
  CHECK(pair.client().status().ok());
}

TEST_CASE("If replies and messages have arrived, wait_any takes them in turn") {
  DuplexPair pair;
  constexpr std::uint32_t kEach = 5;
  std::vector<CallId> calls;
  for (std::uint32_t i = 0; i < kEach; ++i) calls.push_back(pair.call_taken("x"));
  for (std::uint32_t i = 0; i < kEach; ++i) {
    REQUIRE(pair.server().reply(calls[i], {}, i) == Errc::kOk);
  }
  for (std::uint32_t i = 0; i < kEach; ++i) REQUIRE(pair.server().try_send({}, i) == Errc::kOk);
  std::optional<Arrival::Kind> last;
  std::uint32_t replies = 0;
  std::uint32_t messages = 0;
  while (replies + messages < 2 * kEach) {
    const Result<Arrival> arrival = pair.client().try_wait_any();
    REQUIRE(arrival.ok());
    CHECK(last != arrival->kind);
    last = arrival->kind;
    if (arrival->kind == Arrival::Kind::kReply) {
      CHECK(arrival->reply->type == replies++);
    } else {
      CHECK(arrival->incoming.type == messages++);
    }
  }
  CHECK(replies == kEach);
}

TEST_CASE("A call that expires ends, although messages keep arriving") {
  DuplexPair pair;
  const CallId call = pair.call_taken("slow", Deadline::now());
  for (int i = 0; i < 3; ++i) REQUIRE(pair.server().try_send({}, 0) == Errc::kOk);
  int messages = 0;
  Result<Arrival> arrival = pair.client().try_wait_any();
  for (; arrival->kind == Arrival::Kind::kIncoming && messages < 10; ++messages) {
    REQUIRE(pair.server().try_send({}, 0) == Errc::kOk);
    arrival = pair.client().try_wait_any();
  }
  CHECK(messages < 2);
  REQUIRE(arrival->kind == Arrival::Kind::kReply);
  CHECK(arrival->reply.error() == Errc::kTimedOut);
  CHECK(arrival->reply->call == call);
  CHECK(pair.client().finish(call).error() == Errc::kMisuse);  // it has ended
}

TEST_CASE("A call's own deadline ends a wait for anything") {
  DuplexPair pair({.wait = WaitStrategy::kPark});
  const CallId call = pair.call_taken("slow", std::chrono::milliseconds(20));
  const Result<Arrival> arrival = pair.client().wait_any(soon());
  REQUIRE(arrival->kind == Arrival::Kind::kReply);
  CHECK(arrival->reply.error() == Errc::kTimedOut);
  CHECK(arrival->reply->call == call);
  CHECK(pair.client().try_wait_any().error() == Errc::kWouldBlock);
}

TEST_CASE("A reply and a message each end a sleep for anything") {
  DuplexPair pair({.wait = WaitStrategy::kPark});
  const CallId call = pair.call_taken("x");
  Result<> sent = Errc::kMisuse;
  Result<Arrival> arrival = while_it_waits([&] { return pair.client().wait_any(soon()); },
                                           [&] { sent = pair.server().reply(call, {}, 2); });
  CHECK(sent == Errc::kOk);
  CHECK(arrival->kind == Arrival::Kind::kReply);
  arrival = while_it_waits([&] { return pair.client().wait_any(soon()); },
                           [&] { sent = pair.server().try_send({}, 3); });
  CHECK(sent == Errc::kOk);
  CHECK(arrival->incoming.type == 3);
}

TEST_CASE("wait_any delivers a late reply if that is requested") {
  DuplexPair pair({.late_replies = true});
  const CallId call = pair.call_taken("slow", Deadline::now());
  CHECK(pair.client().try_wait_any()->reply.error() == Errc::kTimedOut);
  CHECK(pair.client().try_wait_any().error() == Errc::kWouldBlock);
  REQUIRE(pair.server().reply(call, {}, 2) == Errc::kOk);
  const Result<Arrival> arrival = pair.client().try_wait_any();
  CHECK(arrival->reply->call == call);
  CHECK(arrival->reply->is_late);
}

TEST_CASE("Messages from before the end are taken first, then each call ends, then the channel") {
  DuplexPair pair;
  const CallId answered = pair.call_taken("a");
  const CallId pending[] = {pair.call_taken("b"), pair.call_taken("c")};
  REQUIRE(pair.server().reply(answered, {}, 2) == Errc::kOk);
  REQUIRE(pair.server().try_send({}, 3) == Errc::kOk);
  pair.server().close();
  CHECK(pair.client().wait_any(soon())->reply->call == answered);
  CHECK(pair.client().wait_any(soon())->incoming.type == 3);
  for (const CallId call : pending) {
    const Result<Arrival> arrival = pair.client().wait_any(soon());
    CHECK(arrival.ok());
    REQUIRE(arrival->kind == Arrival::Kind::kReply);
    CHECK(arrival->reply.error() == Errc::kClosed);
    CHECK(arrival->reply->call == call);
  }
  for (int i = 0; i < 2; ++i) {
    const Result<Arrival> over = pair.client().wait_any(soon());
    CHECK(over.error() == Errc::kClosed);
    CHECK(pair.client().try_wait_any().error() == Errc::kClosed);
  }
  CHECK(errc_of(pair.client().status()) == Errc::kClosed);
}

TEST_CASE(
    "After the end, finish_any ends each call in turn and then returns how the channel ended") {
  DuplexPair pair;
  const CallId pending[] = {pair.call_taken("b"), pair.call_taken("c")};
  pair.server().close();
  for (const CallId call : pending) {
    const Result<Reply> reply = pair.client().finish_any(soon());
    CHECK(reply.error() == Errc::kClosed);
    CHECK(reply->call == call);
    CHECK(pair.client().finish(call).error() == Errc::kMisuse);  // it has ended
  }
  for (int i = 0; i < 2; ++i) {
    const Result<Reply> over = pair.client().finish_any(soon());
    CHECK(over.error() == Errc::kClosed);
    CHECK(over->call == 0);
  }
}

TEST_CASE("wait_any of an end that was moved from or closed is misuse") {
  DuplexPair pair;
  Duplex moved = std::move(pair.client());
  CHECK(pair.client().try_wait_any().error() == Errc::kMisuse);
  CHECK(pair.client().wait_any(soon()).error() == Errc::kMisuse);
  moved.close();
  CHECK(moved.wait_any(soon()).error() == Errc::kMisuse);
  CHECK(errc_of(moved.status()) == Errc::kClosed);
}

TEST_CASE("wait_any that overlaps a wait is misuse, and disturbs nothing") {
  if (kThreadSanitizer) LAPWING_SKIP("the misuse is a data race, which a sanitizer reports");
  DuplexPair pair({.wait = WaitStrategy::kPark});
  Errc overlapped = Errc::kOk;
  Result<> sent = Errc::kMisuse;
  const Result<Arrival> arrival = while_it_waits([&] { return pair.client().wait_any(soon()); },
                                                 [&] {
                                                   overlapped =
                                                       pair.client().try_wait_any().error();
                                                   sent = pair.server().try_send({}, 3);
                                                 });
  CHECK(overlapped == Errc::kMisuse);
  CHECK(sent == Errc::kOk);
  CHECK(arrival->incoming.type == 3);
}

TEST_CASE("An event loop that is woken takes arrived messages with try_wait_any") {
  DuplexPair pair;
  REQUIRE(pair.client().arm());
  CHECK_FALSE(is_readable(pair.client().fd()));
  REQUIRE(pair.server().try_send({}, 3) == Errc::kOk);
  CHECK(is_readable(pair.client().fd()));
  CHECK(pair.client().try_wait_any()->incoming.type == 3);
}

}  // namespace
}  // namespace lapwing
