// For tests of the C interface: structs that contain their size, and handles that are destroyed
// automatically.
//
// Thread safety: as for the handles.
#pragma once

#include <catch2/catch.hpp>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "lapwing.h"
#include "testing/c_structs.h"
#include "testing/temporary_directory.h"

namespace lapwing::c_test {

constexpr std::int64_t kTenSeconds = 10'000'000'000;

template <auto kDestroy>
struct Destroy {
  template <typename Handle>
  void operator()(Handle* handle) const {
    kDestroy(&handle);
  }
};
using Publisher = std::unique_ptr<lapwing_publisher, Destroy<lapwing_publisher_destroy>>;
using Subscriber = std::unique_ptr<lapwing_subscriber, Destroy<lapwing_subscriber_destroy>>;
using Cursor = std::unique_ptr<lapwing_cursor, Destroy<lapwing_cursor_destroy>>;
using History = std::unique_ptr<lapwing_history, Destroy<lapwing_history_destroy>>;
using Books = std::unique_ptr<lapwing_books, Destroy<lapwing_books_destroy>>;
using Listener = std::unique_ptr<lapwing_listener, Destroy<lapwing_listener_destroy>>;
using Channel = std::unique_ptr<lapwing_channel, Destroy<lapwing_channel_destroy>>;
using Symbols = std::unique_ptr<lapwing_symbols, Destroy<lapwing_symbols_destroy>>;
using WaitSet = std::unique_ptr<lapwing_wait_set, Destroy<lapwing_wait_set_destroy>>;

// A bus in its own directory, with 8-byte records. Record n is n.
class TestBus {
 public:
  explicit TestBus(std::uint64_t capacity = 4096, std::uint32_t flags = 0) {
    open(capacity, flags);
  }

  void open(std::uint64_t capacity, std::uint32_t flags) {
    auto options = sized<lapwing_publisher_options>();
    options.directory = path_.c_str();
    options.record_bytes = sizeof(std::uint64_t);
    options.capacity = capacity;
    options.segment_bytes = 65'536;
    options.flags = flags;
    lapwing_publisher* opened = nullptr;
    auto error = sized<lapwing_error>();
    const lapwing_result result = lapwing_publisher_open(&options, kTenSeconds, &opened, &error);
    INFO(error.message);
    REQUIRE(result == LAPWING_OK);
    publisher_.reset(opened);
  }
  // Publishes the records first to last.
  lapwing_result publish(std::uint64_t first, std::uint64_t last) {
    std::vector<std::uint64_t> rows;
    for (std::uint64_t n = first; n <= last; ++n) rows.push_back(n);
    return lapwing_publisher_publish(publisher(), rows.data(), rows.size(), sizeof rows[0],
                                     kTenSeconds, nullptr, nullptr);
  }
  lapwing_result close() { return lapwing_publisher_close(publisher(), kTenSeconds, nullptr); }
  void destroy() { publisher_.reset(); }

  Subscriber subscribe(lapwing_subscriber_options options = sized<lapwing_subscriber_options>()) {
    options.directory = path_.c_str();
    lapwing_subscriber* opened = nullptr;
    auto error = sized<lapwing_error>();
    const lapwing_result result = lapwing_subscriber_open(&options, &opened, &error);
    INFO(error.message);
    REQUIRE(result == LAPWING_OK);
    return Subscriber(opened);
  }

  lapwing_publisher* publisher() { return publisher_.get(); }
  const std::string& path() const { return path_; }

 private:
  TemporaryDirectory directory_;
  std::string path_ = directory_.file("bus");
  Publisher publisher_;
};

// A batch with room for some 8-byte records.
struct Batch64 {
  explicit Batch64(std::size_t rows_max = 64) : rows(rows_max) {
    batch.rows = rows.data();
    batch.rows_bytes = rows.size() * sizeof rows[0];
  }
  lapwing_batch batch = sized<lapwing_batch>();
  std::vector<std::uint64_t> rows;
};

// Reads until an event of that kind, or until a result that is not ok. Returns that result.
inline lapwing_result read_until(lapwing_subscriber* subscriber, std::uint32_t kind) {
  Batch64 into;
  for (;;) {
    const lapwing_result result =
        lapwing_subscriber_read(subscriber, &into.batch, kTenSeconds, nullptr);
    if (result != LAPWING_OK) return result;
    if (into.batch.kind == LAPWING_BATCH_EVENT && into.batch.event.kind == kind) return LAPWING_OK;
  }
}

}  // namespace lapwing::c_test
