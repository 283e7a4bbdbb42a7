// Tests the reported progress of requests whose calls ended without an answer, and which one-way
// messages were taken.
#include <atomic>
#include <chrono>
#include <csignal>
#include <string>
#include <vector>

#include "testing/child_process.h"
#include "testing/duplex_fixture.h"
#include "testing/far_deadline.h"
#include "testing/listening_child.h"

namespace lapwing {
namespace {

TEST_CASE("The request of an expired call is reported as sent, and later as taken") {
  DuplexPair pair;
  const CallId sent = *pair.client().try_start(bytes_of("x"), 0, Deadline::now());
  Result<Reply> reply = pair.client().finish(sent);
  CHECK(reply.error() == Errc::kTimedOut);
  CHECK(reply->delivery == Delivery::kSent);
  REQUIRE(pair.server().try_next()->call == sent);
  const CallId taken = pair.call_taken("x", Deadline::now());
  reply = pair.client().try_finish_any();
  CHECK(reply->call == taken);
  CHECK(reply.error() == Errc::kTimedOut);
  CHECK(reply->delivery == Delivery::kTaken);
}

TEST_CASE("A request that found no room, or was refused, is reported as not sent") {
  DuplexPair pair({.capacity = 1024, .message_bytes_max = 400});
  const std::vector<std::byte> large(400);
  for (int i = 0; i < 2; ++i) REQUIRE(pair.client().try_send(large, 0) == Errc::kOk);
  Result<Reply> reply = pair.client().call(large, 0, kPast);
  CHECK(reply.error() == Errc::kTimedOut);
  CHECK(reply->delivery == Delivery::kNotSent);
  CHECK(reply->call == 0);
  reply = pair.client().call(std::vector<std::byte>(401), 0, kPast);
  CHECK(reply.error() == Errc::kMisuse);
  CHECK(reply->delivery == Delivery::kNotSent);
}

TEST_CASE("An answer reports that its request was taken, and an unknown call reports nothing") {
  DuplexPair pair;
  const CallId call = pair.call_taken("x");
  CHECK(pair.client().try_finish_any()->delivery == Delivery::kUnknown);  // the call continues
  REQUIRE(pair.server().reply(call, {}, 0) == Errc::kOk);
  CHECK(pair.client().finish(call)->delivery == Delivery::kTaken);
  CHECK(pair.client().finish(call)->delivery == Delivery::kUnknown);
}

TEST_CASE("An interrupted wait reports the progress of the request") {
  DuplexPair pair;
  const CallId call = *pair.client().try_start(bytes_of("x"), 0);
  for (const Delivery expected : {Delivery::kSent, Delivery::kTaken}) {
    pair.client().interrupt();
    const Result<Reply> reply = pair.client().finish(call);
    CHECK(reply.error() == Errc::kInterrupted);
    CHECK(reply->delivery == expected);
    if (expected == Delivery::kSent) REQUIRE(pair.server().try_next()->call == call);
  }
  REQUIRE(pair.server().reply(call, {}, 0) == Errc::kOk);
  CHECK(pair.client().finish(call).error() == Errc::kOk);
}

TEST_CASE("The calls of an end that closed itself report their progress") {
  DuplexPair pair;
  const CallId taken = pair.call_taken("a");
  const CallId sent = *pair.client().try_start(bytes_of("b"), 0);
  pair.client().close();
  CHECK(pair.client().finish(taken)->delivery == Delivery::kTaken);
  CHECK(pair.client().finish(sent)->delivery == Delivery::kSent);
}

// Waits for the calls to end, in each possible way.
std::vector<Result<Reply>> ends_of(Duplex& client, const std::vector<CallId>& calls) {
  std::vector<Result<Reply>> ends;
  const int way = GENERATE(0, 1, 2);
  for (const CallId call : calls) {
    Result<Reply> end = way == 0   ? client.finish(call)
                        : way == 1 ? client.finish_any(soon())
                                   : client.wait_any(soon())->reply;
    CHECK(end->call == call);
    ends.push_back(end);
  }
  return ends;
}

TEST_CASE("After a close, each call reports whether its request was taken") {
  DuplexPair pair;
  const CallId taken = pair.call_taken("a");
  const CallId sent = *pair.client().try_start(bytes_of("b"), 0);
  pair.server().close();
  const std::vector<Result<Reply>> ends = ends_of(pair.client(), {taken, sent});
  CHECK(ends[0].error() == Errc::kClosed);
  CHECK(ends[0]->delivery == Delivery::kTaken);
  CHECK(ends[1].error() == Errc::kClosed);
  CHECK(ends[1]->delivery == Delivery::kSent);
  const Result<Reply> late = pair.client().call(bytes_of("c"), 0, soon());
  CHECK(late.error() == Errc::kClosed);
  CHECK(late->delivery == Delivery::kNotSent);
}

TEST_CASE("After a kill, each call reports whether its request was not sent, sent or taken") {
  const TemporaryDirectory directory;
  const std::string path = directory.file("duplex.sock");
  const ChannelOptions options = {.capacity = 1024, .message_bytes_max = 400};
  const Shared<std::atomic<bool>> has_taken;
  ChildProcess server = listening_child(path, [&](ChannelListener& listener) {
    auto duplex = Duplex::accept(listener, options, soon());
    if (!duplex.ok() || duplex->next(soon()).error() != Errc::kOk) return 1;
    has_taken->store(true);
    for (;;) pause();
  });
  auto client = Duplex::connect(path, options, soon());
  REQUIRE(client.ok());
  const std::vector<std::byte> large(400);
  const CallId taken = *client->start(large, 0, soon());
  for (const Deadline hangs = soon(); !has_taken->load();) REQUIRE_FALSE(hangs.has_passed());
  server.stop();
  const CallId sent[] = {*client->try_start(large, 0), *client->try_start(large, 0)};
  REQUIRE(client->call(large, 0, kPast)->delivery == Delivery::kNotSent);  // no room
  server.send(SIGKILL);
  REQUIRE(server.wait() == -SIGKILL);
  const std::vector<Result<Reply>> ends = ends_of(*client, {taken, sent[0], sent[1]});
  for (const Result<Reply>& end : ends) CHECK(end.error() == Errc::kPeerGone);
  CHECK(ends[0]->delivery == Delivery::kTaken);
  CHECK(ends[1]->delivery == Delivery::kSent);
  CHECK(ends[2]->delivery == Delivery::kSent);
  const Result<Reply> late = client->call({}, 0, soon());
  CHECK(late.error() == Errc::kPeerGone);
  CHECK(late->delivery == Delivery::kNotSent);
}

TEST_CASE(
    "Messages in a dead peer's inbox count as taken, although its program never received them") {
  DuplexPair pair;
  const CallId got = *pair.client().try_start(bytes_of("a"), 0);
  const CallId not_got = *pair.client().try_start(bytes_of("b"), 0);
  REQUIRE(pair.server().try_next()->call == got);  // receives both
  pair.server().close();
  CHECK(pair.client().finish(got)->delivery == Delivery::kTaken);
  CHECK(pair.client().finish(not_got)->delivery == Delivery::kTaken);
}

TEST_CASE("One-way messages are counted as taken when the other side's program has received them") {
  DuplexPair pair;
  for (int i = 0; i < 5; ++i) REQUIRE(pair.client().try_send({}, 0) == Errc::kOk);
  CHECK(pair.client().duplex_counters().one_ways_sent == 5);
  CHECK(pair.client().duplex_counters().one_ways_taken == 0);
  for (std::uint64_t taken = 1; taken <= 3; ++taken) {
    REQUIRE(pair.server().try_next().error() == Errc::kOk);  // the first call receives all of them
    CHECK(pair.client().duplex_counters().one_ways_taken == taken);
  }
  pair.server().close();
  REQUIRE(pair.client().next(soon()).error() == Errc::kClosed);
  CHECK(pair.client().try_send({}, 0) == Errc::kClosed);
  CHECK(pair.client().duplex_counters().one_ways_sent == 5);
  CHECK(pair.client().duplex_counters().one_ways_taken == 3);
}

}  // namespace
}  // namespace lapwing
