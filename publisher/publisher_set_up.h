// What a publisher is opened with, besides its options: seams for tests.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <utility>

#include "absl/status/statusor.h"
#include "lapwing/publisher.h"
#include "os/file_lock.h"
#include "os/io.h"
#include "publisher/log_hook_mark.h"

namespace lapwing {

struct PublisherSetUp : PublisherOptions {
  std::uint64_t take_over_ns = kLockRetryNs;  // how long a start waits for another one to end
  // The disk and the queue under the journal, and a call before each named step of a start or an
  // end.
  std::function<std::unique_ptr<Disk>()> make_disk = {};
  std::function<std::unique_ptr<WriteQueue>()> make_queue = {};
  std::function<void(const char* step)> on_step = {};
  LogHookMark log_mark = {};  // of `log`
};

// What the library may do with a Publisher, and nobody else.
struct PublisherAccess {
  static absl::StatusOr<Publisher> open(PublisherSetUp set_up);
};

// Publisher::open with its seams.
inline absl::StatusOr<Publisher> open_with_seams(PublisherSetUp set_up) {
  return PublisherAccess::open(std::move(set_up));
}

}  // namespace lapwing
