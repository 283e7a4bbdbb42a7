// What makes the sleep of a wait set end when a descriptor is ready.
#include "wait_set/descriptor_poll.h"

#include <fcntl.h>
#include <poll.h>

#include <array>
#include <catch2/catch.hpp>
#include <string>
#include <thread>

#include "lapwing/detail/atomic_word.h"
#include "lapwing/error.h"
#include "os/kernel.h"
#include "proto/thread_words.h"
#include "testing/far_deadline.h"
#include "testing/temporary_directory.h"

namespace lapwing {
namespace {

constexpr std::uint64_t kTag = 7;

std::unique_ptr<DescriptorPoll> make_poll(Interrupt& bell) {
  auto made = DescriptorPoll::make(bell);
  REQUIRE(made.ok());
  return *std::move(made);
}

// The sum of the tags that are ready.
std::uint64_t ready_tags(DescriptorPoll& poll) {
  std::array<epoll_event, 8> room;
  std::uint64_t tags = 0;
  for (const epoll_event& event : poll.take_ready(room)) tags += event.data.u64;
  return tags;
}

TEST_CASE("A descriptor is ready for as long as it is so, and while it is watched") {
  Interrupt bell;
  const auto poll = make_poll(bell);
  const UniqueFd event = make_eventfd().value();
  REQUIRE(poll->add(event.get(), EPOLLIN, kTag).ok());
  CHECK(ready_tags(*poll) == 0);
  signal_eventfd(event.get());
  CHECK(ready_tags(*poll) == kTag);
  CHECK(ready_tags(*poll) == kTag);
  poll->wait_ready(60 * kNsPerSecond);  // does not
  drain_eventfd(event.get());
  CHECK(ready_tags(*poll) == 0);
  signal_eventfd(event.get());
  poll->remove(event.get());
  CHECK(ready_tags(*poll) == 0);
}

TEST_CASE("A wake ends one sleep") {
  Interrupt bell;
  const auto poll = make_poll(bell);
  poll->wake();
  poll->wake();
  poll->wait_ready(60 * kNsPerSecond);
  CHECK(ready_tags(*poll) == 0);
  const std::uint64_t start = monotonic_ns();
  poll->wait_ready(kNsPerMs);
  CHECK(monotonic_ns() - start >= kNsPerMs);
}

TEST_CASE("What cannot be watched is refused, in words that say what to do") {
  Interrupt bell;
  const auto poll = make_poll(bell);
  const auto refusal_of = [&](int fd) {
    const absl::Status status = poll->add(fd, EPOLLIN, kTag);
    CHECK(errc_of(status) == Errc::kInvalidArgument);
    return std::string(status.message());
  };
  const TemporaryDirectory directory;
  const UniqueFd file = UniqueFd::opened_by(
      [&] { return open(directory.file("file").c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0600); });
  CHECK(refusal_of(file.get()).find("regular file") != std::string::npos);
  const UniqueFd event = make_eventfd().value();
  REQUIRE(poll->add(event.get(), EPOLLIN, kTag).ok());
  CHECK(refusal_of(event.get()).find("dup()") != std::string::npos);
  CHECK(refusal_of(1 << 20).find("no open descriptor") != std::string::npos);
}

TEST_CASE("An armed helper rings the bell once, for what is ready already, too") {
  Interrupt bell;
  const auto poll = make_poll(bell);
  const UniqueFd event = make_eventfd().value();
  REQUIRE(poll->add(event.get(), EPOLLIN, kTag).ok());
  REQUIRE(poll->start_helper().ok());
  REQUIRE(poll->start_helper().ok());
  const std::uint32_t quiet = bell.bell();
  signal_eventfd(event.get());
  CHECK(bell.bell() == quiet);  // nobody has armed it
  poll->arm_helper();
  for (const std::uint64_t deadline = far_deadline(); bell.bell() == quiet;) {
    REQUIRE(monotonic_ns() < deadline);
    bell.wait(quiet, kNsPerSecond);
  }
  CHECK(bell.bell() == quiet + 1);
  CHECK_FALSE(bell.is_raised());
}

TEST_CASE("A helper that is armed anew for each sleep misses no descriptor") {
  constexpr int kRounds = 5000;
  constexpr std::uint64_t kFarNs = 60 * kNsPerSecond;
  Interrupt bell;
  const auto poll = make_poll(bell);
  const UniqueFd event = make_eventfd().value();
  REQUIRE(poll->add(event.get(), EPOLLIN, kTag).ok());
  REQUIRE(poll->start_helper().ok());
  SingleWriterWord taken;
  std::thread signaller([&] {
    for (Word round = 1; round <= kRounds; ++round) {
      signal_eventfd(event.get());
      while (taken.load() < round) spin_pause();
      for (Word i = 0; i < round % 64; ++i) spin_pause();  // into the sleep, or before it
    }
  });
  int sleeps = 0;
  int ended_by_clock = 0;
  for (Word round = 1; round <= kRounds;) {
    const FutexWord word = bell.word(bell.bell());
    if (ready_tags(*poll) == kTag) {
      drain_eventfd(event.get());
      taken.store(round++);
      continue;
    }
    poll->arm_helper();
    const std::uint64_t start = monotonic_ns();
    futex_wait(word.word, word.expected, kFarNs);
    ++sleeps;
    if (monotonic_ns() - start >= kFarNs) ++ended_by_clock;
  }
  signaller.join();
  CHECK(sleeps > 0);
  CHECK(ended_by_clock == 0);
}

}  // namespace
}  // namespace lapwing
