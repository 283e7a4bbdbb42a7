// Tests invalid calls: handles that are NULL, in use, in the wrong role, or from a parent process.
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <string>
#include <thread>
#include <vector>

#include "testing/c_interface.h"
#include "testing/waiting_call.h"

namespace lapwing::c_test {
namespace {

// The results of all functions that take a handle and return a result, for these handles.
struct Handles {
  lapwing_publisher* publisher = nullptr;
  lapwing_subscriber* subscriber = nullptr;
  lapwing_cursor* cursor = nullptr;
  lapwing_history* history = nullptr;
  lapwing_books* books = nullptr;
  lapwing_listener* listener = nullptr;
  lapwing_channel* channel = nullptr;
  lapwing_symbols* symbols = nullptr;
  lapwing_wait_set* wait_set = nullptr;
};

std::vector<lapwing_result> results_of_bus_calls(const Handles& of) {
  auto publisher_info = sized<lapwing_publisher_info>();
  auto subscriber_info = sized<lapwing_subscriber_info>();
  auto schema = sized<lapwing_schema>();
  auto ages = sized<lapwing_ages>();
  auto history_info = sized<lapwing_history_info>();
  auto view = sized<lapwing_view>();
  Batch64 into;
  std::uint64_t number = 0;
  std::int32_t fd = 0;
  lapwing_position position{};
  return {
      lapwing_publisher_publish(of.publisher, &number, 1, 8, 0, nullptr, nullptr),
      lapwing_publisher_flush(of.publisher, 0, nullptr, nullptr),
      lapwing_publisher_inspect(of.publisher, &publisher_info, nullptr),
      lapwing_publisher_close(of.publisher, 0, nullptr),
      lapwing_subscriber_read(of.subscriber, &into.batch, 0, nullptr),
      lapwing_subscriber_read_one(of.subscriber, &number, 8, 0, &number, nullptr),
      lapwing_subscriber_schema(of.subscriber, &schema, nullptr, 0, nullptr, 0, nullptr),
      lapwing_subscriber_ages(of.subscriber, &ages, nullptr),
      lapwing_subscriber_inspect(of.subscriber, &subscriber_info, nullptr),
      lapwing_subscriber_position(of.subscriber, 0, &position, nullptr),
      lapwing_subscriber_fd(of.subscriber, &fd, nullptr),
      lapwing_cursor_position(of.cursor, &position, nullptr, nullptr, nullptr),
      lapwing_cursor_commit(of.cursor, &position, 0, 0, nullptr),
      lapwing_history_inspect(of.history, &history_info, nullptr),
      lapwing_history_read(of.history, 1, &into.batch, nullptr),
      lapwing_history_find_time(of.history, 0, &number, nullptr),
      lapwing_history_map(of.history, 1, 1, &view, nullptr),
  };
}

std::vector<lapwing_result> results_of_other_calls(const Handles& of) {
  auto books_info = sized<lapwing_books_info>();
  auto book = sized<lapwing_book>();
  auto channel_info = sized<lapwing_channel_info>();
  auto reply = sized<lapwing_reply>();
  auto request = sized<lapwing_request>();
  const auto batch = sized<lapwing_batch>();
  const lapwing_message message{"", 0, 0, 0};
  lapwing_message peeked;
  lapwing_channel* accepted = nullptr;
  void* payload = nullptr;
  std::size_t count = 0;
  std::uint64_t call = 0;
  std::int32_t armed = 0;
  std::int32_t fd = 0;
  return {
      lapwing_books_take(of.books, &batch, nullptr),
      lapwing_books_inspect(of.books, &books_info, nullptr),
      lapwing_books_list(of.books, nullptr, 0, &count, nullptr),
      lapwing_books_find(of.books, {1, 1, 0}, &book, nullptr),
      lapwing_books_levels(of.books, {1, 1, 0}, 'B', 0, nullptr, 0, &count, nullptr),
      lapwing_books_orders(of.books, {1, 1, 0}, 'B', 0, nullptr, 0, &count, nullptr),
      lapwing_listener_accept(of.listener, LAPWING_CHANNEL_ROLE_DUPLEX, nullptr, 0, &accepted,
                              nullptr),
      lapwing_listener_tend(of.listener, nullptr),
      lapwing_listener_fd(of.listener, &fd, nullptr),
      lapwing_channel_fd(of.channel, &fd, nullptr),
      lapwing_channel_claim(of.channel, 1, 0, &payload, nullptr),
      lapwing_channel_commit(of.channel, 1, 0, nullptr),
      lapwing_channel_abort(of.channel, nullptr),
      lapwing_channel_send(of.channel, &message, 1, 0, nullptr, nullptr),
      lapwing_channel_drain(of.channel, 0, nullptr),
      lapwing_channel_peek(of.channel, &peeked, 1, 0, &count, nullptr),
      lapwing_channel_release(of.channel, 1, nullptr),
      lapwing_channel_start(of.channel, &message, 0, &call, nullptr),
      lapwing_channel_finish(of.channel, 1, &reply, nullptr),
      lapwing_channel_finish_any(of.channel, 0, &reply, nullptr),
      lapwing_channel_cancel(of.channel, 1, nullptr),
      lapwing_channel_next(of.channel, 0, &request, nullptr),
      lapwing_channel_reply(of.channel, &reply, 0, nullptr),
      lapwing_channel_arm(of.channel, 1, &armed, nullptr),
      lapwing_channel_inspect(of.channel, &channel_info, nullptr),
      lapwing_channel_close(of.channel, nullptr),
  };
}

std::vector<lapwing_result> results_of_sets_and_symbols(const Handles& of) {
  lapwing_wait_set* const set = of.wait_set;
  auto ready = sized<lapwing_ready>();
  lapwing_symbol_mapping mapping;
  std::uint32_t instrument = 0;
  std::size_t count = 0;
  return {
      lapwing_symbols_find(of.symbols, "ESH4", 0, &instrument, nullptr),
      lapwing_symbols_name(of.symbols, 1, 0, &mapping, nullptr),
      lapwing_symbols_list(of.symbols, nullptr, 0, &count, nullptr),
      lapwing_wait_set_add_subscriber(set, of.subscriber, 1, nullptr, nullptr),
      lapwing_wait_set_add_channel(set, of.channel, 0, 1, nullptr, nullptr),
      lapwing_wait_set_add_listener(set, of.listener, 1, nullptr, nullptr),
      lapwing_wait_set_add_fd(set, 0, 1, 1, nullptr, nullptr),
      lapwing_wait_set_add_timer(set, 0, 0, 1, nullptr, nullptr),
      lapwing_wait_set_set_timer(set, 1, 0, 0, nullptr),
      lapwing_wait_set_remove(set, 1, nullptr),
      lapwing_wait_set_wait(set, &ready, 0, nullptr),
  };
}

bool all_are(const std::vector<lapwing_result>& results, lapwing_result expected) {
  bool all = true;
  for (std::size_t i = 0; i < results.size(); ++i) {
    if (results[i] == expected) continue;
    all = false;
    UNSCOPED_INFO("call " << i << " answers " << lapwing_error_name(results[i]));
  }
  return all;
}

// One valid handle of each kind.
class OneOfEach {
 public:
  OneOfEach() {
    REQUIRE(bus_.publish(1, 5) == LAPWING_OK);
    subscriber_ = bus_.subscribe();
    lapwing_cursor* cursor = nullptr;
    REQUIRE(lapwing_cursor_open(directory_.file("cursor").c_str(), 0, 0, &cursor, nullptr) ==
            LAPWING_OK);
    cursor_.reset(cursor);
    lapwing_history* history = nullptr;
    REQUIRE(lapwing_history_open(bus_.path().c_str(), &history, nullptr) == LAPWING_OK);
    history_.reset(history);
    lapwing_books* books = nullptr;
    REQUIRE(lapwing_books_create(&books, nullptr) == LAPWING_OK);
    books_.reset(books);
    lapwing_listener* listener = nullptr;
    const std::string path = directory_.file("c.sock");
    REQUIRE(lapwing_listener_open(path.c_str(), nullptr, &listener, nullptr) == LAPWING_OK);
    listener_.reset(listener);
    lapwing_channel* connected = nullptr;
    std::thread connecting([&] {
      (void)!lapwing_channel_connect(path.c_str(), LAPWING_CHANNEL_ROLE_DUPLEX, nullptr,
                                     kTenSeconds, &connected, nullptr);
    });
    lapwing_channel* accepted = nullptr;
    const lapwing_result result = lapwing_listener_accept(listener, LAPWING_CHANNEL_ROLE_DUPLEX,
                                                          nullptr, kTenSeconds, &accepted, nullptr);
    connecting.join();
    REQUIRE(result == LAPWING_OK);
    accepted_.reset(accepted);
    channel_.reset(connected);
    lapwing_symbols* symbols = nullptr;
    REQUIRE(lapwing_symbols_open(bus_.path().c_str(), &symbols, nullptr) == LAPWING_OK);
    symbols_.reset(symbols);
    lapwing_wait_set* set = nullptr;
    REQUIRE(lapwing_wait_set_open(LAPWING_WAIT_BACKOFF, &set, nullptr) == LAPWING_OK);
    wait_set_.reset(set);
  }

