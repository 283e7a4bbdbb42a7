// Tests that the log function may fork, call the library and change the log.
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <catch2/catch.hpp>
#include <chrono>
#include <filesystem>
#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "testing/c_interface.h"

namespace lapwing::c_test {
namespace {

constexpr std::chrono::seconds kHang{60};

// Ends the process on a deadlock, so that the test fails.
class EndsHangs {
 public:
  EndsHangs() { alarm(kHang.count()); }
  EndsHangs(const EndsHangs&) = delete;
  EndsHangs& operator=(const EndsHangs&) = delete;
  ~EndsHangs() { alarm(0); }
};

// Calls `hook` with each line, while the object exists.
class LogHook {
 public:
  explicit LogHook(std::function<void(const std::string& line)> hook) : hook_(std::move(hook)) {
    lapwing_log_set([](void* user, const char* line) { static_cast<LogHook*>(user)->hook_(line); },
                    this);
  }
  LogHook(const LogHook&) = delete;
  LogHook& operator=(const LogHook&) = delete;
  ~LogHook() { lapwing_log_set(nullptr, nullptr); }

 private:
  std::function<void(const std::string& line)> hook_;
};

// Ends a child with a signal. If it exited, valgrind would report as lost the memory to which only
// other threads of the parent point.
[[noreturn]] void end_child(bool is_good) {
  kill(getpid(), is_good ? SIGKILL : SIGTERM);
  for (;;) pause();
}

// The status that waitpid reports for a child that does nothing.
int status_of_child() {
  const pid_t child = fork();
  if (child == 0) end_child(true);
  int status = 0;
  return child > 0 && waitpid(child, &status, 0) == child ? status : -1;
}

// Opens and closes a publisher, which logs. Does not use Catch's checks, because only one thread
// at a time may do so.
lapwing_result open_and_close() {
  const TemporaryDirectory directory;
  const std::string path = directory.file("other");
  auto options = sized<lapwing_publisher_options>();
  options.directory = path.c_str();
  options.record_bytes = 8;
  options.capacity = 4096;
  lapwing_publisher* opened = nullptr;
  lapwing_result result = lapwing_publisher_open(&options, kTenSeconds, &opened, nullptr);
  if (result == LAPWING_OK) result = lapwing_publisher_close(opened, LAPWING_FOREVER, nullptr);
  lapwing_publisher_destroy(&opened);
  return result;
}

TEST_CASE("the log's function forks, on the thread that opens and on the library's own") {
  const EndsHangs ends_hangs;
  const std::thread::id opener = std::this_thread::get_id();
  std::promise<void> by_library;
  std::atomic<bool> is_by_library = false;
  std::atomic<int> calls = 0;
  std::atomic<int> bad_status = SIGKILL;  // the last other status
  std::optional<LogHook> hook;
  hook.emplace([&](const std::string&) {
    ++calls;
    if (const int status = status_of_child(); status != SIGKILL) bad_status = status;
    if (std::this_thread::get_id() != opener && !is_by_library.exchange(true)) {
      by_library.set_value();
    }
  });
  TestBus bus;
  CHECK(calls > 0);
  std::filesystem::remove(bus.path() + "/publisher.lock");  // a thread recreates it, and logs
  REQUIRE(by_library.get_future().wait_for(kHang) == std::future_status::ready);
  REQUIRE(bus.close() == LAPWING_OK);
  hook.reset();  // waits for running calls
  CHECK(bad_status == SIGKILL);
}

TEST_CASE("a child that is forked in the log's function has a log of its own") {
  const EndsHangs ends_hangs;
  int status = -1;
  bool is_first = true;
  std::vector<std::string> lines;
  // Publishers from earlier cases may still log, so the first line may arrive on another thread.
  // After the hook is destroyed, none of its calls runs.
  std::optional<LogHook> hook;
  hook.emplace([&](const std::string& line) {
    lines.push_back(line);
    if (!std::exchange(is_first, false)) return;
    const pid_t child = fork();
    if (child == 0) {
      lines.clear();
      lapwing_log_queue();  // returns at once, inside the function
      if (open_and_close() != LAPWING_OK) end_child(false);
      char text[256];
      end_child(lines.empty() && lapwing_log_read(text, sizeof text, nullptr) == LAPWING_OK);
    }
    waitpid(child, &status, 0);
  });
  TestBus bus;
  hook.reset();
  CHECK(status == SIGKILL);
  CHECK(!lines.empty());
}

TEST_CASE("calls in the log's function that would wait for its own thread are misuse") {
  const EndsHangs ends_hangs;
  std::promise<std::vector<lapwing_result>> answers;
  std::atomic<bool> has_answered = false;
  std::atomic<lapwing_publisher*> publisher = nullptr;
  const LogHook hook([&](const std::string&) {
    if (publisher == nullptr || has_answered.exchange(true)) return;
    auto info = sized<lapwing_publisher_info>();
    std::uint64_t record = 1;
    std::vector<lapwing_result> results = {
        lapwing_publisher_publish(publisher, &record, 1, sizeof record, LAPWING_FOREVER, nullptr,
                                  nullptr),
        lapwing_publisher_flush(publisher, LAPWING_FOREVER, nullptr, nullptr),
        lapwing_publisher_close(publisher, LAPWING_FOREVER, nullptr),
        lapwing_publisher_inspect(publisher, &info, nullptr),
    };
    results.push_back(open_and_close());
    answers.set_value(std::move(results));
  });
  TestBus bus;
  publisher = bus.publisher();
  std::filesystem::remove(bus.path() + "/publisher.lock");
  auto answered = answers.get_future();
  REQUIRE(answered.wait_for(kHang) == std::future_status::ready);
  CHECK(answered.get() == std::vector<lapwing_result>{LAPWING_OK, LAPWING_ERROR_MISUSE,
                                                      LAPWING_ERROR_MISUSE, LAPWING_OK,
                                                      LAPWING_OK});
  publisher = nullptr;
  CHECK(bus.close() == LAPWING_OK);
}

TEST_CASE("lines that arrive while the function runs are delivered after it, in order") {
  const EndsHangs ends_hangs;
  int depth = 0;
  int depth_max = 0;
  std::vector<std::string> lines;
  bool is_first = true;
  bool is_nested_good = false;
  std::optional<LogHook> hook;  // as above
  hook.emplace([&](const std::string& line) {
    depth_max = std::max(depth_max, ++depth);
    lines.push_back(line);
    if (std::exchange(is_first, false)) {
      const std::size_t before = lines.size();
      is_nested_good = open_and_close() == LAPWING_OK && lines.size() == before;
    }
    --depth;
  });
  REQUIRE(open_and_close() == LAPWING_OK);
  hook.reset();
  CHECK(is_nested_good);
  CHECK(depth_max == 1);
  CHECK(lines.size() > 1);
}

TEST_CASE("after lapwing_log_set the function before it is not running") {
  const EndsHangs ends_hangs;
  std::promise<void> entered;
  std::promise<void> leave;
  std::atomic<bool> is_inside = false;
  bool is_first = true;
  auto hook = std::make_unique<LogHook>([&](const std::string&) {
    if (!std::exchange(is_first, false)) return;
    is_inside = true;
    entered.set_value();
    leave.get_future().wait();
    is_inside = false;
  });
  std::thread opens([] { (void)open_and_close(); });
  entered.get_future().wait();
  std::thread leaves([&] {
    // The other thread is in lapwing_log_set by then, or calls it later: both are correct.
    leave.set_value();
  });
  hook.reset();
  CHECK(!is_inside);
  leaves.join();
  opens.join();
}

}  // namespace
}  // namespace lapwing::c_test
