// Calls between two processes for the chosen time: one at a time, and in both directions at once
// through rings that are too small.
//
// LAPWING_CALLS          number of single calls, default 10,000,000
// LAPWING_CALL_SECONDS   seconds of simultaneous calls, default 20
#include <unistd.h>

#include <array>
#include <catch2/catch.hpp>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "lapwing/duplex.h"
#include "lapwing/listener.h"
#include "os/kernel.h"
#include "testing/child_process.h"
#include "testing/temporary_directory.h"

namespace lapwing {
namespace {

constexpr std::uint64_t kNsPerSecond = 1'000'000'000;
constexpr std::uint64_t kHangNs = 60 * kNsPerSecond;
constexpr std::uint64_t kCallsDefault = 10'000'000;
constexpr std::uint64_t kSecondsDefault = 20;
constexpr std::uint32_t kRequest = 1;
constexpr std::uint32_t kAnswer = 2;
constexpr std::uint32_t kDone = 3;  // one-way: this side makes no more calls

Deadline hang_deadline() {
  return std::chrono::nanoseconds(kHangNs);
}

std::uint64_t wanted(const char* name, std::uint64_t otherwise) {
  const char* const text = std::getenv(name);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

absl::StatusOr<Duplex> connect_until_there(const std::string& path, const ChannelOptions& options) {
  const Deadline deadline = hang_deadline();
  for (;;) {
    auto duplex = Duplex::connect(path, options, deadline);
    // There is no socket yet, or the other side is about to listen on it.
    const Errc code = errc_of(duplex.status());
    const bool may_come = code == Errc::kNoBus || code == Errc::kPeerGone;
    if (!may_come || deadline.has_passed()) return duplex;
    wait_readable(-1, 1'000'000);
  }
}

template <typename Value>
std::span<const std::byte> bytes_of(const Value& value) {
  return std::as_bytes(std::span(&value, 1));
}

// Answers each number with its successor until the caller closes.
int serve_successors(const std::string& path) {
  auto listener = ChannelListener::listen(path);
  if (!listener.ok()) return 2;
  auto duplex = Duplex::accept(*listener, {}, hang_deadline());
  if (!duplex.ok()) return 3;
  for (;;) {
    const Result<Incoming> in = duplex->next(hang_deadline());
    if (in.error() == Errc::kClosed) return 0;
    std::uint64_t n = 0;
    if (!in.ok() || in->payload.size() != sizeof n) return 4;
    std::memcpy(&n, in->payload.data(), sizeof n);
    ++n;
    if (!duplex->reply(in->call, bytes_of(n), kAnswer).ok()) return 5;
  }
}

TEST_CASE("Every one of millions of calls, one at a time, gets its own reply") {
  const std::uint64_t count = wanted("LAPWING_CALLS", kCallsDefault);
  REQUIRE(count > 0);
  TemporaryDirectory directory;
  const std::string path = directory.path() + "/calls.sock";
  ChildProcess server([&] { return serve_successors(path); });
  auto client = connect_until_there(path, {});
  INFO(client.status());
  REQUIRE(client.ok());
  const std::uint64_t start_ns = monotonic_ns();
  std::uint64_t wrong = 0;
  for (std::uint64_t n = 0; n < count && wrong == 0; ++n) {
    const Result<Reply> reply = client->call(bytes_of(n), kRequest, hang_deadline());
    std::uint64_t answer = 0;
    if (!reply.ok() || reply->payload.size() != sizeof answer) {
      FAIL(name_of(reply.error()) << " at call " << n << ": " << client->status());
    }
    std::memcpy(&answer, reply->payload.data(), sizeof answer);
    if (answer != n + 1) ++wrong;
  }
  const std::uint64_t took_ns = monotonic_ns() - start_ns;
  CHECK(wrong == 0);
  client->close();
  CHECK(server.wait() == 0);
  std::cout << count << " calls one at a time, " << took_ns / count << " ns each\n";
}

// One of two sides that both call without regard for each other. It starts as many calls as the
// other side accepts, each too large for several to fit, answers the received calls, and then takes
// the replies to its own calls.
class Caller {
 public:
  Caller(Duplex& duplex, std::uint64_t seed) : duplex_(duplex), random_(seed) {}

  // Runs for at least this time, and until its ring has been full once, which takes longer if
  // neither side gets to run. Then runs until the other side has ended as well. Returns false after
  // an error.
  bool run(std::uint64_t duration_ns) {
    const std::uint64_t end_ns = monotonic_ns() + duration_ns;
    do {
      if (!start_calls() || !serve_all() || !take_replies()) return false;
    } while (monotonic_ns() < end_ns || (!was_full() && monotonic_ns() < end_ns + kHangNs));
    if (!duplex_.send({}, kDone, hang_deadline()).ok()) return say("sending the end");
    while (!other_is_done_) {
      if (!take(duplex_.next(hang_deadline()))) return false;
    }
    return true;
  }

  bool was_full() const { return duplex_.counters().full_waits > 0; }
  std::uint64_t calls() const { return calls_; }
  std::uint64_t served() const { return served_; }

 private:
  static constexpr std::size_t kBytesMax = 1500;
  static constexpr std::size_t kBatch = 64;  // size of the window

  bool say(const char* what) {
    std::cerr << "pid " << getpid() << ", " << what << ": " << duplex_.status() << '\n';
    return false;
  }

  static std::byte content(std::uint64_t seed, std::size_t i) {
    return static_cast<std::byte>(seed * 31 + i);
  }

  // A payload contains its own seed and size. The answer is the same bytes, inverted.
  bool start_calls() {
    for (std::size_t i = 0; i < kBatch; ++i) {
      const std::size_t size = 8 + random_() % (kBytesMax - 8);
      const std::uint64_t seed = random_();
      std::array<std::byte, kBytesMax> payload;
      std::memcpy(payload.data(), &seed, sizeof seed);
      for (std::size_t at = 8; at < size; ++at) payload[at] = content(seed, at);
      const Result<CallId> started =
          duplex_.start(std::span(payload).first(size), kRequest, hang_deadline());
      if (!started.ok()) return say("starting a call");
      asked_[*started] = {seed, size};
      ++calls_;
    }
    return true;
  }

  bool serve_all() {
    for (;;) {
      const Result<Incoming> in = duplex_.try_next();
      if (in.error() == Errc::kWouldBlock) return true;
      if (!take(in)) return false;
    }
  }

  bool take(const Result<Incoming>& in) {
    if (!in.ok()) return say("waiting for calls");
    if (in->type == kDone) {
      other_is_done_ = true;
      return true;
    }
    std::vector<std::byte> answer(in->payload.begin(), in->payload.end());
    for (std::byte& byte : answer) byte = ~byte;
    if (!duplex_.reply(in->call, answer, kAnswer, hang_deadline()).ok()) return say("answering");
    ++served_;
    return true;
  }

  // Continues serving, because the other side may be waiting for answers in the same way.
  bool take_replies() {
    while (!asked_.empty()) {
      if (!serve_all()) return false;
      const Result<Reply> reply = duplex_.try_finish_any();
      if (reply.error() == Errc::kWouldBlock) {
        wait_for_anything();
        continue;
      }
      if (!reply.ok()) return say("waiting for replies");
      const auto asked = asked_.find(reply->call);
      if (asked == asked_.end() || !is_answer(*reply, asked->second)) return say("a wrong reply");
      asked_.erase(asked);
    }
    return true;
  }

  void wait_for_anything() {
    if (duplex_.arm()) wait_readable(duplex_.fd(), kNsPerSecond);
  }

  struct Asked {
    std::uint64_t seed;
    std::size_t size;
  };
  static bool is_answer(const Reply& reply, const Asked& asked) {
    if (reply.type != kAnswer || reply.payload.size() != asked.size) return false;
    std::uint64_t seed = 0;
    std::memcpy(&seed, reply.payload.data(), sizeof seed);
    if (~seed != asked.seed) return false;
    for (std::size_t at = 8; at < asked.size; ++at) {
      if (~reply.payload[at] != content(asked.seed, at)) return false;
    }
    return true;
  }

  Duplex& duplex_;
  std::mt19937_64 random_;
  std::map<CallId, Asked> asked_;
  bool other_is_done_ = false;
  std::uint64_t calls_ = 0;
  std::uint64_t served_ = 0;
};

TEST_CASE("Two sides that call each other through full rings do not stand still") {
  const std::uint64_t seconds = wanted("LAPWING_CALL_SECONDS", kSecondsDefault);
  const ChannelOptions options = {.capacity = 4096, .message_bytes_max = 1500};
  TemporaryDirectory directory;
  const std::string path = directory.path() + "/calls.sock";
  ChildProcess other([&] {
    auto listener = ChannelListener::listen(path);
    if (!listener.ok()) return 2;
    auto duplex = Duplex::accept(*listener, options, hang_deadline());
    if (!duplex.ok()) return 3;
    Caller caller(*duplex, 1);
    if (!caller.run(seconds * kNsPerSecond)) return 4;
    // Stays until the other side has read the end.
    if (duplex->next(hang_deadline()).error() != Errc::kClosed) return 5;
    return caller.was_full() ? 0 : 6;  // 6: void
  });
  auto duplex = connect_until_there(path, options);
  INFO(duplex.status());
  REQUIRE(duplex.ok());
  Caller caller(*duplex, 2);
  REQUIRE(caller.run(seconds * kNsPerSecond));
  const ChannelCounters counters = duplex->counters();
  duplex->close();
  CHECK(other.wait() == 0);
  CHECK(caller.calls() > 0);
  CHECK(caller.served() > 0);
  CHECK(counters.full_waits > 0);  // otherwise void: its ring was never full
  std::cout << seconds << " s of calls both ways: " << caller.calls() << " made, "
            << caller.served() << " served, " << counters.full_waits << " waits for room, "
            << counters.sleeps << " sleeps\n";
}

}  // namespace
}  // namespace lapwing