  Handles handles() const {
    return {const_cast<TestBus&>(bus_).publisher(),
            subscriber_.get(),
            cursor_.get(),
            history_.get(),
            books_.get(),
            listener_.get(),
            channel_.get(),
            symbols_.get(),
            wait_set_.get()};
  }
  TestBus& bus() { return bus_; }
  void destroy_all() {
    bus_.destroy();
    subscriber_.reset();
    cursor_.reset();
    history_.reset();
    books_.reset();
    listener_.reset();
    accepted_.reset();
    channel_.reset();
    symbols_.reset();
    wait_set_.reset();
  }

 private:
  TemporaryDirectory directory_;
  TestBus bus_;
  Subscriber subscriber_;
  Cursor cursor_;
  History history_;
  Books books_;
  Listener listener_;
  Channel accepted_;
  Channel channel_;
  Symbols symbols_;
  WaitSet wait_set_;
};

TEST_CASE("every function answers a NULL handle with misuse") {
  CHECK(all_are(results_of_bus_calls({}), LAPWING_ERROR_MISUSE));
  CHECK(all_are(results_of_other_calls({}), LAPWING_ERROR_MISUSE));
  CHECK(all_are(results_of_sets_and_symbols({}), LAPWING_ERROR_MISUSE));
  lapwing_wait_set_interrupt(nullptr);
  lapwing_publisher_interrupt(nullptr);
  lapwing_subscriber_interrupt(nullptr);
  lapwing_listener_interrupt(nullptr);
  lapwing_channel_interrupt(nullptr);
  lapwing_history_unmap(nullptr);
}

TEST_CASE("a destroy sets the handle to NULL, and a second one does nothing") {
  lapwing_books* books = nullptr;
  REQUIRE(lapwing_books_create(&books, nullptr) == LAPWING_OK);
  lapwing_books_destroy(&books);
  CHECK(books == nullptr);
  lapwing_books_destroy(&books);
  lapwing_books_destroy(nullptr);
}

TEST_CASE("in a forked child every call answers forked, and the parent goes on") {
  OneOfEach each;
  int answers[2];
  REQUIRE(pipe(answers) == 0);
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    const Handles handles = each.handles();
    const bool all = all_are(results_of_bus_calls(handles), LAPWING_ERROR_FORKED) &&
                     all_are(results_of_other_calls(handles), LAPWING_ERROR_FORKED) &&
                     all_are(results_of_sets_and_symbols(handles), LAPWING_ERROR_FORKED);
    each.destroy_all();
    const char answer = all ? 'y' : 'n';
    (void)!write(answers[1], &answer, 1);
    raise(SIGKILL);  // skips the memory check of the parent's memory
  }
  close(answers[1]);
  char answer = '-';
  CHECK(read(answers[0], &answer, 1) == 1);
  CHECK(answer == 'y');
  close(answers[0]);
  REQUIRE(waitpid(child, nullptr, 0) == child);
  CHECK(each.bus().publish(6, 6) == LAPWING_OK);
  const lapwing_message message{"x", 1, 3, 0};
  CHECK(lapwing_channel_send(each.handles().channel, &message, 1, 0, nullptr, nullptr) ==
        LAPWING_OK);
}

TEST_CASE("a second thread's call is refused while the first one's waits") {
  TestBus bus;
  auto options = sized<lapwing_subscriber_options>();
  options.wait = LAPWING_WAIT_PARK;
  const Subscriber subscriber = bus.subscribe(options);
  REQUIRE(read_until(subscriber.get(), LAPWING_EVENT_CAUGHT_UP) == LAPWING_OK);
  std::uint64_t record = 0;
  std::uint64_t sequence = 0;
  auto info = sized<lapwing_subscriber_info>();
  auto error = sized<lapwing_error>();
  lapwing_result second = LAPWING_OK;
  const lapwing_result first = while_it_waits(
      [&] {
        return lapwing_subscriber_read_one(subscriber.get(), &record, sizeof record,
                                           LAPWING_FOREVER, &sequence, nullptr);
      },
      [&] {
        second = lapwing_subscriber_inspect(subscriber.get(), &info, &error);
        (void)bus.publish(1, 1);
      });
  CHECK(second == LAPWING_ERROR_MISUSE);
  CHECK(std::string(error.message).find("one thread at a time") != std::string::npos);
  CHECK(first == LAPWING_OK);
  CHECK(record == 1);
}

TEST_CASE("a channel refuses what is another role's") {
  OneOfEach each;
  lapwing_channel* const duplex = each.handles().channel;
  void* payload = nullptr;
  lapwing_message message;
  std::size_t count = 0;
  auto error = sized<lapwing_error>();
  CHECK(lapwing_channel_claim(duplex, 1, 0, &payload, &error) == LAPWING_ERROR_MISUSE);
  CHECK(std::string(error.message).find("not a producer") != std::string::npos);
  CHECK(lapwing_channel_peek(duplex, &message, 1, 0, &count, &error) == LAPWING_ERROR_MISUSE);
  CHECK(std::string(error.message).find("not a consumer") != std::string::npos);
  CHECK(lapwing_channel_drain(duplex, 0, nullptr) == LAPWING_ERROR_MISUSE);
}

}  // namespace
}  // namespace lapwing::c_test
