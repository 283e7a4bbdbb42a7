#include "monitor/view/view_place.h"

#include <catch2/catch.hpp>

namespace lapwing {
namespace {

Event event(EventKind kind) {
  Event event;
  event.kind = kind;
  return event;
}

TEST_CASE("A view joins, is live, falls behind, and is live again when it has caught up") {
  ViewPlace place;
  const auto state_after = [&](EventKind kind, bool is_skipped = false) {
    place.take(event(kind), is_skipped);
    return std::string(place.state);
  };
  CHECK(place.state == std::string("joining"));
  CHECK(state_after(EventKind::kSession) == "joining");
  CHECK(state_after(EventKind::kCaughtUp) == "joining");
  CHECK(state_after(EventKind::kLive) == "live");
  CHECK(state_after(EventKind::kBehind) == "filling");
  CHECK(state_after(EventKind::kLive) == "live");
  CHECK(state_after(EventKind::kGap) == "filling");
  CHECK(state_after(EventKind::kLive) == "live");
  CHECK(state_after(EventKind::kGap, /*is_skipped=*/true) == "live");
  CHECK(state_after(EventKind::kLost) == "live");
}

TEST_CASE("A view without a publisher says why it waits, and no longer once there is one") {
  ViewPlace place;
  place.take(event(EventKind::kLive), false);
  place.take(event(EventKind::kPublisherGone), false);
  CHECK(place.state == std::string("waiting"));
  CHECK(place.why.find("without closing") != std::string::npos);
  place.take(event(EventKind::kLive), false);
  CHECK(place.why.empty());
  place.take(event(EventKind::kClosed), false);
  CHECK(place.state == std::string("waiting"));
  CHECK(place.why.find("closed the bus") != std::string::npos);
  place.take(event(EventKind::kSession), false);
  CHECK(place.state == std::string("joining"));
  CHECK(place.why.empty());
}

TEST_CASE("What is behind is counted from the last record to head, and a reset forgets head") {
  ViewPlace place;
  place.sequence = 90;
  place.head = 100;
  CHECK(place.behind() == 10);
  place.take(event(EventKind::kSession), false);
  CHECK(place.head == 100);
  place.take(event(EventKind::kReset), false);
  CHECK(place.head == kNoSequence);
  CHECK(place.behind() == 0);
}

}  // namespace
}  // namespace lapwing
