#include "bench/rows.h"

namespace lapwing::bench {
namespace {

constexpr Row kRows[] = {
    {"round-trip", run_round_trip},
    {"round-trip-jitter", run_round_trip_jitter},
    {"round-trip-ring", run_round_trip_ring},
    {"round-trip-ring-jitter", run_round_trip_ring_jitter},
    {"one-way-10k", run_one_way_10k},
    {"one-way-100k", run_one_way_100k},
    {"one-way-1m", run_one_way_1m},
    {"one-way-5m", run_one_way_5m},
    {"one-way-bursts", run_one_way_bursts},
    {"publish", run_publish},
    {"publish-batch", run_publish_batch},
    {"publish-stamped", run_publish_stamped},
    {"publish-journal-median", run_publish_journal_median},
    {"publish-journal-tail", run_publish_journal_tail},
    {"journal-off", run_journal_off},
    {"journal-memory", run_journal_memory},
    {"journal-disk-1ms", run_journal_disk_1ms},
    {"journal-disk-10ms", run_journal_disk_10ms},
    {"journal-disk-100ms", run_journal_disk_100ms},
    {"journal-disk-slow", run_journal_disk_slow},
    {"sustained", run_sustained},
    {"one-reader", run_one_reader},
    {"one-reader-lossless", run_one_reader_lossless},
    {"subscribers-parked", run_parked_crowd},
    {"subscribers-stopped", run_stopped_crowd},
    {"subscribers-killed", run_killed_crowd},
    {"subscribers-swapped", run_swapped_crowd},
    {"crowd-busy-1", run_crowd_of<WaitStrategy::kBusy, 1>},
    {"crowd-busy-4", run_crowd_of<WaitStrategy::kBusy, 4>},
    {"crowd-busy-16", run_crowd_of<WaitStrategy::kBusy, 16>},
    {"crowd-busy-64", run_crowd_of<WaitStrategy::kBusy, 64>},
    {"crowd-backoff-1", run_crowd_of<WaitStrategy::kBackoff, 1>},
    {"crowd-backoff-4", run_crowd_of<WaitStrategy::kBackoff, 4>},
    {"crowd-backoff-16", run_crowd_of<WaitStrategy::kBackoff, 16>},
    {"crowd-backoff-64", run_crowd_of<WaitStrategy::kBackoff, 64>},
    {"crowd-park-1", run_crowd_of<WaitStrategy::kPark, 1>},
    {"crowd-park-4", run_crowd_of<WaitStrategy::kPark, 4>},
    {"crowd-park-16", run_crowd_of<WaitStrategy::kPark, 16>},
    {"crowd-park-64", run_crowd_of<WaitStrategy::kPark, 64>},
    {"restart", run_restart},
    {"wake", run_wake},
    {"catch-up", run_catch_up},
    {"checkpoint-load", run_checkpoint_load},
    {"gap-snapshot", run_gap_snapshot},
    {"idle", run_idle},
    {"book-update", run_book_update},
    {"fold-orders", run_fold_orders},
    {"fold-latest", run_fold_latest},
    {"channel-round-trip", run_channel_round_trip},
    {"channel-round-trip-frames", run_channel_round_trip_frames},
    {"channel-call", run_channel_call},
    {"channel-messages", run_channel_messages},
    {"channel-messages-batch", run_channel_messages_batch},
    {"channel-64", run_channel_64},
    {"channel-512", run_channel_512},
    {"channel-4k", run_channel_4k},
    {"channel-32k", run_channel_32k},
    {"channel-256k", run_channel_256k},
    {"channel-1m", run_channel_1m},
    {"channel-4m", run_channel_4m},
    {"channel-wake", run_channel_wake},
    {"channel-idle", run_channel_idle},
};

}  // namespace

std::span<const Row> all_rows() {
  return kRows;
}

}  // namespace lapwing::bench
