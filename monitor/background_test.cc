#include "monitor/background.h"

#include <catch2/catch.hpp>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>

#include "testing/far_deadline.h"

namespace lapwing {
namespace {

// A thread waits here until the test opens it.
class Barrier {
 public:
  void arrive_and_wait() {
    std::unique_lock lock(mutex_);
    has_arrived_ = true;
    changed_.notify_all();
    changed_.wait(lock, [&] { return is_open_; });
    has_passed_ = true;
    changed_.notify_all();
  }
  void until_arrived() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return has_arrived_; });
  }
  bool has_passed() {
    const std::lock_guard lock(mutex_);
    return has_passed_;
  }
  void open_and_wait() {
    std::unique_lock lock(mutex_);
    is_open_ = true;
    changed_.notify_all();
    changed_.wait(lock, [&] { return has_passed_; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool has_arrived_ = false;
  bool is_open_ = false;
  bool has_passed_ = false;
};

TEST_CASE("The newest value is there for its reader, and older ones stay whole") {
  auto numbers = Background<int>::start("lapwing-test", [n = 0](const StopEvent& stop) mutable {
    stop.wait(1'000'000);
    return std::optional(++n);
  });
  REQUIRE(numbers.ok());
  numbers->wait_for_first(60 * kNsPerSecond);
  const auto first = numbers->newest();
  REQUIRE(first != nullptr);
  const std::uint64_t deadline_ns = far_deadline();
  while (numbers->newest()->value == first->value) REQUIRE(monotonic_ns() < deadline_ns);
  CHECK(numbers->newest()->value > first->value);
  CHECK(numbers->newest()->made_ns > first->made_ns);
}

TEST_CASE("What makes no new value leaves the last one") {
  auto made = Background<int>::start("lapwing-test", [n = 0](const StopEvent& stop) mutable {
    stop.wait(1'000'000);
    return ++n == 1 ? std::optional(n) : std::nullopt;
  });
  REQUIRE(made.ok());
  made->wait_for_first(60 * kNsPerSecond);
  const auto first = made->newest();
  REQUIRE(first != nullptr);
  const std::uint64_t until_ns = monotonic_ns() + 20'000'000;
  while (monotonic_ns() < until_ns) CHECK(made->newest() == first);
}

TEST_CASE("Nobody waits for a thread that hangs, neither a reader nor the end") {
  const auto barrier = std::make_shared<Barrier>();
  {
    auto hung = Background<int>::start("lapwing-test", [barrier](const StopEvent&) {
      barrier->arrive_and_wait();
      return std::optional(1);
    });
    REQUIRE(hung.ok());
    barrier->until_arrived();
    hung->wait_for_first(1'000'000);
    CHECK(hung->newest() == nullptr);
  }
  CHECK_FALSE(barrier->has_passed());
  barrier->open_and_wait();  // the shared state lives as long as a thread uses it
}

}  // namespace
}  // namespace lapwing
