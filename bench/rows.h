// The rows of the table and where they work.
//
// Thread safety: one thread; rows run one after another.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "bench/row.h"

namespace lapwing::bench {

// What a row needs from outside.
struct Setting {
  std::string ring_directory;  // on tmpfs, private to this run
  std::string disk_directory;  // on the disk to be measured, private to this run
  bool quick = false;  // a fraction of a second per row: shows that it runs, measures nothing

  std::size_t count(std::size_t full) const { return quick ? full / 50 : full; }
  int trials(int full) const { return quick ? 2 : full; }
};

struct Row {
  const char* name;
  RowResult (*run)(const Setting& setting);
};

std::span<const Row> all_rows();

RowResult run_round_trip(const Setting& setting);
RowResult run_round_trip_ring(const Setting& setting);
RowResult run_publish(const Setting& setting);
RowResult run_publish_batch(const Setting& setting);
RowResult run_publish_journal_median(const Setting& setting);
RowResult run_publish_journal_tail(const Setting& setting);
RowResult run_sustained(const Setting& setting);
RowResult run_one_reader(const Setting& setting);
RowResult run_parked_crowd(const Setting& setting);
RowResult run_stopped_crowd(const Setting& setting);
RowResult run_killed_crowd(const Setting& setting);
RowResult run_wake(const Setting& setting);
RowResult run_catch_up(const Setting& setting);
RowResult run_checkpoint_load(const Setting& setting);
RowResult run_idle(const Setting& setting);
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

}  // namespace lapwing::bench
