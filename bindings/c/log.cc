#include "bindings/c/log.h"

#include <pthread.h>

#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "bindings/c/call.h"
#include "bindings/c/structs.h"

namespace lapwing::c {
namespace {

constexpr std::size_t kQueueLinesMax = 256;

// The program's function is called without the mutex, so it may call the library, log, or fork. The
// thread that adds a line calls it, unless another thread is already calling it. The calling thread
// also delivers the lines that other threads add in the meantime; those threads do not wait.
class Log {
 public:
  // Waits for running calls to the replaced function, unless that function calls this.
  void set(lapwing_log_fn function, void* user, bool queues) {
    std::unique_lock lock(mutex_);
    drop_stale();
    if (delivers_ && deliverer_ != std::this_thread::get_id()) {
      const std::uint64_t due = calls_ + 1 + lines_.size();
      call_ended_.wait(lock, [&] { return !delivers_ || calls_ >= due; });
    }
    const bool was_queue = function_ == nullptr;
    function_ = function;
    user_ = user;
    queues_ = queues && function == nullptr;
    // Waiting lines go to the new function, or stay in the queue.
    if (was_queue ? !queues_ : function == nullptr && !queues_) lines_.clear();
  }

  void add(const std::string& line) {
    std::unique_lock lock(mutex_);
    drop_stale();
    if (function_ == nullptr && !queues_) return;
    if (lines_.size() == kQueueLinesMax) {
      lines_.pop_front();
      ++dropped_;
    }
    lines_.push_back(line);
    if (function_ != nullptr && !delivers_) deliver(lock);
  }

  lapwing_result read(char* line, size_t bytes, uint64_t* dropped) {
    const std::lock_guard lock(mutex_);
    drop_stale();
    if (dropped != nullptr) *dropped = std::exchange(dropped_, 0);
    if (!queues_ || lines_.empty()) return LAPWING_ERROR_WOULD_BLOCK;
    put_text(line, bytes, lines_.front());
    lines_.pop_front();
    return LAPWING_OK;
  }

  // Called before and after a fork, by the forking thread.
  void lock() { mutex_.lock(); }
  void unlock() { mutex_.unlock(); }
  // Called in the child. The parent delivers the waiting lines. This thread is the only one in the
  // child. If it is inside the function, it continues to deliver. Allocates and frees nothing.
  void unlock_in_child() {
    if (function_ != nullptr) stale_ = lines_.size();
    delivers_ = delivers_ && deliverer_ == std::this_thread::get_id();
    std::construct_at(&call_ended_);  // the child has no waiting threads
    mutex_.unlock();
  }

 private:
  void deliver(std::unique_lock<std::mutex>& lock) {
    delivers_ = true;
    deliverer_ = std::this_thread::get_id();
    while (function_ != nullptr && !lines_.empty()) {
      std::string line = std::move(lines_.front());
      lines_.pop_front();
      if (dropped_ != 0) {
        lines_.push_front(std::move(line));
        line = absl::StrCat(dropped_,
                            " lines of the log were dropped: they were written faster than the ",
                            "function that takes them returned");
        dropped_ = 0;
      }
      const lapwing_log_fn function = function_;
      void* const user = user_;
      lock.unlock();
      function(user, line.c_str());
      lock.lock();
      drop_stale();
      ++calls_;
      call_ended_.notify_all();
    }
    delivers_ = false;
    call_ended_.notify_all();
  }

  // For a forked child.
  void drop_stale() {
    for (; stale_ > 0; --stale_) lines_.pop_front();
  }

  std::mutex mutex_;
  std::condition_variable call_ended_;
  lapwing_log_fn function_ = nullptr;
  void* user_ = nullptr;
  bool queues_ = false;
  std::deque<std::string> lines_;  // for read(), or for the function
  std::uint64_t dropped_ = 0;
  bool delivers_ = false;  // a thread is inside deliver()
  std::thread::id deliverer_;
  std::uint64_t calls_ = 0;  // finished calls to the function
  std::size_t stale_ = 0;    // lines at the front that a forked child must not deliver
};

// Never destroyed, because publishers that close while the process exits still log. A child that is
// forked while a line is added finds the mutex free.
Log& the_log() {
  static Log* const log = [] {
    Log* const made = new Log;
    pthread_atfork([] { the_log().lock(); }, [] { the_log().unlock(); },
                   [] { the_log().unlock_in_child(); });
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

void lapwing_log_set(lapwing_log_fn log, void* user) {
  (void)lapwing::c::run(nullptr, [&] {
    lapwing::c::the_log().set(log, user, /*queues=*/false);
    return LAPWING_OK;
  });
}

void lapwing_log_queue(void) {
  (void)lapwing::c::run(nullptr, [&] {
    lapwing::c::the_log().set(nullptr, nullptr, /*queues=*/true);
    return LAPWING_OK;
  });
}

lapwing_result lapwing_log_read(char* line, size_t bytes, uint64_t* dropped) {
  if (line == nullptr || bytes == 0) return LAPWING_ERROR_TOO_SMALL;
  return lapwing::c::run(nullptr, [&] { return lapwing::c::the_log().read(line, bytes, dropped); });
}

}  // extern "C"
