// The subscriber on a journal that is moved, or whose files disappear and return, while being read.
#include <catch2/catch.hpp>
#include <filesystem>

#include "lapwing/subscriber.h"
#include "testing/bus_fixture.h"
#include "testing/is_readable.h"

namespace lapwing {
namespace {

constexpr Sequence kPublishedInAll = 5000;           // 1024 of them are in the ring
constexpr std::uint64_t kNever = 1'000'000'000'000;  // longer than any test takes

// A bus with kPublishedInAll records, and a subscriber that has begun with the oldest one.
struct Begun {
  explicit Begun(std::uint64_t grace_ns) : trace(bus, options(grace_ns)) {
    bus.start();
    bus.publish(kPublishedInAll);
    REQUIRE(trace.until_record(1));
  }
  SubscriberOptions options(std::uint64_t grace_ns) const {
    SubscriberOptions options = bus.options();
    options.missing_file_grace = std::chrono::nanoseconds(grace_ns);
    return options;
  }
  TestBus bus;
  Trace trace;
};

// A file or a directory that is renamed for a while.
class Away {
 public:
  explicit Away(std::string path) : path_(std::move(path)) {
    std::filesystem::rename(path_, path_ + ".away");
  }
  ~Away() { back(); }
  void back() {
    if (!std::filesystem::exists(path_)) std::filesystem::rename(path_ + ".away", path_);
  }

 private:
  std::string path_;
};

TEST_CASE("A subscriber loses nothing if the journal is moved while it is read") {
  Begun begun(0);
  const Away away(begun.bus.journal.root());
  REQUIRE(begun.trace.until(EventKind::kCaughtUp));
  CHECK(begun.trace.lines == Lines{"1..5000", "caught-up 5000"});
}

TEST_CASE("A subscriber loses nothing if a file is missing for a while") {
  const std::string suffix = GENERATE("jnl", "sum");
  Begun begun(kNever);
  Away away(begun.bus.journal.file(1, suffix.c_str()));
  REQUIRE(begun.trace.until_record(1024));
  begun.trace.until_quiet();
  CHECK(begun.trace.lines == Lines{"1..1024"});
  away.back();
  REQUIRE(begun.trace.until(EventKind::kCaughtUp));
  CHECK(begun.trace.lines == Lines{"1..5000", "caught-up 5000"});
}

TEST_CASE("An event loop sleeps while a file is missing, and continues once it is back") {
  Begun begun(kNever);
  const auto descriptor = begun.trace.subscriber.fd();
  REQUIRE(descriptor.ok());
  Away away(begun.bus.journal.file(1, "jnl"));
  // Reads like an event loop: each time the descriptor is readable, until nothing is left.
  const auto turn = [&] {
    REQUIRE(is_readable(*descriptor, 60'000));
    while (came(begun.trace.step()) != Came::kNothing) continue;
    return begun.trace.subscriber.arm();
  };
  while (begun.trace.lines != Lines{"1..1024"}) turn();
  for (int i = 0; i < 5; ++i) CHECK(turn());
  away.back();
  while (begun.trace.lines.back() != "caught-up 5000") turn();
  CHECK(begun.trace.lines == Lines{"1..5000", "caught-up 5000"});
}

TEST_CASE("A file that stays missing is finally lost, and the message contains since when") {
  Begun begun(20'000'000);
  const Away first(begun.bus.journal.file(1, "jnl")), second(begun.bus.journal.file(2, "jnl"));
  REQUIRE(begun.trace.until(EventKind::kLost));
  CHECK(begun.trace.says("the segment is missing"));
  CHECK(begun.trace.says("it did not reappear for"));
  REQUIRE(begun.trace.until(EventKind::kCaughtUp));
  CHECK(begun.trace.lines ==
        Lines{"1..1024", "lost 1025..3072 damaged", "3073..5000", "caught-up 5000"});
}

TEST_CASE("A removed journal is not waited for") {
  Begun begun(kNever);
  std::filesystem::remove_all(begun.bus.journal.root());
  REQUIRE(begun.trace.until(EventKind::kLost));
  CHECK(begun.trace.says("was removed"));
}

}  // namespace
}  // namespace lapwing
