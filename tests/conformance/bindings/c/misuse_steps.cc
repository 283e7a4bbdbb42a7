// Misuse by a C program. See README.md, Misuse.
#include <chrono>
#include <cstdlib>
#include <thread>

#include "absl/strings/str_cat.h"
#include "tests/conformance/bindings/c/driver.h"

namespace lapwing::conformance {
namespace {

constexpr std::uint32_t kRecordBytes = 16;
constexpr std::int64_t kSecond = 1'000'000'000;

void must(lapwing_result result, const char* what) {
  if (result == LAPWING_OK) return;
  std::fprintf(stderr, "%s: %s\n", what, lapwing_error_name(result));
  std::abort();
}

lapwing_publisher* publisher_at(const char* directory) {
  auto options = sized<lapwing_publisher_options>();
  options.directory = directory;
  options.record_bytes = kRecordBytes;
  options.capacity = 4096;
  lapwing_publisher* opened = nullptr;
  must(lapwing_publisher_open(&options, 0, &opened, nullptr), "publisher");
  return opened;
}

lapwing_subscriber* subscriber_of(const std::string& directory, std::uint32_t start) {
  auto options = sized<lapwing_subscriber_options>();
  options.directory = directory.c_str();
  options.start = start;
  lapwing_subscriber* opened = nullptr;
  must(lapwing_subscriber_open(&options, &opened, nullptr), "subscriber");
  return opened;
}

// Reads one batch into memory for 16 rows. Its last event, or its rows, are in *batch.
lapwing_result read_once(lapwing_subscriber* subscriber, std::int64_t timeout_ns) {
  ReadBatch into(16, 16 * kRecordBytes);
  return lapwing_subscriber_read(subscriber, &into.batch, timeout_ns, nullptr);
}

void read_all_there_is(lapwing_subscriber* subscriber) {
  while (read_once(subscriber, kSecond / 4) == LAPWING_OK) {
  }
}

// Retries if the other thread's call was the first of the two.
lapwing_result wait_for_one(lapwing_subscriber* subscriber) {
  lapwing_result result = LAPWING_ERROR_MISUSE;
  while (result == LAPWING_ERROR_MISUSE) result = read_once(subscriber, LAPWING_FOREVER);
  return result;
}

// The result of a read while another thread waits.
lapwing_result read_beside_a_wait(lapwing_subscriber* subscriber) {
  lapwing_result result = LAPWING_ERROR_WOULD_BLOCK;
  while (result == LAPWING_ERROR_WOULD_BLOCK) result = read_once(subscriber, 0);
  return result;
}

// A subscriber without records to read.
lapwing_subscriber* idle_subscriber(const std::string& directory) {
  lapwing_subscriber* const subscriber = subscriber_of(directory, LAPWING_START_LIVE);
  read_all_there_is(subscriber);
  return subscriber;
}

Lines wait_forever(const Step& step) {
  lapwing_subscriber* subscriber = subscriber_of(step.text("directory"), LAPWING_START_LIVE);
  for (;;) (void)read_once(subscriber, LAPWING_FOREVER);
}

Lines exit_in_wait(const Step& step) {
  lapwing_subscriber* subscriber = idle_subscriber(step.text("directory"));
  std::thread([=] { (void)wait_for_one(subscriber); }).detach();
  if (read_beside_a_wait(subscriber) != LAPWING_ERROR_MISUSE) std::abort();
  std::exit(7);
}

lapwing_publisher* dropped = nullptr;

Lines open_dropped(const Step& step) {
  dropped = publisher_at(step.text("directory").c_str());
  const std::vector<std::byte> records(1000 * kRecordBytes);
  return line(lapwing_publisher_publish(dropped, records.data(), 1000, kRecordBytes, kSecond,
                                        nullptr, nullptr));
}

Lines drop(const Step&) {
  const auto start = std::chrono::steady_clock::now();
  lapwing_publisher_destroy(&dropped);
  const auto took = std::chrono::steady_clock::now() - start;
  return {
      absl::StrCat("ok ms=", std::chrono::duration_cast<std::chrono::milliseconds>(took).count())};
}

}  // namespace

Operations misuse_operations() {
  return {{"misuse.wait", wait_forever},
          {"misuse.exit-in-wait", exit_in_wait},
          {"misuse.open-dropped", open_dropped},
          {"misuse.drop", drop}};
}

}  // namespace lapwing::conformance
