#include "lapwing/checkpointer.h"

#include <pthread.h>
#include <signal.h>

#include <thread>

#include "lapwing/checkpoints.h"
#include "lapwing/error.h"
#include "os/thread_words.h"
#include "testing/checkpointer_fixture.h"
#include "testing/child_process.h"

namespace lapwing {
namespace {

constexpr std::chrono::seconds kHang{60};  // limits a hang; not used for measurements

CheckpointerOptions options_of(const TestBus& bus) {
  return {.subscriber = {.directory = bus.directory(), .name = "test"},
          .own_fold = std::make_shared<TallyFold>()};
}

TEST_CASE("A checkpointer of a closed bus leaves a checkpoint that the public class opens") {
  const ClosedBus bus(900);
  auto opened = Checkpointer::open(options_of(bus));
  INFO(opened.status().ToString());
  REQUIRE(opened.ok());
  Checkpointer checkpointer = *std::move(opened);
  CHECK_FALSE(checkpointer.committed());
  while (!checkpointer.is_closed()) {
    REQUIRE(checkpointer.run(std::chrono::seconds(60)).ok());
  }
  Reference reference = reference_of(bus);
  reference.fold_through(900);
  CHECK(checkpointer.folded_through() == reference.settled());
  REQUIRE(checkpointer.finish().ok());
  REQUIRE(checkpointer.committed());
  CHECK(checkpointer.committed()->sequence == reference.settled());
  CHECK(checkpointer.counters().checkpoints == 1);
  const auto checkpoint =
      Checkpoint::open({.directory = bus.directory(), .own_fold = options_of(bus).own_fold});
  INFO(checkpoint.status().ToString());
  REQUIRE(checkpoint.ok());
  CHECK(checkpoint->info().as_of == reference.settled());
  CHECK(checkpoint->digest() == reference.settled_digest());
  CHECK(checkpoint->digest() == checkpointer.digest().value());
  CHECK(checkpoint->digest() == checkpointer.counters().last.digest);
  CHECK(checkpoint->size() == checkpointer.counters().last.entries);
}

TEST_CASE("A second checkpointer of a fold is refused, and a fold by name needs its bus") {
  const ClosedBus bus(100);
  const auto first = Checkpointer::open(options_of(bus));
  REQUIRE(first.ok());
  CHECK(errc_of(Checkpointer::open(options_of(bus)).status()) == Errc::kInUse);
  CHECK(errc_of(Checkpointer::open({.subscriber = {.directory = bus.directory()}, .fold = "orders"})
                    .status()) == Errc::kInvalidArgument);
  CHECK(errc_of(Checkpointer::open({.subscriber = {.directory = "./nowhere"}}).status()) ==
        Errc::kNoBus);
}

TEST_CASE("A checkpointer has a fold's name or a fold, not both") {
  const ClosedBus bus(100);
  CheckpointerOptions both = options_of(bus);
  both.fold = kFoldOrders;
  const absl::Status refused = Checkpointer::open(both).status();
  CHECK(errc_of(refused) == Errc::kInvalidArgument);
  CHECK(std::string(refused.message()).find("fold (orders) and own_fold (") != std::string::npos);
}

TEST_CASE("A checkpointer does not accept instruments: a checkpoint is of the whole bus") {
  const ClosedBus bus(100);
  CheckpointerOptions options = options_of(bus);
  options.subscriber.instruments = {"id:7"};
  const absl::Status refused = Checkpointer::open(std::move(options)).status();
  CHECK(errc_of(refused) == Errc::kInvalidArgument);
  CHECK(std::string(refused.message()).find("subscriber.instruments is set") == 0);
}

TEST_CASE("A checkpointer uses its own end_at_close, and waits for the next session") {
  const ClosedBus bus(900);
  CheckpointerOptions options = options_of(bus);
  options.subscriber.end_at_close = true;
  options.subscriber.reattach = std::chrono::milliseconds(1);
  auto checkpointer = Checkpointer::open(std::move(options));
  REQUIRE(checkpointer.ok());
  while (!checkpointer->is_closed()) {
    REQUIRE(checkpointer->run(std::chrono::seconds(60)).ok());
  }
  CHECK(errc_of(checkpointer->run(std::chrono::seconds(60))) == Errc::kPublisherGone);
}

Checkpointer* interrupted_by_signal = nullptr;

// The run waits for a bus that publishes nothing, and commits once an
// hour, so nothing else ends it.
TEST_CASE("interrupt ends the run under way, or the next, from a thread and a signal handler") {
  TestBus bus;
  bus.start();
  CheckpointerOptions options = options_of(bus);
  options.commit_interval = std::chrono::hours(1);
  options.subscriber.wait = WaitStrategy::kPark;
  StickyFlag caught_up;
  options.on_event = [&](const Event& event) {
    if (event.kind == EventKind::kCaughtUp) caught_up.set();
  };
  auto opened = Checkpointer::open(std::move(options));
  REQUIRE(opened.ok());
  Checkpointer checkpointer = *std::move(opened);
  interrupted_by_signal = &checkpointer;
  struct sigaction before{};
  struct sigaction action{};
  action.sa_handler = [](int) { interrupted_by_signal->interrupt(); };
  REQUIRE(::sigaction(SIGUSR1, &action, &before) == 0);
  for (int round = 0; round < 100; ++round) {
    Errc ended = Errc::kOk;
    std::thread runs([&] { ended = errc_of(checkpointer.run(kHang)); });
    for (const Deadline deadline = kHang; !caught_up.is_set() && !deadline.has_passed();) {
      bus.turn();
    }
    for (int turn = 0; turn < round; ++turn) std::this_thread::yield();  // longer each round
    if (round % 2 == 0) {
      checkpointer.interrupt();
    } else {
      REQUIRE(::pthread_kill(runs.native_handle(), SIGUSR1) == 0);
    }
    runs.join();
    REQUIRE(ended == Errc::kInterrupted);
  }
  CHECK(caught_up.is_set());
  checkpointer.interrupt();
  checkpointer.interrupt();
  CHECK(errc_of(checkpointer.run(kHang)) == Errc::kInterrupted);
  CHECK(checkpointer.run(std::chrono::milliseconds(1)).ok());  // only once
  REQUIRE(::sigaction(SIGUSR1, &before, nullptr) == 0);
  bus.publish(900);
  bus.archive(900);
  Reference reference = reference_of(bus);
  reference.fold_through(900);
  const Deadline deadline = kHang;
  while (checkpointer.folded_through() < reference.settled() && !deadline.has_passed()) {
    bus.turn();
    REQUIRE(checkpointer.run(std::chrono::milliseconds(1)).ok());
  }
  CHECK(checkpointer.folded_through() == reference.settled());
}

TEST_CASE("Every call of a checkpointer returns forked in a child, and its parent continues") {
  const ClosedBus bus(900);
  auto opened = Checkpointer::open(options_of(bus));
  REQUIRE(opened.ok());
  Checkpointer checkpointer = *std::move(opened);
  ChildProcess child([&] {
    const auto is_forked = [](const absl::Status& why) { return errc_of(why) == Errc::kForked; };
    if (!is_forked(checkpointer.run(Deadline::never()))) return __LINE__;
    if (!is_forked(checkpointer.finish())) return __LINE__;
    if (!is_forked(checkpointer.digest().status())) return __LINE__;
    [[maybe_unused]] const Checkpointer gone = std::move(checkpointer);
    return 0;
  });
  CHECK(child.wait() == 0);
  while (!checkpointer.is_closed()) {
    REQUIRE(checkpointer.run(std::chrono::seconds(60)).ok());
  }
  CHECK(checkpointer.finish().ok());
  CHECK(checkpointer.counters().checkpoints == 1);
}

}  // namespace
}  // namespace lapwing
