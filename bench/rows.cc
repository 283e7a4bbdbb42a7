#include "bench/rows.h"

namespace lapwing::bench {
namespace {

constexpr Row kRows[] = {
    {"round-trip", run_round_trip},
    {"round-trip-ring", run_round_trip_ring},
    {"publish", run_publish},
    {"publish-batch", run_publish_batch},
    {"publish-journal-median", run_publish_journal_median},
    {"publish-journal-tail", run_publish_journal_tail},
    {"sustained", run_sustained},
    {"one-reader", run_one_reader},
    {"subscribers-parked", run_parked_crowd},
    {"subscribers-stopped", run_stopped_crowd},
    {"subscribers-killed", run_killed_crowd},
    {"wake", run_wake},
    {"catch-up", run_catch_up},
    {"idle", run_idle},
};

}  // namespace

std::span<const Row> all_rows() {
  return kRows;
}

}  // namespace lapwing::bench
