// Tests calls: many at once, in any order, with deadlines, and how they end.

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <map>
#include <random>
#include <thread>
#include <vector>

#include "lapwing/duplex.h"
#include "testing/channel_fixture.h"
#include "testing/duplex_fixture.h"
#include "testing/far_deadline.h"

namespace lapwing {
namespace {

constexpr std::uint32_t kWindow = 64;

std::string number(std::uint64_t n) {
  return std::to_string(n);
}

TEST_CASE("A call gets the reply to it") {
  DuplexPair pair;
  const CallId call = pair.call_taken("how much?");
  REQUIRE(pair.server().reply(call, bytes_of("ten"), 6) == Errc::kOk);
  const Result<Reply> reply = pair.client().finish(call);
  REQUIRE(reply.ok());
  CHECK_FALSE(reply->is_error);
  CHECK(reply->type == 6);
  CHECK(text_of(reply->payload) == "ten");
}

struct Ask {
  std::uint64_t instrument;
};
struct Price {
  std::int64_t price;
  std::int64_t size;
};
enum class Topic : std::uint32_t { kAsk = 7, kPrice = 8, kHint = 9 };

TEST_CASE("Structs and types of an enumeration are sent and received unchanged") {
  DuplexPair pair;
  const Result<CallId> started = pair.client().try_start(Ask{17}, Topic::kAsk);
  REQUIRE(started.ok());
  const Result<Incoming> in = pair.server().try_next();
  CHECK(in->is(Topic::kAsk));
  CHECK_FALSE(in->is(Topic::kHint));
  CHECK_FALSE(in->as<Price>());  // has a different size
  REQUIRE(in->as<Ask>());
  CHECK(in->as<Ask>()->instrument == 17);
  REQUIRE(pair.server().reply(in->call, Price{-5, 3}, Topic::kPrice) == Errc::kOk);
  const Result<Reply> reply = pair.client().finish(*started);
  CHECK(reply->is(Topic::kPrice));
  REQUIRE(reply->as<Price>());
  CHECK(reply->as<Price>()->price == -5);
  REQUIRE(pair.server().try_send(Ask{4}, Topic::kHint) == Errc::kOk);
  CHECK(pair.client().try_next()->is(Topic::kHint));
}

TEST_CASE("An error or a missing message is not a struct") {
  DuplexPair pair;
  const CallId call = pair.call_taken("how much?");
  REQUIRE(pair.server().reply_error(call, 1, "8 letter") == Errc::kOk);
  const Result<Reply> error = pair.client().finish(call);
  REQUIRE(error->payload.size() == sizeof(Ask));
  CHECK_FALSE(error->as<Ask>());
  CHECK_FALSE(error->is(static_cast<Topic>(0)));
  const Result<Reply> late = pair.client().call(Ask{1}, Topic::kAsk, kPast);
  CHECK(late.error() == Errc::kTimedOut);
  CHECK_FALSE(late->as<Ask>());
  CHECK_FALSE(pair.client().try_next()->as<Ask>());
}

TEST_CASE("A server's error arrives as a value") {
  DuplexPair pair;
  const CallId call = pair.call_taken("divide by 0");
  REQUIRE(pair.server().reply_error(call, 33, "cannot divide by 0") == Errc::kOk);
  const Result<Reply> reply = pair.client().finish(call);
  REQUIRE(reply.ok());
  CHECK(reply->is_error);
  CHECK(reply->code == 33);
  CHECK(text_of(reply->payload) == "cannot divide by 0");
}

TEST_CASE("64 calls in flight get their own replies, in any order") {
  DuplexPair pair({.capacity = 1 << 16, .message_bytes_max = 64, .call_window = kWindow});
  std::mt19937 random(7);
  for (int round = 0; round < 200; ++round) {
    std::map<CallId, std::string> asked;
    std::vector<CallId> to_answer;
    for (std::uint32_t i = 0; i < kWindow; ++i) {
      const std::string text = number(random());
      const CallId call = pair.call_taken(text);
      asked[call] = text;
      to_answer.push_back(call);
    }
    REQUIRE(asked.size() == kWindow);
    CHECK(pair.client().try_start(bytes_of("one more"), 1).error() == Errc::kWouldBlock);
    std::shuffle(to_answer.begin(), to_answer.end(), random);
    for (const CallId call : to_answer) {
      REQUIRE(pair.server().reply(call, bytes_of("re " + asked[call]), 2) == Errc::kOk);
    }
    const bool as_they_come = round % 2 == 0;
    for (const auto& [call, text] : asked) {
      const Result<Reply> reply =
          as_they_come ? pair.client().try_finish_any() : pair.client().finish(call);
      REQUIRE(reply.ok());
      REQUIRE(text_of(reply->payload) == "re " + asked.at(reply->call));
      if (as_they_come) REQUIRE(reply->call == to_answer.front());
      to_answer.erase(std::find(to_answer.begin(), to_answer.end(), reply->call));
    }
    REQUIRE(to_answer.empty());
  }
  CHECK(pair.client().try_finish_any().error() == Errc::kMisuse);
}

TEST_CASE("A duplex that waits in an event loop counts it like any other wait") {
  DuplexPair pair;
  REQUIRE(pair.client().arm());
  CHECK(pair.client().counters().empty_waits == 1);
  CHECK(pair.client().counters().sleeps == 1);
}

TEST_CASE("A call whose deadline passes is over, and its late reply is dropped and counted") {
  DuplexPair pair;
  for (std::uint64_t round = 1; round <= 300; ++round) {  // more rounds than places
    const CallId call = pair.call_taken("slow", Deadline::now());
    CHECK(pair.client().finish(call).error() == Errc::kTimedOut);
    CHECK(pair.client().finish(call).error() == Errc::kMisuse);  // it ended once
    REQUIRE(pair.server().reply(call, bytes_of("too late"), 0) == Errc::kOk);
    const CallId next = pair.call_taken("next");
    REQUIRE(pair.server().reply(next, bytes_of("in time"), 0) == Errc::kOk);
    CHECK(text_of(pair.client().finish(next)->payload) == "in time");
    CHECK(pair.client().duplex_counters().late_replies == round);
  }
}

TEST_CASE("A late reply is delivered and marked if that is requested") {
  DuplexPair pair({.late_replies = true});
  const CallId expired = pair.call_taken("slow", Deadline::now());
  const CallId cancelled = pair.call_taken("never mind");
  CHECK(pair.client().finish(expired).error() == Errc::kTimedOut);
  CHECK(pair.client().cancel(cancelled) == Errc::kOk);
  CHECK(pair.client().try_finish_any().error() == Errc::kWouldBlock);  // both may still arrive
  CHECK(pair.client().finish_any(kPast).error() == Errc::kTimedOut);
  REQUIRE(pair.server().reply(cancelled, bytes_of("done all the same"), 2) == Errc::kOk);
  CHECK(pair.client().try_next().error() == Errc::kWouldBlock);     // receives the reply
  CHECK(pair.client().finish(cancelled).error() == Errc::kMisuse);  // it has ended anyway
  CHECK(pair.client().cancel(cancelled) == Errc::kMisuse);
  REQUIRE(pair.server().reply_error(expired, 33, "too late") == Errc::kOk);
  Result<Reply> reply = pair.client().finish_any(Deadline::never());
  CHECK(reply.ok());
  CHECK(reply->call == cancelled);
  CHECK(reply->is_late);
  CHECK(text_of(reply->payload) == "done all the same");
  reply = pair.client().try_finish_any();
  CHECK(reply->call == expired);
  CHECK(reply->is_late);
  CHECK(reply->is_error);
  CHECK(pair.client().try_finish_any().error() == Errc::kMisuse);
  CHECK(pair.client().duplex_counters().late_replies == 2);
  const CallId next = pair.call_taken("next");
  REQUIRE(pair.server().reply(next, {}, 0) == Errc::kOk);
  CHECK_FALSE(pair.client().finish(next)->is_late);
}

TEST_CASE("A late reply that the program does not take keeps its slot") {
  DuplexPair pair({.call_window = 1, .late_replies = true});
  const CallId call = pair.call_taken("slow", Deadline::now());
  CHECK(pair.client().finish(call).error() == Errc::kTimedOut);
  REQUIRE(pair.server().reply(call, {}, 0) == Errc::kOk);
  CHECK(pair.client().try_start(bytes_of("next"), 0).error() == Errc::kMisuse);
  CHECK(pair.client().try_finish_any()->is_late);
  CHECK(pair.client().try_start(bytes_of("next"), 0).error() == Errc::kOk);
}

TEST_CASE("An expired call keeps its slot until its reply has arrived") {
  DuplexPair pair({.call_window = 1});
  const CallId call = pair.call_taken("slow", Deadline::now());
  CHECK(pair.client().try_finish_any().error() == Errc::kTimedOut);
  CHECK(pair.client().try_start(bytes_of("next"), 0).error() == Errc::kWouldBlock);
  REQUIRE(pair.server().reply(call, {}, 0) == Errc::kOk);
  CHECK(pair.client().try_start(bytes_of("next"), 0).error() == Errc::kOk);
}

TEST_CASE("The server can detect that a call was cancelled or has expired") {
  DuplexPair pair;
  const CallId cancelled = pair.call_taken("never mind");
  const CallId expired = pair.call_taken("too slow", Deadline::now());
  const CallId kept = pair.call_taken("do it");
  REQUIRE(pair.client().cancel(cancelled) == Errc::kOk);
  REQUIRE(pair.client().finish(expired).error() == Errc::kTimedOut);
  CHECK(pair.server().try_next().error() == Errc::kWouldBlock);
  CHECK(pair.server().is_cancelled(cancelled));
  CHECK(pair.server().is_cancelled(expired));
  CHECK_FALSE(pair.server().is_cancelled(kept));
  CHECK(pair.client().finish(cancelled).error() == Errc::kMisuse);
  for (const CallId call : {cancelled, expired, kept}) {
    CHECK(pair.server().reply(call, {}, 0) == Errc::kOk);
  }
  CHECK(pair.client().try_finish_any()->call == kept);
  CHECK(pair.client().duplex_counters().late_replies == 2);
}

TEST_CASE("A server that does nothing but work on a call can ask whether it was cancelled") {
  DuplexPair pair;
  const CallId call = pair.call_taken("never mind");
  CHECK_FALSE(pair.server().is_cancelled(call));
  REQUIRE(pair.client().cancel(call) == Errc::kOk);
  CHECK(pair.server().is_cancelled(call));
}

TEST_CASE("A cancellation that crosses the reply is ignored by both sides") {
  DuplexPair pair;
  const CallId call = pair.call_taken("quick");
  REQUIRE(pair.server().reply(call, {}, 0) == Errc::kOk);
  REQUIRE(pair.client().cancel(call) == Errc::kOk);
  const CallId next = pair.call_taken("next");
  CHECK_FALSE(pair.server().is_cancelled(next));
  CHECK(pair.server().reply(next, bytes_of("fine"), 0) == Errc::kOk);
  CHECK(text_of(pair.client().finish(next)->payload) == "fine");
}

TEST_CASE("A reply that arrived before its call was cancelled frees the slot") {
  DuplexPair pair({.call_window = 1});
  const CallId call = pair.call_taken("quick");
  REQUIRE(pair.server().reply(call, {}, 0) == Errc::kOk);
  CHECK(pair.client().try_next().error() == Errc::kWouldBlock);  // receives the reply
  REQUIRE(pair.client().cancel(call) == Errc::kOk);
  CHECK(pair.client().try_start({}, 0).error() == Errc::kOk);
}

TEST_CASE("A call that could not be sent frees its slot") {
  DuplexPair pair({.capacity = 1024, .message_bytes_max = 400, .call_window = 2});
  const std::vector<std::byte> large(400);
  for (int i = 0; i < 2; ++i) REQUIRE(pair.client().try_send(large, 0) == Errc::kOk);
  for (int i = 0; i < 3; ++i) {
    CHECK(pair.client().try_start(large, 0).error() == Errc::kWouldBlock);
    CHECK(pair.client().start(large, 0, Deadline::now()).error() == Errc::kWouldBlock);
    CHECK(pair.client().start(large, 0, kPast).error() == Errc::kTimedOut);
  }
  REQUIRE(pair.server().try_next().error() == Errc::kOk);
  for (int i = 0; i < 2; ++i) {
    CHECK(pair.client().try_start({}, 0).error() == Errc::kOk);
  }
}

TEST_CASE("A received message stays unchanged while the inbox fills") {
  DuplexPair pair({.call_window = 1});
  REQUIRE(pair.server().try_send(bytes_of("first"), 0) == Errc::kOk);
  const Result<Incoming> first = pair.client().try_next();
  REQUIRE(pair.server().try_send(bytes_of("other"), 0) == Errc::kOk);
  REQUIRE(pair.server().try_start(bytes_of("calls"), 0).error() == Errc::kOk);
  REQUIRE(pair.client().try_send({}, 0) == Errc::kOk);  // receives both
  CHECK(text_of(first->payload) == "first");
  CHECK(text_of(pair.client().try_next()->payload) == "other");
  CHECK(text_of(pair.client().try_next()->payload) == "calls");
}

TEST_CASE("One-way messages and calls arrive in the order in which they were sent") {
  DuplexPair pair;
  REQUIRE(pair.client().try_send(bytes_of("first"), 1) == Errc::kOk);
  const Result<CallId> call = pair.client().try_start(bytes_of("second"), 2);
  REQUIRE(pair.client().try_send(bytes_of("third"), 3) == Errc::kOk);
  for (const std::string expected : {"first", "second", "third"}) {
    const Result<Incoming> in = pair.server().try_next();
    REQUIRE(in.ok());
    CHECK(text_of(in->payload) == expected);
    CHECK(in->is_call() == (in->call == *call && *call != 0));
  }
}

TEST_CASE("One-way messages wait for earlier ones that the other side has not taken") {
  DuplexPair pair({.call_window = 3});
  for (int i = 0; i < 3; ++i) REQUIRE(pair.client().try_send({}, 0) == Errc::kOk);
  for (int round = 0; round < 100; ++round) {
    CHECK(pair.client().try_send({}, 0) == Errc::kWouldBlock);
    // A reply still arrives.
    const Result<CallId> call = pair.client().try_start({}, 1);
    REQUIRE(call.ok());
    for (int i = 0; i < 3; ++i) {
      REQUIRE_FALSE(pair.server().try_next()->is_call());
      REQUIRE(pair.client().try_send({}, 0) == Errc::kOk);
    }
    REQUIRE(pair.server().try_next()->call == *call);
    REQUIRE(pair.server().reply(*call, {}, 0) == Errc::kOk);
    REQUIRE(pair.client().finish(*call).error() == Errc::kOk);
  }
}

TEST_CASE("A sender of one-way messages that sleeps is woken when one is taken") {
  DuplexPair pair({.call_window = 1, .wait = WaitStrategy::kPark});
  constexpr int kMessages = 3000;
  int sent = 0;
  std::thread sender([&] {
    for (int i = 0; i < kMessages; ++i) {
      sent += pair.client().send({}, static_cast<std::uint32_t>(i), soon()).ok();
    }
  });
  for (std::uint32_t i = 0; i < kMessages; ++i) {
    const Result<Incoming> in = pair.server().next(soon());
    REQUIRE(in.ok());
    REQUIRE(in->type == i);
  }
  sender.join();
  CHECK(sent == kMessages);
}

// Sends more messages than a duplex receives at a time, and then the reply.
CallId reply_behind_many(DuplexPair& pair) {
  const CallId call = pair.call_taken("last");
  for (std::uint32_t i = 0; i < 3000; ++i) {
    REQUIRE(pair.server().try_send({}, i) == Errc::kOk);
  }
  REQUIRE(pair.server().reply(call, bytes_of("here"), 0) == Errc::kOk);
  return call;
}
const ChannelOptions kLargeWindow = {.call_window = 4096, .wait = WaitStrategy::kPark};

TEST_CASE("A side does not sleep while more messages arrived than it takes in at a time") {
  DuplexPair pair(kLargeWindow);
  const CallId call = reply_behind_many(pair);
  SECTION("waiting for it") {
    CHECK(text_of(pair.client().finish(call)->payload) == "here");
    CHECK(pair.client().counters().sleeps == 0);
  }
  SECTION("polling for it") {
    int turns = 0;
    while (pair.client().try_finish_any().error() == Errc::kWouldBlock) {
      REQUIRE_FALSE(pair.client().arm());
      REQUIRE(++turns < 10);
    }
  }
}

TEST_CASE("A side does not poll while more messages arrived than it takes in at a time") {
  DuplexPair pair(kLargeWindow);
  std::vector<CallId> calls;
  for (int i = 0; i < 4000; ++i) calls.push_back(pair.call_taken("never mind"));
  for (const CallId call : calls) REQUIRE(pair.client().cancel(call) == Errc::kOk);
  for (const CallId call : calls) {
    REQUIRE(pair.server().reply(call, {}, 0) == Errc::kOk);
  }
  REQUIRE(pair.server().try_send(bytes_of("here"), 0) == Errc::kOk);
  // The first messages are received, but not returned.
  Result<Incoming> in = pair.client().try_next();
  for (int i = 0; i < 10 && in.error() == Errc::kWouldBlock; ++i) {
    REQUIRE_FALSE(pair.client().arm());
    in = pair.client().try_next();
  }
  CHECK(text_of(in->payload) == "here");
}

TEST_CASE("Messages beyond those taken in at a time are read after a close") {
  DuplexPair pair(kLargeWindow);
  const CallId call = reply_behind_many(pair);
  pair.server().close();
  SECTION("by who waits for it") {
    CHECK(text_of(pair.client().finish(call)->payload) == "here");
  }
  SECTION("by who tries") {
    Result<Reply> reply = pair.client().try_finish_any();
    for (int i = 0; i < 10 && reply.error() == Errc::kWouldBlock; ++i) {
      reply = pair.client().try_finish_any();
    }
    CHECK(text_of(reply->payload) == "here");
  }
}

TEST_CASE("Replies that the program does not take are named when they fill every slot") {
  DuplexPair pair({.call_window = 2});
  for (int i = 0; i < 2; ++i) {
    REQUIRE(pair.server().reply(pair.call_taken("x"), {}, 0) == Errc::kOk);
  }
  const Result<CallId> refused = pair.client().start({}, 0);  // it would never end
  CHECK(refused.error() == Errc::kMisuse);
  CHECK_THAT(std::string(pair.client().status().message()), Catch::Contains("finish_any"));
  CHECK(pair.client().try_finish_any().error() == Errc::kOk);
  CHECK(pair.client().try_start({}, 0).error() == Errc::kOk);
}

TEST_CASE("A duplex that closes delivers its replies and ends the other calls") {
  DuplexPair pair;
  const CallId answered = pair.call_taken("a");
  const CallId pending = pair.call_taken("b");
  REQUIRE(pair.server().reply(answered, bytes_of("A"), 0) == Errc::kOk);
  pair.server().close();
  CHECK(text_of(pair.client().finish(answered)->payload) == "A");
  CHECK(pair.client().finish(pending).error() == Errc::kClosed);
  CHECK(pair.client().try_start({}, 0).error() == Errc::kClosed);
  CHECK(errc_of(pair.client().status()) == Errc::kClosed);
}

// Serves `path` in another process, and takes calls without answering any.
class SilentServer {
 public:
  explicit SilentServer(const std::string& path) {
    int ready[2];
    REQUIRE(pipe(ready) == 0);
    pid_ = fork();
    if (pid_ == 0) serve(path, ready[1]);
    close(ready[1]);
    char byte = 0;
    REQUIRE(read(ready[0], &byte, 1) == 1);
    close(ready[0]);
  }
  ~SilentServer() { kill(); }
  void kill() {
    if (pid_ <= 0) return;
    ::kill(pid_, SIGKILL);
    waitpid(std::exchange(pid_, -1), nullptr, 0);
  }

