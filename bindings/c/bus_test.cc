// Tests buses in the C interface: published records are read with their sequences, positions,
// fields and messages.
#include <catch2/catch.hpp>
#include <cstring>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "testing/c_interface.h"
#include "testing/waiting_call.h"

namespace lapwing::c_test {
namespace {

TEST_CASE("the version of the library is that of the header") {
  std::uint32_t abi = 0;
  CHECK(std::string(lapwing_version(&abi)).find('.') != std::string::npos);
  CHECK(abi == (LAPWING_ABI_MAJOR << 16 | LAPWING_ABI_MINOR));
  CHECK(lapwing_version(nullptr) != nullptr);
  CHECK(std::string(lapwing_error_name(LAPWING_ERROR_EVENT_DUE)) == "event-due");
  CHECK(std::string(lapwing_error_name(-1)) == "unknown");
}

TEST_CASE("rows come with their sequences, and only as many as were asked for") {
  TestBus bus;
  REQUIRE(bus.publish(1, 10) == LAPWING_OK);
  auto options = sized<lapwing_subscriber_options>();
  options.start = LAPWING_START_OLDEST;
  const Subscriber subscriber = bus.subscribe(options);
  Batch64 into;
  std::vector<std::uint64_t> sequences(3);
  std::vector<std::uint64_t> conflated(3, 9);
  into.batch.sequences = sequences.data();
  into.batch.conflated = conflated.data();
  into.batch.rows_max = 3;
  REQUIRE(lapwing_subscriber_read(subscriber.get(), &into.batch, kTenSeconds, nullptr) ==
          LAPWING_OK);
  REQUIRE(into.batch.kind == LAPWING_BATCH_EVENT);
  CHECK(into.batch.event.kind == LAPWING_EVENT_SESSION);
  CHECK(into.batch.event.is_first_session == 1);
  CHECK(into.batch.event.record_bytes == 8);
  REQUIRE(lapwing_subscriber_read(subscriber.get(), &into.batch, kTenSeconds, nullptr) ==
          LAPWING_OK);
  REQUIRE(into.batch.kind == LAPWING_BATCH_RECORDS);
  CHECK(into.batch.count == 3);
  CHECK(into.batch.first == 1);
  CHECK(into.batch.row_bytes == 8);
  CHECK(sequences == std::vector<std::uint64_t>{1, 2, 3});
  CHECK(conflated == std::vector<std::uint64_t>{0, 0, 0});
  CHECK(into.rows[2] == 3);

  lapwing_position position{};
  CHECK(lapwing_subscriber_position(subscriber.get(), 2, &position, nullptr) == LAPWING_OK);
  CHECK(position.sequence == 2);
  CHECK(lapwing_subscriber_position(subscriber.get(), 0, &position, nullptr) == LAPWING_OK);
  CHECK(position.sequence == 3);
  CHECK(lapwing_subscriber_position(subscriber.get(), 4, &position, nullptr) ==
        LAPWING_ERROR_INVALID_ARGUMENT);
}

TEST_CASE("memory below a row is too small, says what it takes, and takes nothing") {
  TestBus bus;
  REQUIRE(bus.publish(1, 2) == LAPWING_OK);
  auto options = sized<lapwing_subscriber_options>();
  options.start = LAPWING_START_OLDEST;
  const Subscriber subscriber = bus.subscribe(options);
  Batch64 into;
  REQUIRE(lapwing_subscriber_read(subscriber.get(), &into.batch, kTenSeconds, nullptr) ==
          LAPWING_OK);
  into.batch.rows_bytes = 7;
  CHECK(lapwing_subscriber_read(subscriber.get(), &into.batch, kTenSeconds, nullptr) ==
        LAPWING_ERROR_TOO_SMALL);
  CHECK(into.batch.row_bytes == 8);
  CHECK(into.batch.count == 0);
  into.batch.rows_bytes = 8;
  CHECK(lapwing_subscriber_read(subscriber.get(), &into.batch, kTenSeconds, nullptr) == LAPWING_OK);
  CHECK(into.rows[0] == 1);
}

TEST_CASE("a batch that is not set up is refused") {
  TestBus bus;
  const Subscriber subscriber = bus.subscribe();
  CHECK(lapwing_subscriber_read(subscriber.get(), nullptr, 0, nullptr) ==
        LAPWING_ERROR_INVALID_ARGUMENT);
  Batch64 into;
  into.batch.struct_size = offsetof(lapwing_batch, event) - 1;
  CHECK(lapwing_subscriber_read(subscriber.get(), &into.batch, 0, nullptr) ==
        LAPWING_ERROR_INVALID_ARGUMENT);
  Batch64 without_rows;
  without_rows.batch.rows = nullptr;
  CHECK(lapwing_subscriber_read(subscriber.get(), &without_rows.batch, 0, nullptr) ==
        LAPWING_ERROR_INVALID_ARGUMENT);
  Batch64 without_max;
  std::uint64_t sequence = 0;
  without_max.batch.sequences = &sequence;
  CHECK(lapwing_subscriber_read(subscriber.get(), &without_max.batch, 0, nullptr) ==
        LAPWING_ERROR_INVALID_ARGUMENT);
}

TEST_CASE("a batch of an older program has its event cut, and nothing behind it is written") {
  TestBus bus;
  const Subscriber subscriber = bus.subscribe();
  Batch64 into;
  std::memset(&into.batch.event, 'x', sizeof into.batch.event);
  into.batch.struct_size = offsetof(lapwing_batch, event) + offsetof(lapwing_event, first);
  REQUIRE(lapwing_subscriber_read(subscriber.get(), &into.batch, kTenSeconds, nullptr) ==
          LAPWING_OK);
  CHECK(into.batch.event.kind == LAPWING_EVENT_SESSION);
  char untouched[sizeof into.batch.event.first];
  std::memset(untouched, 'x', sizeof untouched);
  CHECK(std::memcmp(&into.batch.event.first, untouched, sizeof untouched) == 0);
}

// Returns a description of a 16-byte record whose second field has that name.
std::string described(const std::string& second) {
  return R"({"name": "desk.pair", "version": 1, "record_bytes": 16, "fields": [)"
         R"({"name": "first", "type": "uint64", "offset": 0}, {"name": ")" +
         second + R"(", "type": "uint64", "offset": 8}]})";
}

