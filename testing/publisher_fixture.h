// Shared by the publisher's tests: options in a private directory, records that are functions of
// their sequence, and queues whose writes fail or are held back. Test code only; not thread-safe.
#pragma once

#include <array>
#include <atomic>
#include <catch2/catch.hpp>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "bus/ring_map.h"
#include "lapwing/error.h"
#include "os/kernel.h"
#include "os/posix_io.h"
#include "proto/journal_format.h"
#include "publisher/publisher_set_up.h"
#include "snapshot/bus_directory.h"
#include "testing/closing_publisher.h"
#include "testing/temporary_directory.h"

namespace lapwing {

using Record = std::array<std::uint64_t, 7>;

inline constexpr std::uint64_t kCapacity = 1024;
inline constexpr std::uint64_t kHangNs = 60'000'000'000;

inline Record record_of(Sequence n) {
  Record record{};
  record.fill(n * 3);
  return record;
}

inline std::vector<Record> records_from(Sequence first, std::size_t count) {
  std::vector<Record> records(count);
  for (std::size_t i = 0; i < count; ++i) records[i] = record_of(first + i);
  return records;
}

inline std::span<const std::byte> bytes_of(const std::vector<Record>& records) {
  return std::as_bytes(std::span(records));
}

inline PublisherSetUp options_for(const TemporaryDirectory& directory) {
  PublisherSetUp options;
  options.directory = directory.file("bus");
  options.record_bytes = sizeof(Record);
  options.capacity = kCapacity;
  options.segment_bytes = kSegmentSlotBytesMin;
  return options;
}

// Removes all journal options.
inline void keep_no_journal(PublisherSetUp& options) {
  options.journal = false;
  options.segment_bytes = PublisherOptions().segment_bytes;
}

inline ClosingPublisher open_publisher(const PublisherSetUp& options) {
  absl::StatusOr<ClosingPublisher> publisher = closing(open_with_seams(options));
  INFO(publisher.status().ToString());
  REQUIRE(publisher.ok());
  return *std::move(publisher);
}

inline RingMap map_ring(const PublisherSetUp& options) {
  const auto bus = read_bus_description(options.directory);
  REQUIRE(bus.ok());
  auto map = RingMap::attach(bus->ring_path);
  REQUIRE(map.ok());
  return *std::move(map);
}

// Performs writes immediately, until one is to fail: that and every later write of a block fail.
// Writes taken before a failure complete before it is reported, because afterwards the publisher
// may lap the memory.
class FailingQueue final : public WriteQueue {
 public:
  explicit FailingQueue(std::uint64_t good_writes) : left_(good_writes) {}
  std::string description() const override { return real_.description(); }
  void register_memory(std::span<const std::byte> memory) override {
    real_.register_memory(memory);
  }
  bool submit(const WriteRequest& request) override {
    const bool block =
        request.kind == WriteRequest::Kind::kWrite && request.offset >= kSegmentHeaderBytes;
    if (!block || left_ > 0) {
      if (block) --left_;
      return real_.submit(request);
    }
    failed_.push_back({request.tag, -EIO});
    return true;
  }
  std::size_t reap(std::span<WriteCompletion> out, std::uint64_t wait_ns) override {
    std::size_t count = real_.reap(out, wait_ns);
    for (; count < out.size() && !failed_.empty(); ++count) {
      out[count] = failed_.back();
      failed_.pop_back();
    }
    return count;
  }
  std::size_t in_flight() const override { return real_.in_flight() + failed_.size(); }

 private:
  PosixWriteQueue real_;
  std::uint64_t left_;
  std::vector<WriteCompletion> failed_;
};

// Holds back requests of one kind while `hold` is set, as if the disk did not answer them.
class HoldingQueue final : public WriteQueue {
 public:
  HoldingQueue(const std::atomic<bool>& hold, WriteRequest::Kind kind) : hold_(hold), kind_(kind) {}
  std::string description() const override { return real_.description(); }
  void register_memory(std::span<const std::byte>) override {}
  bool submit(const WriteRequest& request) override {
    if (request.kind != kind_ || !hold_) return real_.submit(request);
    held_.push_back(request);
    return true;
  }
  std::size_t reap(std::span<WriteCompletion> out, std::uint64_t wait_ns) override {
    while (!hold_ && !held_.empty() && real_.submit(held_.back())) held_.pop_back();
    const std::size_t count = real_.reap(out, wait_ns);
    if (count == 0 && wait_ns > 0) wait_readable(-1, wait_ns);
    return count;
  }
  std::size_t in_flight() const override { return real_.in_flight() + held_.size(); }

 private:
  PosixWriteQueue real_;
  std::vector<WriteRequest> held_;
  const std::atomic<bool>& hold_;
  WriteRequest::Kind kind_;
};

}  // namespace lapwing