 private:
  [[noreturn]] static void serve(const std::string& path, int ready) {
    auto listener = ChannelListener::listen(path);
    if (!listener.ok() || write(ready, "r", 1) != 1) _exit(1);
    auto duplex = Duplex::accept(*listener, {}, soon());
    while (duplex.ok() && duplex->next(soon()).error() == Errc::kOk) {
    }
    _exit(0);
  }

  pid_t pid_;
};

TEST_CASE("Each call that is pending when its server is killed ends with peer gone") {
  TemporaryDirectory directory;
  const std::string path = directory.path() + "/duplex.sock";
  SilentServer server(path);
  auto client = Duplex::connect(path, {}, soon());
  REQUIRE(client.ok());
  std::vector<CallId> calls;
  for (std::uint32_t i = 0; i < kWindow; ++i) {
    calls.push_back(*client->start(bytes_of("anyone?"), 0, soon()));
    REQUIRE(calls.back() != 0);
  }
  server.kill();
  for (const CallId call : calls) CHECK(client->finish(call).error() == Errc::kPeerGone);
  CHECK(client->call({}, 0).error() == Errc::kPeerGone);
  CHECK(errc_of(client->status()) == Errc::kPeerGone);
}

TEST_CASE("Invalid arguments are refused with a reason and change nothing") {
  DuplexPair pair({.capacity = 4096, .message_bytes_max = 100});
  const CallId call = pair.call_taken("x");
  const std::vector<std::byte> large(101);
  CHECK(pair.client().try_start(large, 0).error() == Errc::kMisuse);
  CHECK_THAT(std::string(pair.client().status().message()), Catch::Contains("101"));
  CHECK(pair.server().reply(call, large, 0) == Errc::kMisuse);
  CHECK(pair.server().reply(call + kWindow, {}, 0) == Errc::kMisuse);
  CHECK(pair.server().reply(0, {}, 0) == Errc::kMisuse);
  CHECK(pair.client().finish(call + 1).error() == Errc::kMisuse);
  CHECK(pair.client().cancel(0) == Errc::kMisuse);
  REQUIRE(pair.server().reply(call, {}, 0) == Errc::kOk);
  CHECK(pair.server().reply(call, {}, 0) == Errc::kMisuse);  // a second time
  REQUIRE(pair.client().finish(call).error() == Errc::kOk);

  Duplex moved = std::move(pair.client());
  CHECK(pair.client().call({}, 0).error() == Errc::kMisuse);
  CHECK(pair.client().try_next().error() == Errc::kMisuse);
  CHECK(errc_of(pair.client().status()) == Errc::kClosed);
  CHECK_FALSE(pair.client().is_cancelled(call));
  moved.close();
  CHECK(moved.call({}, 0).error() == Errc::kMisuse);
  CHECK(errc_of(moved.status()) == Errc::kClosed);
}

TEST_CASE("An error's text that is too long is cut") {
  DuplexPair pair({.capacity = 4096, .message_bytes_max = 10});
  const CallId call = pair.call_taken("x");
  REQUIRE(pair.server().reply_error(call, 1, "a text of more than ten bytes") == Errc::kOk);
  CHECK(text_of(pair.client().finish(call)->payload) == "a text of ");
}

// A simulated other side of a duplex, which sends data that a correct side would not send.
class HostilePeer {
 public:
  explicit HostilePeer(const ChannelOptions& options = {.call_window = 4})
      : ends_(make_ends<Duplex, RawEnd<ChannelRole::kDuplex>>(directory_.path() + "/duplex.sock",
                                                              options, options)),
        side_(std::move(ends_.second.side)),
        writer_(side_->own().data(), side_->own().header(), side_->own().words(),
                side_->peer().words()) {}

