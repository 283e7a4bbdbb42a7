// What a program must not do, as a program in C does it: README.md, Misuse.
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdlib>
#include <future>
#include <set>
#include <thread>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "tests/conformance/bindings/c/driver.h"

namespace lapwing::conformance {
namespace {

constexpr std::uint32_t kRecordBytes = 16;
constexpr std::int64_t kSecond = 1'000'000'000;
using Names = std::set<std::string>;

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

lapwing_history* history_of(const std::string& directory) {
  lapwing_history* opened = nullptr;
  must(lapwing_history_open(directory.c_str(), &opened, nullptr), "history");
  return opened;
}

struct Channel {
  lapwing_listener* listener = nullptr;
  lapwing_channel* producer = nullptr;
  lapwing_channel* consumer = nullptr;

  Channel() {
    must(lapwing_listener_open("own.sock", nullptr, &listener, nullptr), "listener");
    std::future<void> connecting = std::async(std::launch::async, [this] {
      must(lapwing_channel_connect("own.sock", LAPWING_CHANNEL_ROLE_PRODUCER, nullptr, kSecond,
                                   &producer, nullptr),
           "connect");
    });
    must(lapwing_listener_accept(listener, LAPWING_CHANNEL_ROLE_CONSUMER, nullptr, kSecond,
                                 &consumer, nullptr),
         "accept");
    connecting.get();
  }
  void destroy() {
    lapwing_channel_destroy(&producer);
    lapwing_channel_destroy(&consumer);
    lapwing_listener_destroy(&listener);
  }
  void send() {
    const lapwing_message message{"0123456789", 10, 1, 0};
    must(lapwing_channel_send(producer, &message, 1, kSecond, nullptr, nullptr), "send");
  }
  lapwing_message peek() {
    lapwing_message message{};
    std::size_t count = 0;
    must(lapwing_channel_peek(consumer, &message, 1, kSecond, &count, nullptr), "peek");
    return message;
  }
};

struct OneOfEach {
  static constexpr int kKinds = 8;
  Channel channel;
  lapwing_publisher* publisher = publisher_at("own");
  lapwing_subscriber* subscriber;
  lapwing_history* history;
  lapwing_books* books = nullptr;
  lapwing_cursor* cursor = nullptr;

