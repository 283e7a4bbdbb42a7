#include "publisher/roster_writer.h"

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <utility>

#include "lapwing/error.h"
#include "os/posix_io.h"
#include "os/start_thread.h"

namespace lapwing {

struct RosterWriter::Shared {
  Shared(const std::string& where, std::optional<unsigned> group) : directory(where), disk(group) {
    disk.anchor(directory);
  }

  // Runs on the writer's thread.
  void run() {
    std::unique_lock lock(mutex);
    for (;;) {
      changed.wait(lock, [&] { return next || ends; });
      if (!next) break;
      const Roster roster = *std::exchange(next, std::nullopt);
      is_writing = true;
      lock.unlock();
      const absl::Status written = write(roster);
      lock.lock();
      is_writing = false;
      last = written;
      changed.notify_all();
    }
    has_ended = true;
    changed.notify_all();
  }
  // If an empty list cannot be written, removes the file: this means the same and needs no space.
  absl::Status write(const Roster& roster) {
    const absl::Status written = write_roster(disk, directory, roster);
    if (written.ok() || !roster.subscribers.empty()) return written;
    return remove_roster(disk, directory);
  }
  template <typename Done>
  bool wait_for(std::unique_lock<std::mutex>& lock, Done done) {
    return changed.wait_for(lock, std::chrono::nanoseconds(kRosterEndNs), done);
  }

  const std::string directory;
  PosixDisk disk;
  std::mutex mutex;
  std::condition_variable changed;
  std::optional<Roster> next;  // protected by the mutex, like the following members
  bool is_writing = false;
  bool ends = false;
  bool has_ended = false;
  absl::Status last;
};

RosterWriter::RosterWriter(const std::string& directory, std::optional<unsigned> group,
                           const ThreadPlacement& placement)
    : placement_(placement), shared_(std::make_shared<Shared>(directory, group)) {}

RosterWriter::~RosterWriter() {
  if (!thread_.joinable()) return;
  bool has_ended = false;
  {
    std::unique_lock lock(shared_->mutex);
    shared_->ends = true;
    shared_->changed.notify_all();
    has_ended = shared_->wait_for(lock, [&] { return shared_->has_ended; });
  }
  if (has_ended) {
    thread_.join();
  } else {
    thread_.detach();
  }
}

absl::Status RosterWriter::write(Roster roster) {
  if (!thread_.joinable()) {
    const absl::Status started =
        start_thread(thread_, "lapwing-roster", [shared = shared_] { shared->run(); },
                     {.placement = placement_});
    if (!started.ok()) return started;
  }
  const std::lock_guard lock(shared_->mutex);
  shared_->next = std::move(roster);
  shared_->changed.notify_all();
  return absl::OkStatus();
}

absl::Status RosterWriter::last() const {
  const std::lock_guard lock(shared_->mutex);
  return shared_->last;
}

absl::Status RosterWriter::finish() {
  std::unique_lock lock(shared_->mutex);
  const bool done = !thread_.joinable() ||
                    shared_->wait_for(lock, [&] { return !shared_->next && !shared_->is_writing; });
  return done ? shared_->last
              : make_error(Errc::kTimedOut, "the file system has not answered for 1 s");
}

}  // namespace lapwing
