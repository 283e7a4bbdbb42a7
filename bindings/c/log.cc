#include "bindings/c/log.h"

#include <pthread.h>

#include <deque>
#include <mutex>
#include <utility>

#include "bindings/c/call.h"
#include "bindings/c/structs.h"

namespace lapwing::c {
namespace {

constexpr std::size_t kQueueLinesMax = 256;

class Log {
 public:
  void set(lapwing_log_fn function, void* user, bool queues) {
    const std::lock_guard lock(mutex_);
    function_ = function;
    user_ = user;
    queues_ = queues && function == nullptr;
    if (!queues_) lines_.clear();
  }

  // Under the mutex: one line at a time, and none to a function that was replaced.
  void add(const std::string& line) {
    const std::lock_guard lock(mutex_);
    if (function_ != nullptr) return function_(user_, line.c_str());
    if (!queues_) return;
    if (lines_.size() == kQueueLinesMax) {
      lines_.pop_front();
      ++dropped_;
    }
    lines_.push_back(line);
  }

  lapwing_result read(char* line, size_t bytes, uint64_t* dropped) {
    const std::lock_guard lock(mutex_);
    if (dropped != nullptr) *dropped = std::exchange(dropped_, 0);
    if (lines_.empty()) return LAPWING_WOULD_BLOCK;
    put_text(line, bytes, lines_.front());
    lines_.pop_front();
    return LAPWING_OK;
  }

  void lock() { mutex_.lock(); }
  void unlock() { mutex_.unlock(); }

 private:
  std::mutex mutex_;
  lapwing_log_fn function_ = nullptr;
  void* user_ = nullptr;
  bool queues_ = false;
  std::deque<std::string> lines_;
  std::uint64_t dropped_ = 0;
};

// Never destroyed: publishers that close while the process ends still have lines. A child that is
// forked in the middle of a line finds the mutex free.
Log& the_log() {
  static Log* const log = [] {
    Log* const made = new Log;
    pthread_atfork([] { the_log().lock(); }, [] { the_log().unlock(); },
                   [] { the_log().unlock(); });
    return made;
  }();
  return *log;
}

}  // namespace

void log_line(const std::string& line) {
  the_log().add(line);
}

}  // namespace lapwing::c

extern "C" {

void lapwing_log_set(lapwing_log_fn log, void* user, int32_t queue) {
  (void)lapwing::c::run(nullptr, [&] {
    lapwing::c::the_log().set(log, user, queue != 0);
    return LAPWING_OK;
  });
}

lapwing_result lapwing_log_read(char* line, size_t bytes, uint64_t* dropped) {
  if (line == nullptr || bytes == 0) return LAPWING_TOO_SMALL;
  return lapwing::c::run(nullptr, [&] { return lapwing::c::the_log().read(line, bytes, dropped); });
}

}  // extern "C"
