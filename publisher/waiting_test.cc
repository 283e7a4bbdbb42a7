// A publisher's calls while the disk is stalled: they end at their deadline or when interrupted,
// and overlapping calls return kMisuse.
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <optional>
#include <thread>

#include "lapwing/publisher.h"
#include "publisher/publisher_set_up.h"
#include "testing/child_process.h"
#include "testing/process_threads.h"
#include "testing/publisher_fixture.h"
#include "testing/skip.h"
#include "testing/waiting_call.h"

namespace lapwing {
namespace {

constexpr std::chrono::seconds kHang{60};
constexpr std::chrono::milliseconds kSoon{20};

// A bus whose journal is blocked from open() on until `hold` is false.
struct StandingDisk {
  StandingDisk() {
    options.make_queue = [this] {
      return std::make_unique<HoldingQueue>(hold, WriteRequest::Kind::kWrite);
    };
  }
  ~StandingDisk() { hold = false; }  // before the publisher closes

  void open() {
    publisher = open_publisher(options);
    hold = true;
  }
  // Fills the ring, so that the next record must wait for the journal.
  Sequence fill() {
    open();
    const Record record = record_of(1);
    while (publisher->publish(record, kSoon).ok()) continue;
    INFO(publisher->last_error().ToString());
    REQUIRE(errc_of(publisher->last_error()) == Errc::kTimedOut);
    return publisher->head();
  }

