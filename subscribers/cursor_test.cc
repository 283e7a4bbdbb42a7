// A cursor as a program uses it: which users may open it, the contents of a commit, and where a
// subscriber continues. cursor_file_test.cc tests the file itself.
#include "lapwing/cursor.h"

#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <csignal>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "lapwing/error.h"
#include "testing/bus_fixture.h"
#include "testing/child_process.h"
#include "testing/process_descriptors.h"
#include "testing/temporary_directory.h"

namespace lapwing {
namespace {

StoredPosition position_of(Sequence n) {
  StoredPosition position;
  position.journal_id = *Id128::from_hex("000102030405060708090a0b0c0d0e0f");
  position.session_id = *Id128::from_hex("0f0e0d0c0b0a09080706050403020100");
  position.sequence = n;
  return position;
}

// A directory for a cursor.
struct Place {
  absl::StatusOr<Cursor> try_open() const { return Cursor::open({.path = path}, Deadline::now()); }
  Cursor open() const {
    absl::StatusOr<Cursor> opened = try_open();
    INFO(opened.status());
    REQUIRE(opened.ok());
    return *std::move(opened);
  }

  TemporaryDirectory directory;
  std::string path = directory.file("es.cursor");
};

TEST_CASE("A new cursor has no position, and the next run finds the last commit") {
  const Place place;
  {
    Cursor cursor = place.open();
    CHECK_FALSE(cursor.position());
    CHECK(cursor.output() == OutputEnd{});
    REQUIRE(cursor.commit(position_of(7), {.bytes = 700, .file = 2}).ok());
    REQUIRE(cursor.commit(position_of(8), {.bytes = 800, .file = 3}).ok());
    CHECK(cursor.position() == position_of(8));
  }
  Cursor cursor = place.open();
  CHECK(cursor.position() == position_of(8));
  CHECK(cursor.output() == OutputEnd{.bytes = 800, .file = 3});
  Cursor moved = std::move(cursor);
  REQUIRE(moved.commit(position_of(9)).ok());
  CHECK(moved.position() == position_of(9));
  CHECK(moved.output() == OutputEnd{});
}

TEST_CASE("A durable cursor commits like any other") {
  const Place place;
  {
    auto cursor = Cursor::open({.path = place.path, .durable = true});
    REQUIRE(cursor.ok());
    REQUIRE(cursor->commit(position_of(7), {.bytes = 700}).ok());
  }
  CHECK(place.open().position() == position_of(7));
}

TEST_CASE("A start resumes at the cursor, or begins as requested if the cursor has no commit") {
  const Place place;
  Cursor cursor = place.open();
  const Start first = Start::resume(cursor, Start::sequence(42));
  CHECK(first.kind == Start::Kind::kSequence);
  CHECK(first.value == 42);
  REQUIRE(cursor.commit(position_of(7)).ok());
  const Start next = Start::resume(cursor, Start::sequence(42));
  CHECK(next.kind == Start::Kind::kAfter);
  CHECK(next.position == position_of(7));
  CHECK(next.value == 0);
}

TEST_CASE("A subscriber that resumes gets the record after the last commit") {
  TestBus bus;
  bus.start();
  bus.publish(20);
  const Place place;
  {
    Cursor cursor = place.open();
    Trace trace(bus, bus.options(Start::resume(cursor, Start::oldest())));
    REQUIRE(trace.until_record(5));
    REQUIRE(cursor.commit(trace.subscriber, {.bytes = 50}).ok());
    REQUIRE(trace.until_record(9));  // not committed
  }
  Cursor cursor = place.open();
  CHECK(cursor.position()->sequence == 5);
  CHECK(cursor.output().bytes == 50);
  Trace trace(bus, bus.options(Start::resume(cursor, Start::oldest())));
  REQUIRE(trace.until_record(20));
  CHECK(trace.subscriber.counters().first == 6);
  CHECK(trace.subscriber.counters().records == 15);
}

TEST_CASE("A subscriber that has delivered nothing leaves the last commit unchanged") {
  const Place place;
  Cursor cursor = place.open();
  REQUIRE(cursor.commit(position_of(7), {.bytes = 700}).ok());
  TestBus bus;
  const Subscriber subscriber = open_subscriber(bus.options());
  REQUIRE(subscriber.position().sequence == kNoSequence);
  REQUIRE(cursor.commit(subscriber, {.bytes = 1}).ok());
  CHECK(cursor.position() == position_of(7));
  CHECK(cursor.output().bytes == 700);
}

TEST_CASE("An impossible sequence is refused and changes nothing") {
  const Place place;
  Cursor cursor = place.open();
  REQUIRE(cursor.commit(position_of(7)).ok());
  CHECK(errc_of(cursor.commit(position_of(kSequenceMax + 1))) == Errc::kInvalidArgument);
  REQUIRE(cursor.commit(position_of(kSequenceMax)).ok());
  CHECK(cursor.position() == position_of(kSequenceMax));
}

TEST_CASE("An open cursor is refused to other processes, with the process that has it") {
  const Place place;
  std::optional<Cursor> first(place.open());
  REQUIRE(first->commit(position_of(7)).ok());
  const auto second = place.try_open();
  CHECK(errc_of(second.status()) == Errc::kInUse);
  const std::string words(second.status().message());
  CHECK(absl::StartsWith(words, absl::StrCat(place.path, ".lock is held by process ", getpid())));
  CHECK(absl::StrContains(words, "use another cursor"));
  SECTION("until it is gone") {
    first.reset();
    CHECK(place.open().position() == position_of(7));
  }
  SECTION("also where somebody has removed its lock file") {
    std::filesystem::remove(place.path + ".lock");
    const auto third = place.try_open();
    CHECK(errc_of(third.status()) == Errc::kInUse);
    CHECK(absl::StrContains(std::string(third.status().message()), "in use by another process"));
  }
}

TEST_CASE("A killed process releases its cursor, and its commits stay") {
  const Place place;
  const Shared<Complaint> complaint;
  ChildProcess child([&] {
    auto cursor = place.try_open();
    if (!cursor.ok()) return complaint->say(cursor.status().ToString());
    for (Sequence n = 1; n <= 30; ++n) {
      const absl::Status done = cursor->commit(position_of(n), {.bytes = 10 * n});
      if (!done.ok()) return complaint->say(done.ToString());
    }
    raise(SIGSTOP);
    return 0;
  });
  int status = 0;
  REQUIRE(waitpid(child.pid(), &status, WUNTRACED) == child.pid());
  INFO(complaint->text);
  REQUIRE(WIFSTOPPED(status));
  CHECK(errc_of(place.try_open().status()) == Errc::kInUse);
  child.send(SIGKILL);
  CHECK(child.wait() == -SIGKILL);
  const Cursor cursor = place.open();
  CHECK(cursor.position() == position_of(30));
  CHECK(cursor.output().bytes == 300);
}

TEST_CASE("In a child, a cursor returns forked, and the parent's continues and stays locked") {
  const Place place;
  Cursor cursor = place.open();
  REQUIRE(cursor.commit(position_of(7), {.bytes = 70}).ok());
  ChildProcess child([&] {
    const absl::Status refused = cursor.commit(position_of(8));
    if (errc_of(refused) != Errc::kForked) return __LINE__;
    if (!absl::StrContains(std::string(refused.message()), "cursor")) return __LINE__;
    if (cursor.position() != position_of(7) || cursor.output().bytes != 70) return __LINE__;
    if (!descriptors_of(place.path).empty()) return __LINE__;
    const Cursor moved = std::move(cursor);
    if (errc_of(place.try_open().status()) != Errc::kInUse) return __LINE__;
    return 0;
  });
  CHECK(child.wait() == 0);
  CHECK(errc_of(place.try_open().status()) == Errc::kInUse);
  REQUIRE(cursor.commit(position_of(9)).ok());
  CHECK(cursor.position() == position_of(9));
}

TEST_CASE("An invalid path of a cursor is refused with a message") {
  const Place place;
  CHECK(errc_of(Cursor::open({}).status()) == Errc::kInvalidArgument);
  CHECK(errc_of(Cursor::open({.path = place.directory.file("none/es.cursor")}).status()) ==
        Errc::kNotFound);
  const std::string folder = place.directory.file("folder");
  std::filesystem::create_directory(folder);
  CHECK(errc_of(Cursor::open({.path = folder}).status()) == Errc::kNotALapwingFile);
  std::filesystem::create_symlink("elsewhere", place.path);
  CHECK(errc_of(place.try_open().status()) == Errc::kNotALapwingFile);
  CHECK_FALSE(std::filesystem::exists(place.directory.file("elsewhere")));
}

}  // namespace
}  // namespace lapwing
