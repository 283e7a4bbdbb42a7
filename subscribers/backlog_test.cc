#include "subscribers/backlog.h"

#include <catch2/catch.hpp>

namespace lapwing {
namespace {

TEST_CASE("A subscriber catches up once, when it has the last record of the backlog") {
  Backlog backlog(SubscriberOptions{});
  backlog.begin(10);
  CHECK(backlog.next_due() == 11);
  CHECK_FALSE(backlog.step(10));
  CHECK_FALSE(backlog.caught_up());
  CHECK(backlog.step(11));
  CHECK(backlog.caught_up());
  CHECK_FALSE(backlog.step(12));
  CHECK(backlog.next_due() == kNeverSequence);
}

TEST_CASE("A state that is newer than the backlog extends it, an older one does not") {
  Backlog backlog(SubscriberOptions{});
  backlog.begin(10);
  backlog.extend(7);
  CHECK(backlog.last() == 10);
  backlog.extend(12);
  CHECK(backlog.last() == 12);
  CHECK(backlog.joined_at() == 10);
  CHECK_FALSE(backlog.step(12));
  CHECK(backlog.step(13));
}

TEST_CASE("Another history that begins during the join is the backlog; later ones are not") {
  Backlog backlog(SubscriberOptions{});
  backlog.begin(100);
  backlog.restart(5);
  CHECK(backlog.step(6));
  backlog.restart(50);
  CHECK(backlog.next_due() == kNeverSequence);
  CHECK_FALSE(backlog.step(51));
}

TEST_CASE("The backlog of an empty bus is delivered before its first record") {
  Backlog backlog(SubscriberOptions{});
  backlog.begin(kNoSequence);
  CHECK(backlog.step(1));
}

}  // namespace
}  // namespace lapwing
