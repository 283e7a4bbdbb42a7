// Detects whether the calling thread is inside a publisher's log hook. If a call from the hook
// waited for the publisher's threads, it would wait for itself.
//
// Thread safety: any thread.
#pragma once

#include <memory>
#include <utility>

#include "lapwing/log.h"

namespace lapwing {

class LogHookMark {
 public:
  // Returns a hook that calls `hook` and marks the thread until it returns.
  LogHook around(LogHook hook) const {
    return [hook = std::move(hook), id = id_](const LogEntry& entry) {
      const Running running(id.get());
      hook(entry);
    };
  }
  // True if the calling thread is inside a hook that this object's around() returned.
  bool is_running() const { return Running::innermost == id_.get(); }

 private:
  class Running {
   public:
    explicit Running(const void* id) : before_(std::exchange(innermost, id)) {}
    Running(const Running&) = delete;
    Running& operator=(const Running&) = delete;
    ~Running() { innermost = before_; }

    static inline thread_local const void* innermost = nullptr;

   private:
    const void* before_;
  };

  std::shared_ptr<const char> id_ = std::make_shared<const char>();
};

}  // namespace lapwing
