// Tests that threads are placed as requested, and that impossible placements are refused with the
// name of the member.
#include "os/thread_placement.h"

#include <sys/resource.h>

#include <catch2/catch.hpp>
#include <numeric>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "lapwing/error.h"
#include "os/start_thread.h"
#include "testing/other_user.h"
#include "testing/process_threads.h"
#include "testing/skip.h"

namespace lapwing {
namespace {

using Catch::Contains;

std::string words(const absl::Status& status) {
  return std::string(status.message());
}

// Runs `look` on a thread with this placement. Returns the result of start_thread.
template <typename Look>
absl::Status look_at(const ThreadPlacement& placement, Look look) {
  std::thread thread;
  absl::Status started = start_thread(thread, "lapwing-test", look, {.placement = placement});
  if (thread.joinable()) thread.join();
  return started;
}

TEST_CASE("A thread runs on the processors that were asked for, and its starter where it did") {
  const std::vector<unsigned> before = this_thread().cpus();
  const std::vector<unsigned> wanted{before.back()};
  std::vector<unsigned> seen;
  REQUIRE(look_at({.cpus = wanted}, [&] { seen = this_thread().cpus(); }).ok());
  CHECK(seen == wanted);
  CHECK(this_thread().cpus() == before);
}

TEST_CASE("A thread may be placed where its starter is kept from") {
  const std::vector<unsigned> all = this_thread().cpus();
  if (all.size() < 2) LAPWING_SKIP("needs two processors");
  std::vector<unsigned> seen;
  absl::Status inner;
  REQUIRE(look_at({.cpus = {all.front()}}, [&] {
            inner = look_at({.cpus = {all.back()}}, [&] { seen = this_thread().cpus(); });
          }).ok());
  REQUIRE(inner.ok());
  CHECK(seen == std::vector<unsigned>{all.back()});
}

TEST_CASE("A thread gets the nice value and the policy that were asked for, its starter neither") {
  const int nice_before = this_thread().nice();
  const int policy_before = this_thread().policy();
  const auto [policy, number] = GENERATE(std::pair{SchedulingPolicy::kOther, SCHED_OTHER},
                                         std::pair{SchedulingPolicy::kBatch, SCHED_BATCH});
  int nice = 0;
  int scheduler = -1;
  REQUIRE(look_at({.nice = 19, .policy = policy}, [&] {
            nice = this_thread().nice();
            scheduler = this_thread().policy();
          }).ok());
  CHECK(nice == 19);
  CHECK(scheduler == number);
  CHECK(this_thread().nice() == nice_before);
  CHECK(this_thread().policy() == policy_before);
}

TEST_CASE("A thread may be idle, or real time where the right is there") {
  int scheduler = -1;
  int priority = 0;
  const auto look = [&] {
    scheduler = this_thread().policy();
    priority = this_thread().priority();
  };
  REQUIRE(look_at({.policy = SchedulingPolicy::kIdle}, look).ok());
  CHECK(scheduler == SCHED_IDLE);
  const absl::Status real_time =
      look_at({.policy = SchedulingPolicy::kRoundRobin, .priority = 3}, look);
  if (errc_of(real_time) == Errc::kNotPermitted) LAPWING_SKIP("needs the right to real time");
  REQUIRE(real_time.ok());
  CHECK(scheduler == SCHED_RR);
  CHECK(priority == 3);
  REQUIRE(look_at({.policy = SchedulingPolicy::kFifo, .priority = 4}, look).ok());
  CHECK(scheduler == SCHED_FIFO);
  CHECK(priority == 4);
}

// Returns the processors that the kernel allows if all are requested.
std::vector<unsigned> usable_cpus() {
  std::vector<unsigned> usable;
  std::thread([&] {
    std::vector<unsigned> all(kCpusMax);
    std::iota(all.begin(), all.end(), 0);
    sched_setaffinity(0, CpuMask::size_bytes(), CpuMask(all).get());
    usable = this_thread().cpus();
  }).join();
  return usable;
}

TEST_CASE("A processor that this process may not use is refused, with those that it may") {
  const unsigned cpu = GENERATE(8191u, 8192u, 4'000'000'000u);
  const std::string before = cpu_list_text(this_thread().cpus());
  bool ran = false;
  // The kernel alone would silently accept the rest of the list.
  const absl::Status refused =
      look_at({.cpus = {this_thread().cpus().front(), cpu}}, [&] { ran = true; });
  CHECK(errc_of(refused) == Errc::kInvalidArgument);
  CHECK_THAT(words(refused), Contains("--thread-cpus"));
  CHECK_THAT(words(refused), Contains("processor " + std::to_string(cpu)));
  CHECK_THAT(words(refused), Contains("may only use " + cpu_list_text(usable_cpus()) + ";"));
  CHECK_FALSE(ran);
  CHECK(cpu_list_text(this_thread().cpus()) == before);
}

TEST_CASE("What contradicts itself or would be ignored is refused, and names the member") {
  struct Case {
    ThreadPlacement placement;
    const char* says;
  };
  const Case cases[] = {
      {{.nice = 20}, "threads.nice"},
      {{.nice = -21}, "threads.nice"},
      {{.nice = 5, .policy = SchedulingPolicy::kIdle}, "the policy idle does not use it"},
      {{.nice = 5, .policy = SchedulingPolicy::kFifo, .priority = 1},
       "the policy fifo does not use it"},
      {{.priority = 1}, "threads.priority"},
      {{.policy = SchedulingPolicy::kBatch, .priority = 1}, "threads.priority"},
      {{.policy = SchedulingPolicy::kFifo}, "1 to 99"},
      {{.policy = SchedulingPolicy::kRoundRobin, .priority = 100}, "1 to 99"},
      {{.policy = SchedulingPolicy::kRoundRobin, .priority = -1}, "1 to 99"},
      {{.policy = static_cast<SchedulingPolicy>(77)}, "threads.policy"},
  };
  for (const Case& one : cases) {
    INFO(one.says);
    const absl::Status refused = check_placement(one.placement);
    CHECK(errc_of(refused) == Errc::kInvalidArgument);
    CHECK_THAT(words(refused), Contains(one.says));
  }
}

TEST_CASE("A placement that needs a right is refused to who has none, and says which one") {
  if (geteuid() != 0) LAPWING_SKIP("needs root, to become another user");
  const int failed = run_as(kTestUser, kTestGroup, [] {
    const rlimit none{0, 0};
    if (setrlimit(RLIMIT_NICE, &none) != 0 || setrlimit(RLIMIT_RTPRIO, &none) != 0) return __LINE__;
    // A thread that is already below -1, as under "nice -n -5", needs no permission for -1.
    if (getpriority(PRIO_PROCESS, 0) < 0 && setpriority(PRIO_PROCESS, 0, 0) != 0) return __LINE__;
    const absl::Status nice = check_placement({.nice = -1});
    if (errc_of(nice) != Errc::kNotPermitted) return __LINE__;
    if (words(nice).find("(ulimit -e) of at least 21") == std::string::npos) return __LINE__;
    const absl::Status fifo = check_placement({.policy = SchedulingPolicy::kFifo, .priority = 10});
    if (errc_of(fifo) != Errc::kNotPermitted) return __LINE__;
    if (words(fifo).find("ulimit -r") == std::string::npos) return __LINE__;
    return check_placement({.nice = 19}).ok() ? 0 : __LINE__;
  });
  CHECK(failed == 0);
}

TEST_CASE("A check of a placement changes nothing of the caller") {
  const std::vector<unsigned> before = this_thread().cpus();
  const int nice = this_thread().nice();
  REQUIRE(check_placement({.cpus = {before.back()}, .nice = 19}).ok());
  CHECK(this_thread().cpus() == before);
  CHECK(this_thread().nice() == nice);
}

}  // namespace
}  // namespace lapwing
