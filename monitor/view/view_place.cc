#include "monitor/view/view_place.h"

namespace lapwing {
namespace {

constexpr char kGoneWhy[] =
    "the publisher ended without closing the bus, or is stopped; the view continues when it "
    "resumes or the next publisher starts";
constexpr char kClosedWhy[] =
    "the publisher closed the bus; the view continues when the next one starts";

}  // namespace

void ViewPlace::take(const Event& event, bool is_skipped) {
  switch (event.kind) {
    case EventKind::kReset:
      head = kNoSequence;
      [[fallthrough]];
    case EventKind::kSession:
      state = "joining";
      why.clear();
      break;
    case EventKind::kLive:
      state = "live";
      why.clear();
      break;
    case EventKind::kGap:
      if (!is_skipped) state = "filling";
      break;
    case EventKind::kBehind:
      state = "filling";
      break;
    case EventKind::kPublisherGone:
    case EventKind::kClosed:
      state = "waiting";
      why = event.kind == EventKind::kClosed ? kClosedWhy : kGoneWhy;
      break;
    default:
      break;
  }
}

}  // namespace lapwing