  Duplex& victim() { return ends_.first; }
  ChannelWords& words() { return side_->own().words(); }
  void send(CallId call, CallKind kind) {
    REQUIRE(writer_.claim(0) == FrameWriter::Room::kYes);
    const CallHead head{call, kind, 0};
    std::memcpy(writer_.call_head(), &head, sizeof head);
    writer_.stage(0, 0);
    writer_.publish();
  }

 private:
  TemporaryDirectory directory_;
  std::pair<Duplex, RawEnd<ChannelRole::kDuplex>> ends_;
  std::unique_ptr<ChannelSide> side_;
  FrameWriter writer_;
};

TEST_CASE("A peer that breaks the rules of calls is cut off") {
  HostilePeer peer;
  Duplex& victim = peer.victim();
  SECTION("a reply to no call") {
    peer.send(7, CallKind::kReply);
  }
  SECTION("a reply to call 0") {
    peer.send(0, CallKind::kReply);
  }
  SECTION("two replies to one call") {
    const CallId call = *victim.try_start({}, 0);
    peer.send(call, CallKind::kReply);
    peer.send(call, CallKind::kErrorReply);
  }
  SECTION("a reply to a call that was made long ago") {
    const CallId call = *victim.try_start({}, 0);
    peer.send(call, CallKind::kReply);
    REQUIRE(victim.finish(call).error() == Errc::kOk);
    peer.send(call, CallKind::kReply);
  }
  SECTION("a reply to an earlier call in the place of one that waits") {
    const CallId earlier = *victim.try_start({}, 0);
    peer.send(earlier, CallKind::kReply);
    REQUIRE(victim.finish(earlier).error() == Errc::kOk);
    const CallId later = *victim.try_start({}, 0);
    REQUIRE(call_place(later, 4) == call_place(earlier, 4));
    peer.send(earlier, CallKind::kReply);
  }
  SECTION("more calls than it may make") {
    for (CallId call = 4; call < 9; ++call) peer.send(call, CallKind::kCall);
  }
  SECTION("a second call in the same place") {
    peer.send(4, CallKind::kCall);
    peer.send(8, CallKind::kCall);
  }
  SECTION("a call without a serial number") {
    peer.send(3, CallKind::kCall);
  }
  SECTION("more one-way messages than it may send") {
    for (int i = 0; i < 5; ++i) peer.send(0, CallKind::kOneWay);
  }
  SECTION("a message of no known kind") {
    peer.send(4, CallKind{6});
  }
  SECTION("more one-way messages taken than were sent") {
    for (int i = 0; i < 4; ++i) REQUIRE(victim.try_send({}, 0) == Errc::kOk);
    store_tally(peer.words().taken, 5);
    CHECK(victim.try_send({}, 0) == Errc::kCorrupt);
  }
  SECTION("fewer one-way messages taken than before") {
    store_tally(peer.words().taken, 4);
    for (int i = 0; i < 8; ++i) REQUIRE(victim.try_send({}, 0) == Errc::kOk);
    store_tally(peer.words().taken, 3);
    CHECK(victim.try_send({}, 0) == Errc::kCorrupt);
  }
  CHECK(victim.try_next().error() == Errc::kCorrupt);
  CHECK(errc_of(victim.status()) == Errc::kCorrupt);
  CHECK(victim.try_wait_any().error() == Errc::kCorrupt);
  CHECK(victim.try_start({}, 0).error() == Errc::kCorrupt);
}

TEST_CASE("A peer that replies to a call before it was sent is cut off") {
  HostilePeer peer({.capacity = 1024, .message_bytes_max = 300, .call_window = 4});
  const std::vector<std::byte> large(300);
  for (int i = 0; i < 2; ++i) REQUIRE(*peer.victim().try_start(large, 0) != 0);
  peer.send(call_number(3, 4, 2), CallKind::kReply);
  CHECK(peer.victim().try_start(large, 0).error() == Errc::kCorrupt);  // no room
}

TEST_CASE("A peer that releases messages it was never sent has taken nothing") {
  HostilePeer peer;
  const CallId call = *peer.victim().try_start({}, 0, Deadline::now());
  store_received(peer.words(), 128, 2);
  const Result<Reply> reply = peer.victim().finish(call);
  CHECK(reply.error() == Errc::kTimedOut);
  CHECK(reply->delivery == Delivery::kSent);
}

TEST_CASE("A peer that lowers its number of taken one-way messages changes no counter") {
  HostilePeer peer;
  for (int i = 0; i < 4; ++i) REQUIRE(peer.victim().try_send({}, 0) == Errc::kOk);
  store_tally(peer.words().taken, 4);
  REQUIRE(peer.victim().try_send({}, 0) == Errc::kOk);  // reads the tally
  for (const Word said : {Word{3}, Word{6}}) {
    store_tally(peer.words().taken, said);
    CHECK(peer.victim().duplex_counters().one_ways_taken == 4);
  }
  CHECK(peer.victim().duplex_counters().one_ways_sent == 5);
}

TEST_CASE("Cancellations of unknown calls change nothing") {
  HostilePeer peer;
  for (CallId call = 0; call < 100; ++call) peer.send(call, CallKind::kCancel);
  peer.send(4, CallKind::kCall);
  const Result<Incoming> in = peer.victim().try_next();
  REQUIRE(in.ok());
  CHECK(in->call == 4);
  CHECK_FALSE(peer.victim().is_cancelled(4));
}

}  // namespace
}  // namespace lapwing