  TemporaryDirectory directory;
  PublisherSetUp options = options_for(directory);
  std::atomic<bool> hold{false};
  ClosingPublisher publisher;
};

TEST_CASE("A publish that waits for the journal ends at its deadline, and nothing is published") {
  StandingDisk disk;
  const Sequence head = disk.fill();
  const ClosingPublisher& publisher = disk.publisher;
  CHECK(!publisher->publish(record_of(head + 1), kSoon).ok());
  CHECK(errc_of(publisher->last_error()) == Errc::kTimedOut);
  CHECK(publisher->head() == head);
  CHECK(publisher->status().ok());
  const std::vector<Record> two = records_from(head + 1, 2);
  CHECK(!publisher->publish_batch(bytes_of(two), Deadline::now()).ok());
  CHECK(errc_of(publisher->last_error()) == Errc::kWouldBlock);
  CHECK(!publisher->publish(two.front(), Deadline::now()).ok());
  CHECK(errc_of(publisher->last_error()) == Errc::kWouldBlock);
  CHECK(errc_of(publisher->flush(Deadline::now())) == Errc::kWouldBlock);
  disk.hold = false;
  CHECK(*publisher->publish(record_of(head + 1), kHang) == head + 1);
}

TEST_CASE("interrupt ends the wait for the journal, or the next one, once") {
  StandingDisk disk;
  const Sequence head = disk.fill();
  const ClosingPublisher& publisher = disk.publisher;
  CHECK(while_it_waits([&] { return publisher->publish(record_of(head + 1), kHang); },
                       [&] { publisher->interrupt(); }) == Errc::kInterrupted);
  CHECK(errc_of(publisher->last_error()) == Errc::kInterrupted);
  publisher->interrupt();
  CHECK(errc_of(publisher->flush(kHang)) == Errc::kInterrupted);
  CHECK(errc_of(publisher->flush(kSoon)) == Errc::kTimedOut);
  CHECK(publisher->head() == head);
}

TEST_CASE("A call that overlaps one that waits is misuse, and publishes nothing") {
  if (kThreadSanitizer) LAPWING_SKIP("the misuse is a data race, which a sanitizer reports");
  StandingDisk disk;
  const Sequence head = disk.fill();
  const ClosingPublisher& publisher = disk.publisher;
  std::thread other([&] {
    absl::Status flushed;
    do {  // a publish below may be running
      flushed = publisher->flush(kHang);
    } while (errc_of(flushed) == Errc::kMisuse);
    CHECK(flushed.ok());
  });
  for (const Deadline deadline = kHang; !deadline.has_passed();) {
    REQUIRE(!publisher->publish(record_of(head + 1), Deadline::now()).ok());
    if (errc_of(publisher->last_error()) == Errc::kMisuse) break;
  }
  CHECK(errc_of(publisher->last_error()) == Errc::kMisuse);
  CHECK(errc_of(publisher->flush(Deadline::now())) == Errc::kMisuse);
  CHECK(errc_of(publisher->close(Deadline::now())) == Errc::kMisuse);
  disk.hold = false;
  other.join();
  CHECK(publisher->head() == head);
  CHECK(*publisher->publish(record_of(head + 1)) == head + 1);
}

TEST_CASE(
    "A publish that waits for the journal succeeds although other calls are refused meanwhile") {
  if (kThreadSanitizer) LAPWING_SKIP("the misuse is a data race, which a sanitizer reports");
  StandingDisk disk;
  const Sequence head = disk.fill();
  const ClosingPublisher& publisher = disk.publisher;
  Result<Sequence> published;
  std::atomic<bool> waits = false;
  std::thread waiter([&] {
    do {  // a flush below may be running
      published = publisher->publish(record_of(head + 1), kHang);
    } while (!published.ok() && !waits);
  });
  absl::Status refused;
  do {
    refused = publisher->flush(Deadline::now());
  } while (errc_of(refused) != Errc::kMisuse);
  waits = true;
  CHECK(!publisher->publish(record_of(head + 2), Deadline::now()).ok());
  CHECK(errc_of(publisher->last_error()) == Errc::kMisuse);
  disk.hold = false;
  waiter.join();
  CHECK(*published == head + 1);
  CHECK(publisher->head() == head + 1);
}

TEST_CASE("A close that waits for the disk continues by itself, and returns its result later") {
  StandingDisk disk;
  disk.open();
  const ClosingPublisher& publisher = disk.publisher;
  REQUIRE(*publisher->publish(record_of(1)) == 1);
  CHECK(errc_of(publisher->close(kSoon)) == Errc::kTimedOut);
  CHECK(errc_of(publisher->close(Deadline::now())) == Errc::kWouldBlock);
  CHECK(!publisher->publish(record_of(2)).ok());
  CHECK(errc_of(publisher->last_error()) == Errc::kClosed);
  publisher->interrupt();
  CHECK(errc_of(publisher->close(kHang)) == Errc::kInterrupted);
  disk.hold = false;
  CHECK(publisher->close(kHang).ok());
  CHECK(open_publisher(disk.options)->first() == 2);
}

TEST_CASE("A destructor does not wait for a disk, and the session is still closed") {
  StandingDisk disk;
  {
    absl::StatusOr<Publisher> publisher = open_with_seams(disk.options);
    REQUIRE(publisher.ok());
    disk.hold = true;
    REQUIRE(*publisher->publish(record_of(1)) == 1);
  }
  CHECK(disk.hold);  // it returned while the disk was stalled
  disk.hold = false;
  const auto next = open_publisher(disk.options);
  CHECK(next->first() == 2);
  CHECK(next->last_session().how == Settlement::kContinued);
}

std::optional<Publisher> held_by_the_program;  // constructed before the library's statics

TEST_CASE("A program closes its static publishers when it exits") {
  if (kThreadSanitizer) LAPWING_SKIP("it ends a child with threads of its own");
  const bool outlives_the_librarys = GENERATE(false, true);
  TemporaryDirectory directory;
  const PublisherSetUp options = options_for(directory);
  // If threads are still closing other tests' sessions, nothing frees their memory in the child.
  wait_until_none_is_named("lapwing-closing");
  ChildProcess child([&] {
    absl::StatusOr<Publisher> opened = open_with_seams(options);
    if (!opened.ok() || *opened->publish(record_of(1)) != 1) return 1;
    if (outlives_the_librarys) {
      held_by_the_program = *std::move(opened);
    } else {
      static Publisher held = *std::move(opened);
    }
    std::exit(0);
  });
  REQUIRE(child.wait() == 0);
  CHECK(read_bus_description(options.directory)->closed);
  const auto next = open_publisher(options);
  CHECK(next->first() == 2);
  CHECK(next->last_session().how == Settlement::kContinued);
}

TEST_CASE("A start gives another publisher until its deadline to end") {
  TemporaryDirectory directory;
  const auto publisher = open_publisher(options_for(directory));
  const absl::StatusOr<Publisher> second = Publisher::open(options_for(directory), Deadline::now());
  CHECK(errc_of(second.status()) == Errc::kInUse);
}

TEST_CASE("A record is published by reference, and its size is its type's") {
  TemporaryDirectory directory;
  struct Quote {
    std::uint64_t words[7];
  };
  struct Short {
    std::uint64_t words[6];
  };
  const auto publisher = open_publisher(options_for(directory));
  CHECK(*publisher->publish(Quote{{1, 2, 3, 4, 5, 6, 7}}) == 1);
  CHECK(!publisher->publish(Short{}).ok());
  CHECK(errc_of(publisher->last_error()) == Errc::kRecordSize);
}

}  // namespace
}  // namespace lapwing
