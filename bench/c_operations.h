// The single operations of a bus by the C interface, as operations.h has them by C++.
//
// Thread safety: one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "bench/bench_bus.h"
#include "bench/operations.h"
#include "bench/private_directory.h"
#include "bench/record_source.h"
#include "lapwing.h"

namespace lapwing::bench {

class CBusBench {
 public:
  static constexpr std::size_t kRefillRecords = BusBench::kRefillRecords;

  CBusBench() : source_(kRecordBytes), record_(kRecordBytes) {
    const std::string directory = directory_.path();
    lapwing_publisher_options to = LAPWING_PUBLISHER_OPTIONS_INIT;
    to.directory = directory.c_str();
    to.ring_directory = kOperationsDirectory;
    to.record_bytes = kRecordBytes;
    to.capacity = kCapacityQuick;
    to.flags = LAPWING_PUBLISHER_NO_JOURNAL;
    must(lapwing_publisher_open(&to, LAPWING_FOREVER, &publisher_, nullptr));
    lapwing_subscriber_options from = LAPWING_SUBSCRIBER_OPTIONS_INIT;
    from.directory = directory.c_str();
    from.on_gap = LAPWING_ON_GAP_SKIP;  // there is no journal
    from.wait = LAPWING_WAIT_BUSY;
    must(lapwing_subscriber_open(&from, &subscriber_, nullptr));
    await_join();
  }
  CBusBench(const CBusBench&) = delete;
  CBusBench& operator=(const CBusBench&) = delete;
  ~CBusBench() {
    lapwing_subscriber_destroy(&subscriber_);
    // A destroy alone lets a thread go on with the close, and the directory goes meanwhile.
    must(lapwing_publisher_close(publisher_, LAPWING_FOREVER, nullptr));
    lapwing_publisher_destroy(&publisher_);
  }

  void publish() { publish(source_.next(), 1); }
  void publish_batch() { publish(source_.next_batch(), kBatchRecords); }
  void refill() {
    for (std::size_t i = 0; i < kRefillRecords; i += kBatchRecords) publish_batch();
  }
  bool take() {
    std::uint64_t sequence = 0;
    return lapwing_subscriber_read_one(subscriber_, record_.data(), kRecordBytes, 0, &sequence,
                                       nullptr) == LAPWING_OK;
  }

 private:
  static void must(lapwing_result result) {
    if (result != LAPWING_OK) fail(lapwing_error_name(result));
  }
  void publish(std::span<const std::byte> records, std::size_t count) {
    must(lapwing_publisher_publish(publisher_, records.data(), count, kRecordBytes, LAPWING_FOREVER,
                                   nullptr, nullptr));
  }
  void await_join() {
    std::vector<std::byte> row(kRecordBytes);
    lapwing_batch batch = {};
    batch.struct_size = sizeof batch;
    batch.rows = row.data();
    batch.rows_bytes = row.size();
    do {
      must(lapwing_subscriber_read(subscriber_, &batch, LAPWING_FOREVER, nullptr));
    } while (batch.kind != LAPWING_BATCH_EVENT || batch.event.kind != LAPWING_EVENT_CAUGHT_UP);
  }

  PrivateDirectory directory_{kOperationsDirectory};
  lapwing_publisher* publisher_ = nullptr;
  lapwing_subscriber* subscriber_ = nullptr;
  RecordSource source_;
  std::vector<std::byte> record_;
};

}  // namespace lapwing::bench
