// The single operations of the hot path, one per call. lapwing_micro times them, and
// lapwing_instructions counts their instructions.
//
// Thread safety: one thread. Everything is in one process and one small ring that stays in the
// cache, so the work is measured, not the memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "bench/bench_bus.h"
#include "bench/bench_channel.h"
#include "bench/bench_ring.h"
#include "bench/private_directory.h"
#include "bench/record_source.h"
#include "lapwing/typed_publisher.h"
#include "lapwing/typed_subscriber.h"
#include "proto/slot_form.h"
#include "testing/closing_publisher.h"

namespace lapwing::bench {

inline constexpr std::uint64_t kOperationSlots = 4096;
inline constexpr char kOperationsDirectory[] = "/dev/shm";

// A few slots in plain memory, written and read alternately.
class SlotBench {
 public:
  explicit SlotBench(std::size_t record_bytes)
      : record_bytes_(record_bytes),
        slot_bytes_(slot_bytes_for(static_cast<std::uint32_t>(record_bytes))),
        slots_(kOperationSlots * slot_bytes_ / sizeof(Line)),
        source_(record_bytes),
        copy_(record_bytes) {}

  void store() {
    ++stored_;
    SlotForm::store_slot(slot(stored_), stored_, source_.next().data(), record_bytes_);
  }
  // Loads the stored records repeatedly.
  bool load() {
    loaded_ = loaded_ % stored_ + 1;
    return SlotForm::load_slot(slot(loaded_), loaded_, copy_.data(), record_bytes_).outcome ==
           SlotRead::kRecord;
  }
  void fill() {
    while (stored_ < kOperationSlots) store();
  }

 private:
  struct alignas(64) Line {
    std::byte bytes[64];
  };
  std::byte* slot(Sequence n) {
    return slots_.data()->bytes + ((n - 1) & (kOperationSlots - 1)) * slot_bytes_;
  }

  std::size_t record_bytes_;
  std::size_t slot_bytes_;
  std::vector<Line> slots_;
  RecordSource source_;
  std::vector<std::byte> copy_;
  Sequence stored_ = 0;
  Sequence loaded_ = 0;
};

// A filled ring without a publisher, read repeatedly.
class RingBench {
 public:
  RingBench()
      : name_(new_ring_name(directory_.path())),
        ring_(name_, kOperationSlots, kRecordBytes),
        read_(name_),
        copy_(kRecordBytes) {
    RecordSource source(kRecordBytes);
    for (Sequence n = 1; n <= kOperationSlots; ++n) ring_.publish(n, source.next().data());
  }

  bool try_read() {
    next_ = next_ % kOperationSlots + 1;
    return read_.reader().try_read(next_, copy_.data()).outcome == RingRead::kRecord;
  }

 private:
  PrivateDirectory directory_{kOperationsDirectory};
  RingName name_;
  WrittenRing ring_;
  ReadRing read_;
  std::vector<std::byte> copy_;
  Sequence next_ = 0;
};

inline const Setting kOperationsSetting{kOperationsDirectory, kOperationsDirectory, true};

// Both ends of a channel. Either fill it, then receive; or drain it, then send.
class ChannelBench {
 public:
  static constexpr std::size_t kRefillMessages = kChannelLines / 2;

  ChannelBench() : messages_(kBatchRecords) {
    ChannelPlace place(kOperationsSetting);
    const ChannelOptions options = channel_options(WaitStrategy::kBusy);
    std::thread connecting([&] {
      consumer_ = std::make_unique<ChannelConsumer>(place.connect<ChannelConsumer>(options));
    });
    producer_ = std::make_unique<ChannelProducer>(place.accept<ChannelProducer>(options));
    connecting.join();
  }

  // One message in place, one copied, or a batch in place.
  void commit() {
    write_claim();
    ok_or_fail(producer_->commit(kMessageBytes, kMessageType), *producer_);
  }
  void send() { ok_or_fail(producer_->try_send(source_.next(), kMessageType), *producer_); }
  std::size_t commit_batch() {
    for (std::size_t i = 0; i < kBatchRecords; ++i) {
      write_claim();
      ok_or_fail(producer_->stage(kMessageBytes, kMessageType), *producer_);
    }
    ok_or_fail(producer_->commit_staged(), *producer_);
    return kBatchRecords;
  }

