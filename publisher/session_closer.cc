#include "publisher/session_closer.h"

#include "absl/strings/str_cat.h"
#include "os/file_lock.h"
#include "publisher/announcement.h"

namespace lapwing {

void SessionCloser::run() {
  const auto& step = session_.options->on_step;
  step("close-journal");
  result_ = control_.close_journal();
  step("close-ring");
  store_ring_state(session_.ring->words(), RingState::kClosed);
  step("close-socket");
  control_.close_socket();
  step("unlink-ring");
  result_.Update(remove_names());
  control_.release_journal();
  session_.queue.reset();  // it also holds the locks (make_write_queue)
  // Unlock explicitly. Closing is not enough: the kernel may still be destroying the queue, and a
  // child that was just forked may still have copies of the descriptors.
  if (session_.sessions != nullptr) {
    for (const FileHandle file : session_.sessions->held_files()) unlock_whole_file(file);
  }
  session_.sessions.reset();
  session_.ring->let_go();
  for (const ExclusiveLock& lock : *session_.locks) lock.give_up();
  session_.locks->clear();
  const bool is_left = phase_.exchange(Phase::kClosed) == Phase::kLeft;
  gate_.nudge();
  if (!is_left || result_.ok()) return;
  control_.log(log_entry(LogEvent::kCloseFailed, std::string(result_.message())));
}

// If a journal has failed and its end could not be recorded, the ring is kept. Only page 1 of the
// ring shows how the session ended, and the next start reads it.
absl::Status SessionCloser::remove_names() {
  const std::string& ring = session_.ring->path();
  if (!control_.end_recorded()) {
    control_.log(log_entry(
        LogEvent::kRingStays,
        absl::StrCat("the ring file ", ring,
                     " is kept: only it records how this session ended. The next start reads it"),
        {{"path", ring}}));
    return absl::OkStatus();
  }
  session_.description.closed = true;
  absl::Status result =
      write_bus_description(*session_.bus_disk, session_.options->directory, session_.description);
  result.Update(remove_ring(*session_.ring));
  const absl::Status withdrawn = withdraw_from_machine(session_.announcement);
  if (!withdrawn.ok()) {
    control_.log(log_entry(LogEvent::kNotAnnounced, std::string(withdrawn.message())));
  }
  return result;
}

}  // namespace lapwing
