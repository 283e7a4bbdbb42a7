// Tests which sources a wait set checks, and how it sleeps for them. The test controls the sources.
#include <poll.h>

#include <catch2/catch.hpp>
#include <chrono>
#include <memory>
#include <optional>
#include <vector>

#include "lapwing/error.h"
#include "lapwing/wait_set.h"
#include "os/kernel.h"
#include "os/ready_loop.h"
#include "os/wait_source.h"
#include "proto/ring_words.h"
#include "testing/far_deadline.h"
#include "testing/waiting_call.h"
#include "wait_set/add_source.h"

namespace lapwing {
namespace {

WaitSet make_set(WaitStrategy wait = WaitStrategy::kPark) {
  auto made = WaitSet::open({.wait = wait});
  REQUIRE(made.ok());
  return *std::move(made);
}

Result<Ready> ready_now(WaitSet& set) {
  return set.wait(Deadline::now());
}

// A source that waits for a word to change from 0, like a subscriber that waits for a doorbell.
class WordSource final : public WaitSource {
 public:
  bool is_ready() override {
    ++looks;
    return always_ready || load_bell(&word_) != 0 || (due_ns != 0 && monotonic_ns() >= due_ns);
  }
  std::optional<WakeUp> prepare_wait() override {
    if (refusals > 0) {
      --refusals;
      return std::nullopt;
    }
    const std::uint32_t seen = load_bell(&word_);
    if (seen != 0) return std::nullopt;
    ++prepared;
    WakeUp wake_up{.word = FutexWord{&word_, seen}};
    if (due_ns != 0) wake_up.wake_by_ns = due_ns;
    return wake_up;
  }
  void finish_wait() override { ++finished; }

  // Called from another thread.
  void ring() {
    bump_bell(&word_);
    futex_wake_all(&word_);
  }

  bool always_ready = false;
  std::uint64_t due_ns = 0;
  int refusals = 0;  // how many times in a row prepare_wait() refuses
  int looks = 0;
  int prepared = 0;
  int finished = 0;