// Publishes a session with one record that has that description.
void publish_described(const std::string& directory, const std::string& description) {
  auto options = sized<lapwing_publisher_options>();
  options.directory = directory.c_str();
  options.schema = description.c_str();
  lapwing_publisher* opened = nullptr;
  auto error = sized<lapwing_error>();
  const lapwing_result result = lapwing_publisher_open(&options, kTenSeconds, &opened, &error);
  INFO(error.message);
  REQUIRE(result == LAPWING_OK);
  const Publisher publisher(opened);
  const std::uint64_t record[2] = {1, 2};
  REQUIRE(lapwing_publisher_publish(opened, record, 1, sizeof record, 0, nullptr, nullptr) ==
          LAPWING_OK);
  REQUIRE(lapwing_publisher_close(opened, kTenSeconds, nullptr) == LAPWING_OK);
}

// Returns the name of the second field of the subscriber's records.
std::string second_field(lapwing_subscriber* subscriber) {
  auto schema = sized<lapwing_schema>();
  lapwing_field fields[2] = {};
  auto error = sized<lapwing_error>();
  const lapwing_result result =
      lapwing_subscriber_schema(subscriber, &schema, fields, 2, nullptr, 0, &error);
  INFO(error.message);
  REQUIRE(result == LAPWING_OK);
  CHECK(schema.record_bytes == 16);
  CHECK(std::string(schema.name) == "desk.pair");
  return fields[1].name;
}

