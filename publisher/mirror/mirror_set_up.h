// The options of a mirror, and test seams.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "absl/status/statusor.h"
#include "os/file_lock.h"
#include "os/io.h"
#include "publisher/mirror/mirror.h"

namespace lapwing {

struct MirrorSetUp : MirrorOptions {
  // As in PublisherSetUp.
  std::uint64_t take_over_ns = kLockRetryNs;
  std::function<std::unique_ptr<Disk>()> make_disk = {};
  std::function<std::unique_ptr<WriteQueue>()> make_queue = {};
  std::function<void(const char* step)> on_step = [](const char*) {};
};

absl::StatusOr<std::unique_ptr<MirrorWriter>> open_mirror_with_seams(MirrorSetUp set_up);

}  // namespace lapwing
