#include "monitor/view/view_place.h"

#include <catch2/catch.hpp>

namespace lapwing {
namespace {

Event event(ItemKind kind) {
  Event event;
  event.kind = kind;
  return event;
}

TEST_CASE("A view joins, is live, falls behind, and is live again when it has caught up") {
  ViewPlace place;
  const auto state_after = [&](ItemKind kind, bool is_skipped = false) {
    place.take(event(kind), is_skipped);
    return std::string(place.state);
  };
  CHECK(place.state == std::string("joining"));
  CHECK(state_after(ItemKind::kSession) == "joining");
  CHECK(state_after(ItemKind::kCaughtUp) == "joining");
  CHECK(state_after(ItemKind::kLive) == "live");
  CHECK(state_after(ItemKind::kBehind) == "filling");
  CHECK(state_after(ItemKind::kLive) == "live");
  CHECK(state_after(ItemKind::kGap) == "filling");
  CHECK(state_after(ItemKind::kLive) == "live");
  CHECK(state_after(ItemKind::kGap, /*is_skipped=*/true) == "live");
  CHECK(state_after(ItemKind::kLost) == "live");
}

TEST_CASE("A view without a publisher says why it waits, and no longer once there is one") {
  ViewPlace place;
  place.take(event(ItemKind::kLive), false);
  place.take(event(ItemKind::kPublisherGone), false);
  CHECK(place.state == std::string("waiting"));
  CHECK(place.why.find("without closing") != std::string::npos);
  place.take(event(ItemKind::kLive), false);
  CHECK(place.why.empty());
  place.take(event(ItemKind::kClosed), false);
  CHECK(place.state == std::string("waiting"));
  CHECK(place.why.find("closed the bus") != std::string::npos);
  place.take(event(ItemKind::kSession), false);
  CHECK(place.state == std::string("joining"));
  CHECK(place.why.empty());
}

TEST_CASE("What is behind is counted from the last record to head, and a reset forgets head") {
  ViewPlace place;
  place.sequence = 90;
  place.head = 100;
  CHECK(place.behind() == 10);
  place.take(event(ItemKind::kSession), false);
  CHECK(place.head == 100);
  place.take(event(ItemKind::kReset), false);
  CHECK(place.head == kNoSequence);
  CHECK(place.behind() == 0);
}

}  // namespace
}  // namespace lapwing