TEST_CASE("a bus that was replaced has its own description, also of the same name and size") {
  const TemporaryDirectory directory;
  const std::string bus = directory.file("bus");
  publish_described(bus, described("old"));
  auto options = sized<lapwing_subscriber_options>();
  options.directory = bus.c_str();
  options.start = LAPWING_START_OLDEST;
  lapwing_subscriber* opened = nullptr;
  REQUIRE(lapwing_subscriber_open(&options, &opened, nullptr) == LAPWING_OK);
  const Subscriber subscriber(opened);
  auto schema = sized<lapwing_schema>();
  CHECK(lapwing_subscriber_schema(opened, &schema, nullptr, 0, nullptr, 0, nullptr) ==
        LAPWING_ERROR_MISUSE);
  REQUIRE(read_until(opened, LAPWING_EVENT_SESSION) == LAPWING_OK);
  CHECK(second_field(opened) == "old");
  REQUIRE(read_until(opened, LAPWING_EVENT_CLOSED) == LAPWING_OK);
  std::filesystem::remove_all(bus);
  publish_described(bus, described("renamed"));
  CHECK(second_field(opened) == "old");  // the disk already has the new one
  REQUIRE(read_until(opened, LAPWING_EVENT_RESET) == LAPWING_OK);
  CHECK(second_field(opened) == "renamed");
}

TEST_CASE("defaults come from a function, too, for languages without the macros") {
  lapwing_publisher_options publisher;
  lapwing_publisher_options_init(&publisher, sizeof publisher);
  CHECK(publisher.struct_size == sizeof publisher);
  CHECK(publisher.sync_interval_ns == 10'000'000);
  lapwing_subscriber_options subscriber;
  lapwing_subscriber_options_init(&subscriber, sizeof subscriber);
  CHECK(subscriber.reattach_ns == 3 * kTenSeconds);
  lapwing_channel_options channel;
  lapwing_channel_options_init(&channel, sizeof channel);
  CHECK(channel.call_window == 64);
  lapwing_channel_options_init(nullptr, sizeof channel);
}

TEST_CASE("durations and choices of 0 are refused where 0 means nothing") {
  TestBus bus;
  auto options = sized<lapwing_subscriber_options>();
  options.directory = bus.path().c_str();
  SECTION("stale_after_ns") {
    options.stale_after_ns = 0;
  }
  SECTION("behind_time_ns") {
    options.behind_time_ns = 0;
  }
  SECTION("behind_time_ns below nothing") {
    options.behind_time_ns = -2;
  }
  SECTION("on_gap") {
    options.on_gap = 0;
  }
  SECTION("wait") {
    options.wait = 0;
  }
  lapwing_subscriber* opened = nullptr;
  CHECK(lapwing_subscriber_open(&options, &opened, nullptr) == LAPWING_ERROR_INVALID_ARGUMENT);
  CHECK(opened == nullptr);
}

TEST_CASE("an interrupt ends one wait") {
  TestBus bus;
  const Subscriber subscriber = bus.subscribe();
  REQUIRE(read_until(subscriber.get(), LAPWING_EVENT_CAUGHT_UP) == LAPWING_OK);
  Batch64 into;
  const lapwing_result result = while_it_waits(
      [&] {
        return lapwing_subscriber_read(subscriber.get(), &into.batch, LAPWING_FOREVER, nullptr);
      },
      [&] { lapwing_subscriber_interrupt(subscriber.get()); });
  CHECK(result == LAPWING_ERROR_INTERRUPTED);
  CHECK(lapwing_subscriber_read(subscriber.get(), &into.batch, 0, nullptr) ==
        LAPWING_ERROR_WOULD_BLOCK);
  CHECK(lapwing_subscriber_read(subscriber.get(), &into.batch, 1'000'000, nullptr) ==
        LAPWING_ERROR_TIMED_OUT);
}

