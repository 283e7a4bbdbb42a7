// The publishing thread's waits while the journal is stalled: when they end, what they return, and
// what an overlapping call returns.
#include "publisher/gate_wait.h"

#include <chrono>
#include <string>

#include "proto/ring_words.h"
#include "testing/publisher_fixture.h"
#include "testing/skip.h"
#include "testing/started_parts.h"
#include "testing/waiting_call.h"

namespace lapwing {
namespace {

constexpr std::chrono::seconds kPatience{60};

TEST_CASE("A record up to the gate's limit is admitted, and the path gets the limit") {
  const TemporaryDirectory directory;
  StartedParts parts(options_for(directory));
  const Sequence limit = parts.gate.limit();
  REQUIRE(limit >= kCapacity);
  CHECK(parts.path.limit == limit);
  parts.path.limit = 0;
  CHECK(parts.waits.admit(limit, Deadline::now()));
  CHECK(parts.path.limit == limit);
  CHECK(parts.waits.counters().journal_stalls == 0);
}

TEST_CASE("A wait for the journal ends when the gate is raised, and is counted as a stall") {
  const TemporaryDirectory directory;
  StartedParts parts(options_for(directory));
  const Sequence next = parts.gate.limit() + 1;
  CHECK(while_it_waits([&] { return parts.waits.admit(next, kPatience); },
                       [&] { parts.gate.raise(next + 9); }));
  CHECK(parts.path.limit == next + 9);
  CHECK(parts.waits.status().ok());
  const PublisherCounters counters = parts.waits.counters();
  CHECK(counters.journal_stalls == 1);
  CHECK(counters.journal_stall_ns_max > 0);
  CHECK(counters.journal_stall_ns_max == counters.journal_stall_ns_total);
  CHECK(load_durations(parts.words().stalls).count() == 1);
}

TEST_CASE(
    "A wait for the journal that ends otherwise returns the reason, and publishing can continue") {
  const TemporaryDirectory directory;
  StartedParts parts(options_for(directory));
  const Sequence limit = parts.gate.limit();
  const auto refusal = [&](Deadline deadline) {
    CHECK_FALSE(parts.waits.admit(limit + 1, deadline));
    return errc_of(parts.waits.last_error());
  };
  CHECK(refusal(Deadline::now()) == Errc::kWouldBlock);
  CHECK(refusal(std::chrono::milliseconds(1)) == Errc::kTimedOut);
  CHECK_THAT(std::string(parts.waits.last_error().message()),
             Catch::StartsWith("the journal is behind"));
  CHECK(while_it_waits([&] { return refusal(kPatience); }, [&] { parts.waits.interrupt(); }) ==
        Errc::kInterrupted);
  CHECK(refusal(std::chrono::milliseconds(1)) == Errc::kTimedOut);
  CHECK(parts.waits.status().ok());
  CHECK(parts.path.limit == limit);
}

TEST_CASE("A later record that is admitted does not clear the last error") {
  const TemporaryDirectory directory;
  StartedParts parts(options_for(directory));
  CHECK_FALSE(parts.waits.refuse(make_error(Errc::kRecordSize, "too long")));
  CHECK(parts.waits.admit(1, Deadline::now()));
  CHECK(errc_of(parts.waits.last_error()) == Errc::kRecordSize);
}

TEST_CASE("While one call waits, all others are refused, and the path admits nothing") {
  if (kThreadSanitizer) LAPWING_SKIP("the misuse is a data race, which a sanitizer reports");
  const TemporaryDirectory directory;
  StartedParts parts(options_for(directory));
  const Sequence next = parts.gate.limit() + 1;
  CHECK(while_it_waits([&] { return parts.waits.admit(next, kPatience); },
                       [&] {
                         CHECK(parts.waits.is_waiting());
                         CHECK(parts.path.limit == 0);
                         CHECK_FALSE(parts.waits.admit(1, Deadline::now()));
                         CHECK(errc_of(parts.waits.last_error()) == Errc::kMisuse);
                         CHECK(errc_of(parts.waits.flush(kPatience)) == Errc::kMisuse);
                         CHECK(errc_of(parts.waits.check_may_wait()) == Errc::kMisuse);
                         parts.gate.raise(next);
                       }));
  CHECK_FALSE(parts.waits.is_waiting());
  CHECK(parts.waits.check_may_wait().ok());
}

TEST_CASE("The log hook of a publisher may not wait for it") {
  const TemporaryDirectory directory;
  StartedParts parts(options_for(directory));
  bool called = false;
  parts.session.options->log_mark.around([&](const LogEntry&) {
    called = true;
    CHECK(errc_of(parts.waits.check_may_wait()) == Errc::kMisuse);
    CHECK_FALSE(parts.waits.admit(parts.gate.limit() + 1, kPatience));
    CHECK(errc_of(parts.waits.last_error()) == Errc::kMisuse);
  })({});
  CHECK(called);
  CHECK(parts.waits.check_may_wait().ok());
}

TEST_CASE("After the end of publishing every record is refused with the first reason") {
  const TemporaryDirectory directory;
  StartedParts parts(options_for(directory));
  parts.waits.end(make_error(Errc::kClosed, "closed"));
  parts.waits.end(make_error(Errc::kLimit, "later"));
  CHECK(parts.path.limit == 0);
  CHECK_FALSE(parts.waits.admit(1, kPatience));
  CHECK(errc_of(parts.waits.last_error()) == Errc::kClosed);
  CHECK(errc_of(parts.waits.status()) == Errc::kClosed);
  CHECK(errc_of(parts.waits.flush(Deadline::now())) == Errc::kOk);  // nothing was published
  CHECK(parts.path.limit == 0);
}

TEST_CASE("The sequence after the last one ends publishing") {
  const TemporaryDirectory directory;
  PublisherSetUp options = options_for(directory);
  keep_no_journal(options);
  StartedParts parts(std::move(options));
  CHECK(parts.waits.admit(kSequenceMax - 1, Deadline::now()));
  CHECK(parts.path.limit == kSequenceMax - 1);
  CHECK_FALSE(parts.waits.admit(kSequenceMax, Deadline::now()));
  CHECK(errc_of(parts.waits.status()) == Errc::kLimit);
  CHECK(parts.path.limit == 0);
}

TEST_CASE("A flush ends when everything is durable; without a journal it fails") {
  const TemporaryDirectory directory;
  PublisherSetUp options = options_for(directory);
  if (GENERATE(true, false)) {
    StartedParts parts(std::move(options));
    parts.path.head = 1;
    CHECK(errc_of(parts.waits.flush(Deadline::now())) == Errc::kWouldBlock);
    CHECK(while_it_waits([&] { return parts.waits.flush(kPatience); },
                         [&] {
                           store_durable(parts.words(), 1);
                           parts.gate.nudge();
                         })
              .ok());
    CHECK(parts.path.limit == parts.gate.limit());
    parts.path.head = 0;
  } else {
    keep_no_journal(options);
    StartedParts parts(std::move(options));
    CHECK(errc_of(parts.waits.flush(kPatience)) == Errc::kNoJournal);
  }
}

TEST_CASE("A wait for a close ends with the close, or returns that the close continues") {
  const TemporaryDirectory directory;
  StartedParts parts(options_for(directory));
  StickyFlag closed;
  const auto wait = [&](Deadline deadline) {
    return parts.waits.wait_for_close([&] { return closed.is_set(); }, deadline);
  };
  CHECK(errc_of(wait(Deadline::now())) == Errc::kWouldBlock);
  parts.waits.interrupt();
  const absl::Status interrupted = wait(kPatience);
  CHECK(errc_of(interrupted) == Errc::kInterrupted);
  CHECK_THAT(std::string(interrupted.message()), Catch::EndsWith("which continues"));
  CHECK(while_it_waits([&] { return wait(kPatience); },
                       [&] {
                         closed.set();
                         parts.gate.nudge();
                       })
            .ok());
}

}  // namespace
}  // namespace lapwing
