// A publisher's options, and test seams.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "absl/status/statusor.h"
#include "lapwing/publisher.h"
#include "os/file_lock.h"
#include "os/io.h"
#include "publisher/log_hook_mark.h"

namespace lapwing {

struct PublisherSetUp : PublisherOptions {
  std::uint64_t take_over_ns = kLockRetryNs;  // how long a start waits for another publisher to end
  // The journal's disk and write queue, and a hook that runs before each
  // named step of a start or end.
  std::function<std::unique_ptr<Disk>()> make_disk = {};
  std::function<std::unique_ptr<WriteQueue>()> make_queue = {};
  std::function<void(const char* step)> on_step = [](const char*) {};
  // Called by the service thread when a subscriber requests durable records, in addition to the
  // flush of this journal. For a mirror, whose origin has to sync them first.
  std::function<void(Sequence through)> on_flush_wanted = [](Sequence) {};
  LogHookMark log_mark = {};  // the mark for `log`
};

// Publisher::open with test seams.
absl::StatusOr<Publisher> open_with_seams(PublisherSetUp set_up);

}  // namespace lapwing