TEST_CASE("options that lapwing.h does not name, or that would be ignored, are refused") {
  TestBus bus;
  const auto refused = [&bus](auto change) {
    auto options = sized<lapwing_subscriber_options>();
    options.directory = bus.path().c_str();
    change(options);
    lapwing_subscriber* opened = nullptr;
    const lapwing_result result = lapwing_subscriber_open(&options, &opened, nullptr);
    CHECK(opened == nullptr);
    return result;
  };
  CHECK(refused([](auto& options) { options.start = 6; }) == LAPWING_ERROR_INVALID_ARGUMENT);
  CHECK(refused([](auto& options) { options.on_gap = 5; }) == LAPWING_ERROR_INVALID_ARGUMENT);
  CHECK(refused([](auto& options) { options.wait = 4; }) == LAPWING_ERROR_INVALID_ARGUMENT);
  CHECK(refused([](auto& options) { options.flags = 1u << 31; }) == LAPWING_ERROR_INVALID_ARGUMENT);
  CHECK(refused([](auto& options) { options.start_value = 3; }) == LAPWING_ERROR_INVALID_ARGUMENT);
  CHECK(refused([](auto& options) { options.start_position.sequence = 3; }) ==
        LAPWING_ERROR_INVALID_ARGUMENT);
  CHECK(refused([](auto& options) { options.conflate_keys_max = 3; }) ==
        LAPWING_ERROR_INVALID_ARGUMENT);
  CHECK(refused([](auto& options) { options.instrument_count = 1; }) ==
        LAPWING_ERROR_INVALID_ARGUMENT);
  CHECK(refused([](auto& options) { options.expect = "{"; }) == LAPWING_ERROR_INVALID_ARGUMENT);
  CHECK(refused([](auto& options) { options.struct_size = 4; }) == LAPWING_ERROR_INVALID_ARGUMENT);
  lapwing_subscriber* opened = nullptr;
  CHECK(lapwing_subscriber_open(nullptr, &opened, nullptr) == LAPWING_ERROR_INVALID_ARGUMENT);
  auto options = sized<lapwing_subscriber_options>();
  CHECK(lapwing_subscriber_open(&options, nullptr, nullptr) == LAPWING_ERROR_INVALID_ARGUMENT);
}

TEST_CASE("each wrong option of a publisher is refused by its name, with the valid ones") {
  const TemporaryDirectory directory;
  const std::string path = directory.file("bus");
  const auto refused = [&](auto change) {
    auto options = sized<lapwing_publisher_options>();
    options.directory = path.c_str();
    change(options);
    lapwing_publisher* opened = nullptr;
    auto error = sized<lapwing_error>();
    CHECK(lapwing_publisher_open(&options, 0, &opened, &error) == LAPWING_ERROR_INVALID_ARGUMENT);
    CHECK(opened == nullptr);
    return std::string(error.message);
  };
  CHECK(refused([](auto& options) { options.flags = 32; }) ==
        "options.flags is 32. Give LAPWING_PUBLISHER_NO_JOURNAL, HUGE_PAGES, RESUME, GROUP or "
        "RESTAMPED, or a sum of them");
  CHECK(refused([](auto& options) { options.on_journal_lag = 3; }) ==
        "options.on_journal_lag is 3. Give LAPWING_ON_JOURNAL_LAG_WAIT or "
        "LAPWING_ON_JOURNAL_LAG_SHED");
  CHECK(refused([](auto& options) { options.on_journal_failure = 3; }) ==
        "options.on_journal_failure is 3. Give LAPWING_ON_JOURNAL_FAILURE_CONTINUE or "
        "LAPWING_ON_JOURNAL_FAILURE_STOP");
  CHECK(refused([](auto& options) { options.on_journal_lag = 0; }).find("on_journal_lag is 0") !=
        std::string::npos);
  CHECK(refused([](auto& options) { options.sync_interval_ns = 0; }).find("on request") !=
        std::string::npos);
  CHECK(refused([](auto& options) { options.sync_interval_ns = -2; }).find("interval_ns is -2") !=
        std::string::npos);
  CHECK(refused([](auto& options) { options.group = 5; }) ==
        "options.group is 5. Give the flag LAPWING_PUBLISHER_GROUP with it");
  CHECK(refused([](auto& options) { options.metadata_bytes = 5; }).find("metadata is NULL") !=
        std::string::npos);
}