 private:
  std::uint32_t word_ = 0;
};

SourceId add(WaitSet& set, WaitSource& source, std::uint64_t token = 0) {
  const auto added = add_source(set, SourceKind::kSubscriber, &source, token, "source");
  REQUIRE(added.ok());
  return *added;
}

TEST_CASE("Sources that are always ready are served in turn, behind the last one that was") {
  WaitSet set = make_set(GENERATE(WaitStrategy::kBusy, WaitStrategy::kPark));
  WordSource sources[3];
  for (std::uint64_t i = 0; i < 3; ++i) {
    sources[i].always_ready = i != 1;
    add(set, sources[i], i);
  }
  std::vector<std::uint64_t> served;
  for (int i = 0; i < 6; ++i) served.push_back(ready_now(set)->token);
  CHECK(served == std::vector<std::uint64_t>{0, 2, 0, 2, 0, 2});
  sources[1].always_ready = true;
  served.clear();
  for (int i = 0; i < 6; ++i) served.push_back(ready_now(set)->token);
  CHECK(served == std::vector<std::uint64_t>{0, 1, 2, 0, 1, 2});
}

TEST_CASE("A descriptor and a timer have their turn beside a source that is always ready") {
  WaitSet set = make_set();
  WordSource source;
  source.always_ready = true;
  add(set, source, 1);
  const UniqueFd event = make_eventfd().value();
  REQUIRE(set.add_fd(event.get(), POLLIN, 2).ok());
  REQUIRE(set.add_timer(kPast, 3).ok());
  signal_eventfd(event.get());
  std::uint32_t served[4] = {};
  for (std::uint32_t i = 0; i < 10 * kChecksPerRound; ++i) {
    const Result<Ready> ready = ready_now(set);
    REQUIRE(ready.ok());
    ++served[ready->token];
  }
  CHECK(served[2] >= 9);
  CHECK(served[3] == 1);
  CHECK(served[1] + served[2] + served[3] == 10 * kChecksPerRound);
}

TEST_CASE("A wait that may not wait still looks at everything") {
  WaitSet set = make_set(GENERATE(WaitStrategy::kBusy, WaitStrategy::kBackoff));
  const UniqueFd event = make_eventfd().value();
  REQUIRE(set.add_fd(event.get(), POLLIN, 2).ok());
  for (int i = 0; i < 100; ++i) {
    REQUIRE(ready_now(set).error() == Errc::kWouldBlock);
    signal_eventfd(event.get());
    REQUIRE(ready_now(set).error() == Errc::kOk);
    drain_eventfd(event.get());
  }
}

TEST_CASE("A source is asked again by the time that it named, though nothing wakes it") {
  WaitSet set = make_set();
  WordSource source;
  add(set, source, 5);
  do {  // until one wait has slept: a busy machine may run this thread too late
    source.due_ns = monotonic_ns() + 20 * kNsPerMs;
    const Result<Ready> ready = set.wait(kHang);
    REQUIRE(ready.ok());
    REQUIRE(ready->token == 5);
  } while (source.prepared == 0);
}

TEST_CASE("Every source that prepared is finished, also where another one would not prepare") {
  WaitSet set = make_set();
  WordSource sources[3];
  for (WordSource& source : sources) add(set, source);
  sources[1].refusals = 5;
  while (sources[1].refusals > 0) {
    REQUIRE(set.wait(std::chrono::milliseconds(1)).error() == Errc::kTimedOut);
  }
  for (const WordSource& source : sources) CHECK(source.prepared == source.finished);
  CHECK(sources[0].prepared > sources[2].prepared);
}

// How a set sleeps depends on its sources.
enum class Sleep { kBell, kWords, kEpoll, kWordsAndHelper };

struct SleepingSet {
  SleepingSet(Sleep sleep, WaitStrategy wait) : set(make_set(wait)) {
    if (sleep == Sleep::kWords || sleep == Sleep::kWordsAndHelper) add(set, source, 1);
    if (sleep == Sleep::kEpoll || sleep == Sleep::kWordsAndHelper) {
      REQUIRE(set.add_fd(event.get(), POLLIN, 2).ok());
    }
  }
  WordSource source;
  UniqueFd event = make_eventfd().value();
  WaitSet set;
};

WaitStrategy any_set_strategy() {
  return GENERATE(WaitStrategy::kBusy, WaitStrategy::kBackoff, WaitStrategy::kPark);
}

TEST_CASE("interrupt ends the wait under way, however the set sleeps, or the next, once") {
  const Sleep sleep = GENERATE(Sleep::kBell, Sleep::kWords, Sleep::kEpoll, Sleep::kWordsAndHelper);
  SleepingSet sleeping(sleep, any_set_strategy());
  WaitSet& set = sleeping.set;
  const auto wait = [&] { return set.wait(kHang).error(); };
  for (int i = 0; i < 3; ++i) {
    CHECK(while_it_waits(wait, [&] { set.interrupt(); }) == Errc::kInterrupted);
  }
  set.interrupt();
  set.interrupt();
  CHECK(ready_now(set).error() == Errc::kWouldBlock);  // it does not wait
  CHECK(wait() == Errc::kInterrupted);
  CHECK(set.wait(std::chrono::milliseconds(1)).error() == Errc::kTimedOut);
}

TEST_CASE("A word that changes ends the sleep, beside a descriptor, too") {
  SleepingSet sleeping(GENERATE(Sleep::kWords, Sleep::kWordsAndHelper), any_set_strategy());
  const Result<Ready> ready =
      while_it_waits([&] { return sleeping.set.wait(kHang); }, [&] { sleeping.source.ring(); });
  CHECK(ready.ok());
  CHECK(ready->token == 1);
}

TEST_CASE("A descriptor that becomes ready ends the sleep, beside a word, too") {
  SleepingSet sleeping(GENERATE(Sleep::kEpoll, Sleep::kWordsAndHelper), any_set_strategy());
  for (int i = 0; i < 3; ++i) {
    const Result<Ready> ready = while_it_waits([&] { return sleeping.set.wait(kHang); },
                                               [&] { signal_eventfd(sleeping.event.get()); });
    CHECK(ready.ok());
    CHECK(ready->kind == SourceKind::kDescriptor);
    CHECK(ready->token == 2);
    CHECK(ready->events == POLLIN);
    drain_eventfd(sleeping.event.get());
  }
}

TEST_CASE("A call that overlaps a wait is misuse, and disturbs nothing") {
  SleepingSet sleeping(GENERATE(Sleep::kWords, Sleep::kEpoll), WaitStrategy::kPark);
  WaitSet& set = sleeping.set;
  const auto timer = set.add_timer(Deadline::never(), 3);
  REQUIRE(timer.ok());
  WordSource another;
  std::vector<Errc> overlapping;
  const Errc waited = while_it_waits(
      [&] { return set.wait(kHang).error(); },
      [&] {
        overlapping = {set.wait(kHang).error(), set.remove(*timer).error(),
                       set.set_timer(*timer, kPast).error()};
        for (const absl::Status& status :
             {set.add_timer(kPast, 1).status(), set.add_fd(0, POLLIN, 1).status(),
              add_source(set, SourceKind::kSubscriber, &another, 1, "source").status()}) {
          overlapping.push_back(errc_of(status));
        }
        set.interrupt();
      });
  CHECK(waited == Errc::kInterrupted);
  CHECK(overlapping == std::vector<Errc>(6, Errc::kMisuse));
  CHECK(another.owner() == nullptr);
}

TEST_CASE("A source that goes leaves its set, and one whose set goes is free") {
  std::optional<WaitSet> set = make_set();
  WordSource stays;
  const SourceId kept = add(*set, stays, 1);
  {
    WordSource goes;
    goes.always_ready = true;
    add(*set, goes, 2);
    CHECK(ready_now(*set)->token == 2);
    CHECK(set->size() == 2);
  }
  CHECK(set->size() == 1);
  CHECK(ready_now(*set).error() == Errc::kWouldBlock);
  CHECK(stays.owner() != nullptr);
  set.reset();
  CHECK(stays.owner() == nullptr);
  set = make_set();
  CHECK(add(*set, stays, 3) == kept);  // the first id of another set
  CHECK(set->remove(kept) == Errc::kOk);
  CHECK(set->remove(kept) == Errc::kNotFound);
  CHECK(stays.owner() == nullptr);
}

TEST_CASE("A source is in one set, once") {
  WaitSet set = make_set();
  WaitSet other = make_set();
  WordSource source;
  add(set, source);
  for (WaitSet* again : {&set, &other}) {
    const auto added = add_source(*again, SourceKind::kSubscriber, &source, 0, "subscriber");
    CHECK(errc_of(added.status()) == Errc::kMisuse);
    CHECK(added.status().message().find("remove it there first") != absl::string_view::npos);
  }
  const auto moved = add_source(set, SourceKind::kSubscriber, nullptr, 0, "subscriber");
  CHECK(errc_of(moved.status()) == Errc::kMisuse);
}

TEST_CASE("A set takes as many sources as it says, and sleeps on all of them") {
  WaitSet set = make_set();
  std::vector<std::unique_ptr<WordSource>> sources;
  for (std::size_t i = 0; i < kWaitSetSourcesMax; ++i) {
    sources.push_back(std::make_unique<WordSource>());
    add(set, *sources.back(), i);
  }
  const absl::Status one_more = set.add_timer(kPast, 0).status();
  CHECK(errc_of(one_more) == Errc::kLimit);
  CHECK(one_more.message().find("127") != absl::string_view::npos);
  const Result<Ready> ready =
      while_it_waits([&] { return set.wait(kHang); }, [&] { sources.back()->ring(); });
  CHECK(ready->token == kWaitSetSourcesMax - 1);
  sources.front().reset();
  CHECK(set.add_timer(kPast, 0).ok());
}

TEST_CASE("Removing a source keeps the turn of those behind it") {
  WaitSet set = make_set();
  WordSource sources[4];
  SourceId ids[4];
  for (std::uint64_t i = 0; i < 4; ++i) {
    sources[i].always_ready = true;
    ids[i] = add(set, sources[i], i);
  }
  CHECK(ready_now(set)->token == 0);
  CHECK(ready_now(set)->token == 1);
  REQUIRE(set.remove(ids[0]) == Errc::kOk);
  CHECK(ready_now(set)->token == 2);
  REQUIRE(set.remove(ids[3]) == Errc::kOk);
  CHECK(ready_now(set)->token == 1);
  CHECK(ready_now(set)->token == 2);
}

}  // namespace
}  // namespace lapwing
