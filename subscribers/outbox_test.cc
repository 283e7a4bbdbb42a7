#include "subscribers/outbox.h"

#include <catch2/catch.hpp>

namespace lapwing {
namespace {

Due event(EventKind kind, Sequence sequence) {
  return {.kind = DueKind::kEvent, .sequence = sequence, .event = kind};
}

TEST_CASE("Events leave the outbox in the order in which they were added, each with its text") {
  Outbox outbox;
  outbox.add(event(EventKind::kSession, 1), "");
  outbox.add(event(EventKind::kReset, 2), "another history");
  outbox.add(event(EventKind::kLost, 3), "pruned");
  CHECK(outbox.take().sequence == 1);
  CHECK(outbox.text().empty());
  CHECK(outbox.take().sequence == 2);
  CHECK(outbox.text() == "another history");
  CHECK(outbox.take().sequence == 3);
  CHECK(outbox.text() == "pruned");
  CHECK(outbox.empty());
  CHECK(outbox.text() == "pruned");
}

TEST_CASE("An event that is put back is the first again, with its text") {
  Outbox outbox;
  outbox.add(event(EventKind::kPublisherGone, 1), "died");
  outbox.add(event(EventKind::kReset, 2), "another history");
  outbox.put_back(outbox.take());
  CHECK(outbox.first().event == EventKind::kPublisherGone);
  CHECK(outbox.take().event == EventKind::kPublisherGone);
  CHECK(outbox.text() == "died");
  CHECK(outbox.take().event == EventKind::kReset);
  CHECK(outbox.text() == "another history");
}

TEST_CASE("A beginning is found anywhere in the outbox until it is taken") {
  const auto kind =
      GENERATE(EventKind::kReset, EventKind::kSnapshotComplete, EventKind::kNoSnapshot);
  Outbox outbox;
  outbox.add(event(EventKind::kPublisherGone, 1), "");
  CHECK_FALSE(outbox.has_beginning());
  outbox.add(event(kind, 2), "");
  CHECK(outbox.has_beginning());
  outbox.take();
  CHECK(outbox.has_beginning());
  outbox.take();
  CHECK_FALSE(outbox.has_beginning());
}

TEST_CASE("A state after a gap is not a beginning") {
  const auto kind = GENERATE(EventKind::kSnapshotComplete, EventKind::kNoSnapshot);
  Outbox outbox;
  outbox.add(event(kind, 9), "", {5, 7, 8, GapCause::kLapped, true});
  CHECK_FALSE(outbox.has_beginning());
  CHECK(outbox.gap_is_first());
  CHECK(outbox.first_gap().first == 5);
}

TEST_CASE("A gap is first only while nothing is before it") {
  const auto kind = GENERATE(EventKind::kGap, EventKind::kLost);
  Outbox outbox;
  CHECK_FALSE(outbox.gap_is_first());
  outbox.add(event(EventKind::kPublisherGone, 1), "");
  outbox.add(event(kind, 2), "", {2, 3, 4, GapCause::kLapped, true});
  CHECK_FALSE(outbox.gap_is_first());
  outbox.take();
  CHECK(outbox.gap_is_first());
}

}  // namespace
}  // namespace lapwing
