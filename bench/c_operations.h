// The single operations of a bus and of a channel through the C interface, corresponding to
// operations.h.
//
// Thread safety: one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "bench/bench_bus.h"
#include "bench/bench_channel.h"
#include "bench/operations.h"
#include "bench/private_directory.h"
#include "bench/record_source.h"
#include "lapwing.h"

namespace lapwing::bench {

inline void must(lapwing_result result) {
  if (result != LAPWING_OK) fail(lapwing_error_name(result));
}

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
    // Destroying without closing would let a thread close later, when the directory may be gone.
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

// Both ends of a channel. Either fill it, then receive; or drain it, then send.
class CChannelBench {
 public:
  static constexpr std::size_t kRefillMessages = ChannelBench::kRefillMessages;

  CChannelBench() {
    const PrivateDirectory directory{kOperationsDirectory};
    const std::string path = directory.path() + "/channel.sock";
    lapwing_listener* listener = nullptr;
    must(lapwing_listener_open(path.c_str(), nullptr, &listener, nullptr));
    lapwing_channel_options options = LAPWING_CHANNEL_OPTIONS_INIT;
    options.wait = LAPWING_WAIT_BUSY;
    std::thread connecting([&] {
      must(lapwing_channel_connect(path.c_str(), LAPWING_CHANNEL_ROLE_CONSUMER, &options,
                                   LAPWING_FOREVER, &consumer_, nullptr));
    });
    must(lapwing_listener_accept(listener, LAPWING_CHANNEL_ROLE_PRODUCER, &options, LAPWING_FOREVER,
                                 &producer_, nullptr));
    connecting.join();
    lapwing_listener_destroy(&listener);
  }
  CChannelBench(const CChannelBench&) = delete;
  CChannelBench& operator=(const CChannelBench&) = delete;
  ~CChannelBench() {
    lapwing_channel_destroy(&producer_);
    lapwing_channel_destroy(&consumer_);
  }

  void commit() {
    void* payload = nullptr;
    must(lapwing_channel_claim(producer_, kMessageBytes, LAPWING_FOREVER, &payload, nullptr));
    std::memcpy(payload, source_.next().data(), kMessageBytes);
    must(lapwing_channel_commit(producer_, kMessageBytes, kMessageType, nullptr));
  }
  void peek() {
    lapwing_message message;
    std::size_t count = 0;
    must(lapwing_channel_peek(consumer_, &message, 1, LAPWING_FOREVER, &count, nullptr));
    std::memcpy(copy_.data(), message.payload, kMessageBytes);
    must(lapwing_channel_release(consumer_, 1, nullptr));
  }

  void refill() {
    for (std::size_t i = 0; i < kRefillMessages; ++i) commit();
  }
  void drain() {
    for (std::size_t i = 0; i < kRefillMessages; ++i) peek();
  }

 private:
  lapwing_channel* producer_ = nullptr;
  lapwing_channel* consumer_ = nullptr;
  RecordSource source_{kMessageBytes};
  std::vector<std::byte> copy_ = std::vector<std::byte>(kMessageBytes);
};

}  // namespace lapwing::bench