TEST_CASE("publishing refuses another size, and says how far it came") {
  TestBus bus;
  const std::uint64_t rows[3] = {1, 2, 3};
  std::uint64_t last = 9;
  auto error = sized<lapwing_error>();
  CHECK(lapwing_publisher_publish(bus.publisher(), rows, 1, 9, 0, &last, &error) ==
        LAPWING_ERROR_RECORD_SIZE);
  CHECK(last == 0);
  CHECK(std::string(error.message).find("9 bytes") != std::string::npos);
  CHECK(lapwing_publisher_publish(bus.publisher(), nullptr, 1, 8, 0, &last, nullptr) ==
        LAPWING_ERROR_INVALID_ARGUMENT);
  CHECK(lapwing_publisher_publish(bus.publisher(), rows, SIZE_MAX / 8, 8, 0, &last, nullptr) ==
        LAPWING_ERROR_INVALID_ARGUMENT);
  CHECK(lapwing_publisher_publish(bus.publisher(), rows, 3, 8, 0, &last, nullptr) == LAPWING_OK);
  CHECK(last == 3);
  std::uint64_t durable = 0;
  CHECK(lapwing_publisher_flush(bus.publisher(), kTenSeconds, &durable, nullptr) == LAPWING_OK);
  CHECK(durable == 3);
  auto info = sized<lapwing_publisher_info>();
  CHECK(lapwing_publisher_inspect(bus.publisher(), &info, nullptr) == LAPWING_OK);
  CHECK(info.head == 3);
  CHECK(info.settled == LAPWING_SETTLED_FRESH);
  CHECK(info.journal_state == LAPWING_JOURNAL_STATE_GOOD);
  lapwing_publisher_interrupt(bus.publisher());
  CHECK(bus.close() == LAPWING_ERROR_INTERRUPTED);
  CHECK(bus.close() == LAPWING_OK);
  CHECK(bus.publish(4, 4) == LAPWING_ERROR_CLOSED);
}

TEST_CASE("the fields of a record, and its description, come from a bus and by name") {
  auto schema = sized<lapwing_schema>();
  CHECK(lapwing_schema_fields(nullptr, "dbn.mbo", &schema, nullptr, 0, nullptr, 0, nullptr) ==
        LAPWING_OK);
  CHECK(schema.record_bytes == 56);
  std::vector<lapwing_field> fields(schema.field_count);
  std::vector<char> text(schema.text_bytes);
  CHECK(lapwing_schema_fields(nullptr, "dbn.mbo", &schema, fields.data(), fields.size() - 1,
                              nullptr, 0, nullptr) == LAPWING_ERROR_TOO_SMALL);
  CHECK(lapwing_schema_fields(nullptr, "dbn.mbo", &schema, fields.data(), fields.size(),
                              text.data(), text.size() - 1, nullptr) == LAPWING_ERROR_TOO_SMALL);
  REQUIRE(lapwing_schema_fields(nullptr, "dbn.mbo", &schema, fields.data(), fields.size(),
                                text.data(), text.size(), nullptr) == LAPWING_OK);
  CHECK(std::string(fields[0].name) == "length");
  CHECK(std::strlen(text.data()) + 1 == text.size());
  CHECK(text.front() == '{');
  CHECK(lapwing_schema_fields(nullptr, "none", &schema, nullptr, 0, nullptr, 0, nullptr) ==
        LAPWING_ERROR_NOT_FOUND);
  CHECK(lapwing_schema_fields("/nowhere", nullptr, &schema, nullptr, 0, nullptr, 0, nullptr) ==
        LAPWING_ERROR_NO_BUS);
  const TestBus bus;
  CHECK(lapwing_schema_fields(bus.path().c_str(), nullptr, &schema, nullptr, 0, nullptr, 0,
                              nullptr) == LAPWING_ERROR_NOT_FOUND);
}

