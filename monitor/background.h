// A value that a background thread renews repeatedly, for a reader that must not wait for it.
//
// The thread may hang in a file system that does not answer. The newest value then becomes stale,
// and the destructor detaches the thread kBackgroundEndNs after its stop was requested.
//
// Thread safety: one thread. `Make::operator()` runs only on the value's thread.
#pragma once

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "os/kernel.h"
#include "os/start_thread.h"
#include "os/stop_event.h"

namespace lapwing {

inline constexpr std::uint64_t kBackgroundEndNs = 2'000'000'000;

template <typename Value>
class Background {
 public:
  struct Made {
    Value value;
    std::uint64_t made_ns;  // CLOCK_MONOTONIC
  };

  // `make(stop)` returns the next value, or nullopt if there is no new one yet. Between values, it
  // sleeps by waiting on `stop`. Errors: kLimit, kSystem.
  template <typename Make>
  static absl::StatusOr<Background> start(const char* thread_name, Make make) {
    absl::StatusOr<StopEvent> stop = StopEvent::make();
    if (!stop.ok()) return stop.status();
    auto shared = std::make_shared<Shared>(*std::move(stop));
    std::thread thread;
    const absl::Status started =
        start_thread(thread, thread_name, [shared, make = std::move(make)]() mutable {
          while (!shared->stop.is_set()) {
            std::optional<Value> value = make(shared->stop);
            if (value) shared->publish(*std::move(value));
          }
          shared->end();
        });
    if (!started.ok()) return started;
    return Background(std::move(shared), std::move(thread));
  }
  Background(Background&&) noexcept = default;
  Background& operator=(Background&&) = delete;
  ~Background() {
    if (!thread_.joinable()) return;
    request_stop();
    if (shared_->wait_for_end(stop_ns_ + kBackgroundEndNs)) {
      thread_.join();
    } else {
      thread_.detach();
    }
  }

  // Requests the stop that the destructor waits for, so that several threads
  // can shut down in parallel.
  void request_stop() {
    if (stop_ns_ != 0) return;
    stop_ns_ = monotonic_ns();
    shared_->stop.set();
  }

  // The newest value; null before the first one.
  std::shared_ptr<const Made> newest() const {
    const std::lock_guard lock(shared_->mutex);
    return shared_->newest;
  }
  // Waits for the first value, at most `ns`.
  void wait_for_first(std::uint64_t ns) const {
    std::unique_lock lock(shared_->mutex);
    shared_->changed.wait_for(lock, std::chrono::nanoseconds(ns),
                              [&] { return shared_->newest != nullptr; });
  }

 private:
  struct Shared {
    explicit Shared(StopEvent event) : stop(std::move(event)) {}

    void publish(Value value) {
      auto made = std::make_shared<const Made>(Made{std::move(value), monotonic_ns()});
      const std::lock_guard lock(mutex);
      newest = std::move(made);
      changed.notify_all();
    }
    void end() {
      const std::lock_guard lock(mutex);
      has_ended = true;
      changed.notify_all();
    }
    bool wait_for_end(std::uint64_t deadline_ns) {
      std::unique_lock lock(mutex);
      const std::uint64_t left_ns = deadline_ns - std::min(deadline_ns, monotonic_ns());
      return changed.wait_for(lock, std::chrono::nanoseconds(left_ns), [&] { return has_ended; });
    }

    StopEvent stop;
    std::mutex mutex;
    std::condition_variable changed;
    std::shared_ptr<const Made> newest;  // the mutex protects this and has_ended
    bool has_ended = false;
  };

  Background(std::shared_ptr<Shared> shared, std::thread thread)
      : shared_(std::move(shared)), thread_(std::move(thread)) {}

  std::shared_ptr<Shared> shared_;
  std::thread thread_;
  std::uint64_t stop_ns_ = 0;  // when the stop was requested
};

}  // namespace lapwing
