// Tests several sources in one thread, in the C interface.
#include <poll.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cstdint>
#include <string>

#include "testing/c_interface.h"
#include "testing/temporary_directory.h"
#include "testing/waiting_call.h"

namespace lapwing::c_test {
namespace {

WaitSet open_set() {
  lapwing_wait_set* set = nullptr;
  REQUIRE(lapwing_wait_set_open(LAPWING_WAIT_BACKOFF, &set, nullptr) == LAPWING_OK);
  return WaitSet(set);
}

// Returns the token of the source that is ready within that time, or 0.
std::uint64_t ready_token(const WaitSet& set, std::int64_t timeout_ns = kTenSeconds) {
  auto ready = sized<lapwing_ready>();
  const lapwing_result result = lapwing_wait_set_wait(set.get(), &ready, timeout_ns, nullptr);
  CHECK((result == LAPWING_OK || result == LAPWING_ERROR_WOULD_BLOCK));
  return ready.token;
}

TEST_CASE("a set says which of two buses has a record, and takes nothing from it") {
  TestBus first;
  TestBus second;
  const Subscriber at_first = first.subscribe();
  const Subscriber at_second = second.subscribe();
  REQUIRE(read_until(at_first.get(), LAPWING_EVENT_CAUGHT_UP) == LAPWING_OK);
  REQUIRE(read_until(at_second.get(), LAPWING_EVENT_CAUGHT_UP) == LAPWING_OK);
  const WaitSet set = open_set();
  std::uint64_t source = 0;
  REQUIRE(lapwing_wait_set_add_subscriber(set.get(), at_first.get(), 1, &source, nullptr) ==
          LAPWING_OK);
  REQUIRE(lapwing_wait_set_add_subscriber(set.get(), at_second.get(), 2, nullptr, nullptr) ==
          LAPWING_OK);
  CHECK(lapwing_wait_set_add_subscriber(set.get(), at_second.get(), 3, nullptr, nullptr) ==
        LAPWING_ERROR_MISUSE);
  CHECK(ready_token(set, 0) == 0);

  REQUIRE(second.publish(1, 1) == LAPWING_OK);
  CHECK(ready_token(set) == 2);
  CHECK(ready_token(set) == 2);
  std::uint64_t record = 0;
  std::uint64_t sequence = 0;
  REQUIRE(lapwing_subscriber_read_one(at_second.get(), &record, sizeof record, 0, &sequence,
                                      nullptr) == LAPWING_OK);
  CHECK(record == 1);
  CHECK(ready_token(set, 0) == 0);

  REQUIRE(first.publish(1, 1) == LAPWING_OK);
  CHECK(ready_token(set) == 1);
  CHECK(lapwing_wait_set_remove(set.get(), source, nullptr) == LAPWING_OK);
  CHECK(lapwing_wait_set_remove(set.get(), source, nullptr) == LAPWING_ERROR_NOT_FOUND);
  CHECK(ready_token(set, 0) == 0);
}

TEST_CASE("a subscriber that is destroyed leaves its set") {
  TestBus bus;
  auto options = sized<lapwing_subscriber_options>();
  options.start = LAPWING_START_OLDEST;
  Subscriber subscriber = bus.subscribe(options);
  const WaitSet set = open_set();
  REQUIRE(lapwing_wait_set_add_subscriber(set.get(), subscriber.get(), 5, nullptr, nullptr) ==
          LAPWING_OK);
  CHECK(ready_token(set) == 5);  // the session
  subscriber.reset();
  CHECK(ready_token(set, 0) == 0);
}

TEST_CASE("a subscriber that conflates is ready once its interval is over") {
  const TemporaryDirectory directory;
  const std::string path = directory.file("bus");
  auto to = sized<lapwing_publisher_options>();
  to.directory = path.c_str();
  to.schema_name = "kv16";
  to.record_bytes = 2 * sizeof(std::uint64_t);
  to.capacity = 4096;
  lapwing_publisher* publishing = nullptr;
  REQUIRE(lapwing_publisher_open(&to, kTenSeconds, &publishing, nullptr) == LAPWING_OK);
  const Publisher publisher(publishing);
  auto from = sized<lapwing_subscriber_options>();
  from.directory = path.c_str();
  from.start = LAPWING_START_LIVE;
  from.flags = LAPWING_SUBSCRIBER_CONFLATE;
  from.conflate_interval_ns = 1'000'000;
  lapwing_subscriber* subscribing = nullptr;
  REQUIRE(lapwing_subscriber_open(&from, &subscribing, nullptr) == LAPWING_OK);
  const Subscriber subscriber(subscribing);
  REQUIRE(read_until(subscribing, LAPWING_EVENT_CAUGHT_UP) == LAPWING_OK);
  const WaitSet set = open_set();
  REQUIRE(lapwing_wait_set_add_subscriber(set.get(), subscribing, 6, nullptr, nullptr) ==
          LAPWING_OK);
  CHECK(ready_token(set, 0) == 0);

  const std::uint64_t same_key[] = {1, 10, 1, 11};
  REQUIRE(lapwing_publisher_publish(publishing, same_key, 2, sizeof same_key / 2, kTenSeconds,
                                    nullptr, nullptr) == LAPWING_OK);
  std::uint64_t record[2] = {};
  while (record[1] != 11) {  // the first may be taken alone if an interval ends between the two
    auto ready = sized<lapwing_ready>();
    REQUIRE(lapwing_wait_set_wait(set.get(), &ready, kTenSeconds, nullptr) == LAPWING_OK);
    CHECK(ready.kind == LAPWING_SOURCE_CONFLATED);
    CHECK(ready.token == 6);
    std::uint64_t sequence = 0;
    REQUIRE(lapwing_subscriber_read_one(subscribing, record, sizeof record, 0, &sequence,
                                        nullptr) == LAPWING_OK);
  }
  CHECK(ready_token(set, 0) == 0);
}

TEST_CASE("descriptors and timers are sources") {
  const WaitSet set = open_set();
  int ends[2];
  REQUIRE(pipe(ends) == 0);
  std::uint64_t descriptor = 0;
  REQUIRE(lapwing_wait_set_add_fd(set.get(), ends[0], POLLIN, 1, &descriptor, nullptr) ==
          LAPWING_OK);
  CHECK(lapwing_wait_set_add_fd(set.get(), ends[0], 1 << 20, 1, nullptr, nullptr) ==
        LAPWING_ERROR_INVALID_ARGUMENT);
  CHECK(ready_token(set, 0) == 0);
  REQUIRE(write(ends[1], "x", 1) == 1);
  auto ready = sized<lapwing_ready>();
  REQUIRE(lapwing_wait_set_wait(set.get(), &ready, kTenSeconds, nullptr) == LAPWING_OK);
  CHECK(ready.kind == LAPWING_SOURCE_FD);
  CHECK(ready.source == descriptor);
  CHECK((ready.events & POLLIN) != 0);
  REQUIRE(lapwing_wait_set_remove(set.get(), descriptor, nullptr) == LAPWING_OK);
  close(ends[0]);
  close(ends[1]);

  std::uint64_t timer = 0;
  REQUIRE(lapwing_wait_set_add_timer(set.get(), LAPWING_NEVER, 0, 2, &timer, nullptr) ==
          LAPWING_OK);
  CHECK(lapwing_wait_set_add_timer(set.get(), 0, -5, 2, nullptr, nullptr) ==
        LAPWING_ERROR_INVALID_ARGUMENT);
  CHECK(ready_token(set, 0) == 0);
  REQUIRE(lapwing_wait_set_set_timer(set.get(), timer, 0, 0, nullptr) == LAPWING_OK);
  REQUIRE(lapwing_wait_set_wait(set.get(), &ready, kTenSeconds, nullptr) == LAPWING_OK);
  CHECK(ready.kind == LAPWING_SOURCE_TIMER);
  CHECK(ready.token == 2);
  CHECK(ready.expirations == 1);
  CHECK(ready_token(set, 0) == 0);
}

TEST_CASE("a listener is a source, a producer only for a size, and another thread ends a wait") {
  const TemporaryDirectory directory;
  const std::string path = directory.file("c.sock");
  lapwing_listener* listening = nullptr;
  REQUIRE(lapwing_listener_open(path.c_str(), nullptr, &listening, nullptr) == LAPWING_OK);
  const Listener listener(listening);
  const WaitSet set = open_set();
  REQUIRE(lapwing_wait_set_add_listener(set.get(), listening, 4, nullptr, nullptr) == LAPWING_OK);
  lapwing_channel* connected = nullptr;
  lapwing_channel* accepted = nullptr;
  const lapwing_result connection = while_it_waits(
      [&] {
        return lapwing_channel_connect(path.c_str(), LAPWING_CHANNEL_ROLE_PRODUCER, nullptr,
                                       kTenSeconds, &connected, nullptr);
      },
      [&] {
        CHECK(ready_token(set) == 4);
        CHECK(lapwing_listener_accept(listening, LAPWING_CHANNEL_ROLE_CONSUMER, nullptr,
                                      kTenSeconds, &accepted, nullptr) == LAPWING_OK);
      });
  REQUIRE(connection == LAPWING_OK);
  const Channel producer(connected);
  const Channel consumer(accepted);
  auto error = sized<lapwing_error>();
  CHECK(lapwing_wait_set_add_channel(set.get(), accepted, 8, 5, nullptr, &error) ==
        LAPWING_ERROR_INVALID_ARGUMENT);
  CHECK(std::string(error.message).find("only a producer") != std::string::npos);
  REQUIRE(lapwing_wait_set_add_channel(set.get(), accepted, 0, 5, nullptr, nullptr) == LAPWING_OK);
  const lapwing_message message{"x", 1, 3, 0};
  REQUIRE(lapwing_channel_send(connected, &message, 1, 0, nullptr, nullptr) == LAPWING_OK);
  CHECK(ready_token(set) == 5);
  lapwing_message peeked;
  std::size_t count = 0;
  REQUIRE(lapwing_channel_peek(accepted, &peeked, 1, 0, &count, nullptr) == LAPWING_OK);
  REQUIRE(lapwing_channel_release(accepted, 1, nullptr) == LAPWING_OK);

  auto ready = sized<lapwing_ready>();
  CHECK(while_it_waits(
            [&] { return lapwing_wait_set_wait(set.get(), &ready, LAPWING_FOREVER, nullptr); },
            [&] { lapwing_wait_set_interrupt(set.get()); }) == LAPWING_ERROR_INTERRUPTED);
  CHECK(lapwing_wait_set_wait(set.get(), &ready, 1000, nullptr) == LAPWING_ERROR_TIMED_OUT);
  CHECK(lapwing_wait_set_wait(set.get(), nullptr, 0, nullptr) == LAPWING_ERROR_INVALID_ARGUMENT);
  lapwing_wait_set* refused = nullptr;
  CHECK(lapwing_wait_set_open(0, &refused, nullptr) == LAPWING_ERROR_INVALID_ARGUMENT);
  CHECK(refused == nullptr);
}

}  // namespace
}  // namespace lapwing::c_test