TEST_CASE("a cursor keeps a position and where the output ended") {
  TestBus bus;
  REQUIRE(bus.publish(1, 3) == LAPWING_OK);
  auto options = sized<lapwing_subscriber_options>();
  options.start = LAPWING_START_OLDEST;
  const Subscriber subscriber = bus.subscribe(options);
  REQUIRE(read_until(subscriber.get(), LAPWING_EVENT_CAUGHT_UP) == LAPWING_OK);
  lapwing_position position{};
  REQUIRE(lapwing_subscriber_position(subscriber.get(), 0, &position, nullptr) == LAPWING_OK);
  const std::string path = bus.path() + "-cursor";
  lapwing_cursor* opened = nullptr;
  REQUIRE(lapwing_cursor_open(path.c_str(), LAPWING_CURSOR_DURABLE, 0, &opened, nullptr) ==
          LAPWING_OK);
  const Cursor cursor(opened);
  lapwing_cursor* second = nullptr;
  CHECK(lapwing_cursor_open(path.c_str(), 0, 0, &second, nullptr) != LAPWING_OK);
  CHECK(lapwing_cursor_open(path.c_str(), 2, 0, &second, nullptr) ==
        LAPWING_ERROR_INVALID_ARGUMENT);
  lapwing_position found{};
  CHECK(lapwing_cursor_position(cursor.get(), &found, nullptr, nullptr, nullptr) ==
        LAPWING_ERROR_NOT_FOUND);
  CHECK(lapwing_cursor_commit(cursor.get(), nullptr, 0, 0, nullptr) ==
        LAPWING_ERROR_INVALID_ARGUMENT);
  REQUIRE(lapwing_cursor_commit(cursor.get(), &position, 70, 2, nullptr) == LAPWING_OK);
  std::uint64_t bytes = 0;
  std::uint64_t file = 0;
  REQUIRE(lapwing_cursor_position(cursor.get(), &found, &bytes, &file, nullptr) == LAPWING_OK);
  CHECK(std::memcmp(&found, &position, sizeof found) == 0);
  CHECK(bytes == 70);
  CHECK(file == 2);
}

TEST_CASE("a view of a finished segment outlives its history") {
  TestBus bus;
  REQUIRE(bus.publish(1, 20000) == LAPWING_OK);
  REQUIRE(lapwing_publisher_flush(bus.publisher(), kTenSeconds, nullptr, nullptr) == LAPWING_OK);
  lapwing_history* opened = nullptr;
  REQUIRE(lapwing_history_open(bus.path().c_str(), &opened, nullptr) == LAPWING_OK);
  auto view = sized<lapwing_view>();
  REQUIRE(lapwing_history_map(opened, 10, 20, &view, nullptr) == LAPWING_OK);
  lapwing_history_destroy(&opened);
  CHECK(view.count == 11);
  CHECK(view.first == 10);
  for (std::uint64_t i = 0; i < view.count; ++i) {
    std::uint64_t row = 0;
    std::memcpy(&row, static_cast<const std::byte*>(view.rows) + i * view.stride_bytes, sizeof row);
    CHECK(row == 10 + i);
  }
  lapwing_history_unmap(&view);
  CHECK(view.rows == nullptr);
  lapwing_history_unmap(&view);
}

TEST_CASE("the log's lines go to a function, into a queue that drops the oldest, or nowhere") {
  std::vector<std::string> lines;
  lapwing_log_set(
      [](void* user, const char* line) {
        static_cast<std::vector<std::string>*>(user)->push_back(line);
      },
      &lines);
  {
    TestBus killed;
    REQUIRE(killed.publish(1, 1) == LAPWING_OK);
    REQUIRE(killed.close() == LAPWING_OK);
  }
  lapwing_log_queue();
  const std::size_t before = lines.size();
  CHECK(before > 0);
  {
    TestBus bus;
    REQUIRE(bus.close() == LAPWING_OK);
  }
  CHECK(lines.size() == before);
  char line[16];
  std::uint64_t dropped = 9;
  CHECK(lapwing_log_read(line, 0, &dropped) == LAPWING_ERROR_TOO_SMALL);
  CHECK(lapwing_log_read(line, sizeof line, &dropped) == LAPWING_OK);
  CHECK(dropped == 0);
  CHECK(std::strlen(line) == sizeof line - 1);
  lapwing_log_set(nullptr, nullptr);
  CHECK(lapwing_log_read(line, sizeof line, &dropped) == LAPWING_ERROR_WOULD_BLOCK);
}

}  // namespace
}  // namespace lapwing::c_test