  // The same for receiving.
  void peek() {
    const Result<Message> peek = consumer_->try_peek();
    ok_or_fail(peek, *consumer_);
    read(*peek);
    ok_or_fail(consumer_->release(), *consumer_);
  }
  void receive() { ok_or_fail(consumer_->try_receive(copy_), *consumer_); }
  std::size_t peek_batch() {
    const Result<std::size_t> batch = consumer_->try_peek_batch(messages_);
    ok_or_fail(batch, *consumer_);
    for (std::size_t i = 0; i < *batch; ++i) read(messages_[i]);
    ok_or_fail(consumer_->release(), *consumer_);
    return *batch;
  }

  // Fills half a channel, so that the other half is equally large.
  void refill() {
    for (std::size_t i = 0; i < kRefillMessages; ++i) send();
  }
  void drain() {
    while (consumer_->try_receive(copy_).ok()) {
    }
  }

 private:
  void write_claim() {
    const auto claim = producer_->try_claim(kMessageBytes);
    ok_or_fail(claim, *producer_);
    std::memcpy(claim->data(), source_.next().data(), kMessageBytes);
  }
  void read(const Message& message) {
    std::memcpy(copy_.data(), message.payload.data(), kMessageBytes);
  }

  std::unique_ptr<ChannelProducer> producer_;
  std::unique_ptr<ChannelConsumer> consumer_;
  RecordSource source_{kMessageBytes};
  std::vector<std::byte> copy_ = std::vector<std::byte>(kMessageBytes);
  std::vector<Message> messages_;
};

// A complete bus without a journal: a publisher, and a subscriber that has joined.
class BusBench {
 public:
  explicit BusBench(std::uint32_t record_bytes = kRecordBytes)
      : publisher_(open_publisher(kOperationsSetting, straight_placement(), directory_.path(),
                                  Journal::kNone, kSyncIntervalNs, record_bytes)),
        subscriber_(value_or_fail(
            Subscriber::open(subscriber_options(directory_.path(), WaitStrategy::kBusy)))),
        source_(record_bytes),
        record_(record_bytes),
        rows_(kBatchRecords * record_bytes) {
    await_join(subscriber_);
  }

  void publish_bytes() { publish_or_fail(*publisher_, source_.next()); }
  template <std::size_t kBytes>
  void publish() {
    publish_or_fail(*publisher_, source_.next_as<TypedRecord<kBytes>>());
  }
  void publish_batch() { publish_batch_or_fail(*publisher_, source_.next_batch()); }

  // Half a ring of records, without events between them.
  static constexpr std::size_t kRefillRecords = kCapacityQuick / 2;
  void refill() {
    for (std::size_t i = 0; i < kRefillRecords; i += kBatchRecords) publish_batch();
  }
  bool take_bytes() { return subscriber_.read_one(record_, Deadline::now()).ok(); }
  bool take() {
    return subscriber_
        .read_one(*reinterpret_cast<TypedRecord<kRecordBytes>*>(record_.data()), Deadline::now())
        .ok();
  }
  bool wait() { return subscriber_.next().ok(); }
  std::size_t read() { return subscriber_.read(rows_, Deadline::now())->count; }

 private:
  PrivateDirectory directory_{kOperationsDirectory};
  ClosingPublisher publisher_;
  Subscriber subscriber_;
  RecordSource source_;
  std::vector<std::byte> record_;
  std::vector<std::byte> rows_;
};

// The same with the types of a struct that describes itself.
template <typename Record>
class TypedBusBench {
 public:
  static constexpr std::size_t kRefillRecords = BusBench::kRefillRecords;

  TypedBusBench()
      : publisher_(
            value_or_fail(TypedPublisher<Record>::open({.directory = directory_.path(),
                                                        .capacity = kCapacityQuick,
                                                        .ring_directory = kOperationsDirectory,
                                                        .journal = false}))),
        subscriber_(value_or_fail(TypedSubscriber<Record>::open(
            subscriber_options(directory_.path(), WaitStrategy::kBusy)))),
        source_(sizeof(Record)) {
    await_join(*subscriber_);
  }

  void publish() {
    if (!publisher_.publish(source_.next_as<Record>()).ok()) fail_as_said(*publisher_);
  }
  void refill() {
    for (std::size_t i = 0; i < kRefillRecords; ++i) publish();
  }
  bool take() { return subscriber_.read_one(record_, Deadline::now()).ok(); }
  // The directory is removed once its publisher has closed.
  ~TypedBusBench() { ok_or_fail(publisher_->close()); }
  TypedBusBench(const TypedBusBench&) = delete;
  TypedBusBench& operator=(const TypedBusBench&) = delete;

 private:
  PrivateDirectory directory_{kOperationsDirectory};
  TypedPublisher<Record> publisher_;
  TypedSubscriber<Record> subscriber_;
  RecordSource source_;
  Record record_ = {};
};

}  // namespace lapwing::bench
