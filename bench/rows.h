// The rows of the table and their settings.
//
// Thread safety: one thread; rows run one after another.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <string>

#include "bench/row.h"
#include "os/waiter.h"

namespace lapwing::bench {

// The environment of a row.
struct Setting {
  std::string ring_directory;  // on tmpfs, only for this run
  std::string disk_directory;  // on the measured disk, only for this run
  bool quick = false;          // a fraction of a second per row: checks that it runs
  int trials_max = 1000;       // per row; fewer are faster and less accurate

  std::size_t count(std::size_t full) const { return quick ? full / 50 : full; }
  int trials(int full) const { return quick ? 2 : std::min(full, trials_max); }
};

struct Row {
  const char* name;
  RowResult (*run)(const Setting& setting);
};

std::span<const Row> all_rows();

RowResult run_round_trip(const Setting& setting);
RowResult run_round_trip_jitter(const Setting& setting);
RowResult run_round_trip_ring(const Setting& setting);
RowResult run_round_trip_ring_jitter(const Setting& setting);
RowResult run_one_way_10k(const Setting& setting);
RowResult run_one_way_100k(const Setting& setting);
RowResult run_one_way_1m(const Setting& setting);
RowResult run_one_way_5m(const Setting& setting);
RowResult run_one_way_bursts(const Setting& setting);
RowResult run_publish(const Setting& setting);
RowResult run_publish_batch(const Setting& setting);
RowResult run_publish_stamped(const Setting& setting);
RowResult run_publish_journal_median(const Setting& setting);
RowResult run_publish_journal_tail(const Setting& setting);
RowResult run_journal_off(const Setting& setting);
RowResult run_journal_memory(const Setting& setting);
RowResult run_journal_disk_1ms(const Setting& setting);
RowResult run_journal_disk_10ms(const Setting& setting);
RowResult run_journal_disk_100ms(const Setting& setting);
RowResult run_journal_disk_slow(const Setting& setting);
RowResult run_sustained(const Setting& setting);
RowResult run_one_reader(const Setting& setting);
RowResult run_one_reader_lossless(const Setting& setting);
RowResult run_parked_crowd(const Setting& setting);
RowResult run_stopped_crowd(const Setting& setting);
RowResult run_killed_crowd(const Setting& setting);
RowResult run_swapped_crowd(const Setting& setting);
RowResult run_restart(const Setting& setting);
RowResult run_wake(const Setting& setting);
RowResult run_catch_up(const Setting& setting);
RowResult run_checkpoint_load(const Setting& setting);
RowResult run_gap_snapshot(const Setting& setting);
RowResult run_idle(const Setting& setting);
RowResult run_wait_set_wake_2(const Setting& setting);
RowResult run_wait_set_wake_16(const Setting& setting);
RowResult run_wait_set_look(const Setting& setting);
RowResult run_book_update(const Setting& setting);
RowResult run_fold_orders(const Setting& setting);
RowResult run_fold_latest(const Setting& setting);
RowResult run_channel_round_trip(const Setting& setting);
RowResult run_channel_round_trip_frames(const Setting& setting);
RowResult run_channel_call(const Setting& setting);
RowResult run_channel_messages(const Setting& setting);
RowResult run_channel_messages_batch(const Setting& setting);
RowResult run_channel_64(const Setting& setting);
RowResult run_channel_512(const Setting& setting);
RowResult run_channel_4k(const Setting& setting);
RowResult run_channel_32k(const Setting& setting);
RowResult run_channel_256k(const Setting& setting);
RowResult run_channel_1m(const Setting& setting);
RowResult run_channel_4m(const Setting& setting);
RowResult run_channel_wake(const Setting& setting);
RowResult run_channel_idle(const Setting& setting);

// Rows of one kind for several numbers of subscribers and each wait strategy.
RowResult run_timed_crowd(const Setting& setting, WaitStrategy wait, std::size_t size);
template <WaitStrategy kWait, std::size_t kSize>
RowResult run_crowd_of(const Setting& setting) {
  return run_timed_crowd(setting, kWait, kSize);
}

}  // namespace lapwing::bench