  explicit OneOfEach(const std::string& directory)
      : subscriber(subscriber_of(directory, LAPWING_START_OLDEST)), history(history_of(directory)) {
    must(lapwing_books_create(&books, nullptr), "books");
    must(lapwing_cursor_open("own.cursor", 0, 0, &cursor, nullptr), "cursor");
  }
  void destroy() {
    channel.destroy();
    lapwing_publisher_destroy(&publisher);
    lapwing_subscriber_destroy(&subscriber);
    lapwing_history_destroy(&history);
    lapwing_books_destroy(&books);
    lapwing_cursor_destroy(&cursor);
  }
  // One call of each, and what they answer.
  Names call() {
    auto publisher_info = sized<lapwing_publisher_info>();
    auto subscriber_info = sized<lapwing_subscriber_info>();
    auto history_info = sized<lapwing_history_info>();
    auto books_info = sized<lapwing_books_info>();
    auto channel_info = sized<lapwing_channel_info>();
    lapwing_position position{};
    const std::array<lapwing_result, kKinds> results = {
        lapwing_publisher_inspect(publisher, &publisher_info, nullptr),
        lapwing_subscriber_inspect(subscriber, &subscriber_info, nullptr),
        lapwing_history_inspect(history, &history_info, nullptr),
        lapwing_books_inspect(books, &books_info, nullptr),
        lapwing_cursor_commit(cursor, &position, 0, 0, nullptr),
        lapwing_listener_tend(channel.listener, nullptr),
        lapwing_channel_inspect(channel.producer, &channel_info, nullptr),
        lapwing_channel_inspect(channel.consumer, &channel_info, nullptr)};
    Names names;
    for (const lapwing_result result : results) names.insert(name_of_result(result));
    return names;
  }
};

Lines used_after(const Step& step) {
  OneOfEach each(step.text("directory"));
  each.destroy();
  each.destroy();
  return {
      absl::StrCat("ok kinds=", OneOfEach::kKinds, " answers=", absl::StrJoin(each.call(), ","))};
}

// One batch into memory for 16 rows; its last event, or its rows, are in *batch.
lapwing_result read_once(lapwing_subscriber* subscriber, std::int64_t timeout_ns) {
  ReadBatch into(16, 16 * kRecordBytes);
  return lapwing_subscriber_read(subscriber, &into.batch, timeout_ns, nullptr);
}

void read_all_there_is(lapwing_subscriber* subscriber) {
  while (read_once(subscriber, kSecond / 4) == LAPWING_OK) {
  }
}

// Begins again where another thread's call was the first of two.
lapwing_result wait_for_one(lapwing_subscriber* subscriber) {
  lapwing_result result = LAPWING_ERROR_MISUSE;
  while (result == LAPWING_ERROR_MISUSE) result = read_once(subscriber, LAPWING_FOREVER);
  return result;
}

// What is answered once another thread waits.
lapwing_result read_beside_a_wait(lapwing_subscriber* subscriber) {
  lapwing_result result = LAPWING_ERROR_WOULD_BLOCK;
  while (result == LAPWING_ERROR_WOULD_BLOCK) result = read_once(subscriber, 0);
  return result;
}

// A subscriber that has nothing to read.
lapwing_subscriber* idle_subscriber(const std::string& directory) {
  lapwing_subscriber* const subscriber = subscriber_of(directory, LAPWING_START_LIVE);
  read_all_there_is(subscriber);
  return subscriber;
}

Lines two_threads(const Step& step) {
  lapwing_subscriber* subscriber = idle_subscriber(step.text("directory"));
  std::future<lapwing_result> first =
      std::async(std::launch::async, [=] { return wait_for_one(subscriber); });
  const lapwing_result second = read_beside_a_wait(subscriber);
  lapwing_subscriber_interrupt(subscriber);
  const std::string ended = name_of_result(first.get());
  lapwing_subscriber_destroy(&subscriber);
  return {absl::StrCat("ok second=", name_of_result(second), " first=", ended)};
}

// What the child says of all that it inherited.
std::string in_a_forked_child(OneOfEach& each) {
  int said[2];
  if (pipe(said) != 0) return "no pipe";
  const pid_t child = fork();
  if (child == 0) {
    const std::string names = absl::StrJoin(each.call(), ",");
    each.destroy();
    (void)!write(said[1], names.data(), names.size());
    _exit(0);
  }
  close(said[1]);
  char names[256];
  const ssize_t bytes = read(said[0], names, sizeof names);
  close(said[0]);
  int status = 0;
  waitpid(child, &status, 0);
  if (status != 0) return absl::StrCat("status-", status);
  return std::string(names, bytes < 0 ? 0 : static_cast<std::size_t>(bytes));
}

Lines forked(const Step& step) {
  OneOfEach each(step.text("directory"));
  (void)read_once(each.subscriber, kSecond);
  const std::string child = in_a_forked_child(each);
  const std::array<std::byte, kRecordBytes> record{};
  must(lapwing_publisher_publish(each.publisher, record.data(), 1, kRecordBytes, kSecond, nullptr,
                                 nullptr),
       "publish");
  must(read_once(each.subscriber, kSecond), "read");
  each.channel.send();
  (void)each.channel.peek();
  each.destroy();
  return {absl::StrCat("ok child=", child, " parent=ok")};
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
  return {{"misuse.used-after", used_after},
          {"misuse.two-threads", two_threads},
          {"misuse.forked", forked},
          {"misuse.wait", wait_forever},
          {"misuse.exit-in-wait", exit_in_wait},
          {"misuse.open-dropped", open_dropped},
          {"misuse.drop", drop}};
}

}  // namespace lapwing::conformance
