// A part of a session in one ring: the ring, its readers, the archiver and their threads.
//
// A session has several rings if the mirror was restarted, or if the origin lacks sequences in it.
// A ring has no holes, because a reader that waits for the next record polls its stamp: it would
// wait forever for a sequence that is never written. So an absence ends the readers' connections,
// and they find the next ring, which begins behind it. Absences are rare.
//
// Thread safety: one thread. Borrows the OriginState.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "absl/status/status.h"
#include "lapwing/detail/publish_path.h"
#include "lapwing/waiting.h"
#include "publisher/gate_wait.h"
#include "publisher/mirror/origin_state.h"
#include "publisher/publisher_control.h"
#include "publisher/session_start.h"

namespace lapwing {

class MirrorRun {
 public:
  MirrorRun(StartedSession started, OriginState& origin);
  ~MirrorRun();
  MirrorRun(const MirrorRun&) = delete;
  MirrorRun& operator=(const MirrorRun&) = delete;

  absl::Status start() { return control_.start(); }

  Sequence first() const { return session_.begin.first; }
  Sequence head() const { return path_.head; }
  Sequence durable() const;
  const StartedSession& session() const { return session_; }
  // Copies record n, if the ring still has it.
  bool load(Sequence n, std::byte* record) const;

  // Adds records at head + 1, end to end. Waits for the journal. Errors: those of GateWait.
  absl::Status put(std::span<const std::byte> records, Deadline deadline);
  absl::Status flush(Sequence through, Deadline deadline) {
    return waits_.flush(through, deadline);
  }
  void raise_origin_durable(Sequence durable);

  // The parts of an end, in this order. Each may be called again, and the destructor calls those
  // that were not.
  // Ends archiving. The records that may be durable are durable then.
  absl::Status end_journal();
  // The origin's journal has failed: readers learn that, and put() no longer waits for the journal.
  void continue_without_journal(int sys_errno);
  // Disconnects the readers, as if the publisher had died.
  void leave_readers();
  // Removes the ring. `was_closed`: the origin closed the session.
  absl::Status end_ring(bool was_closed);

 private:
  void store_run(const std::byte* record, std::uint64_t count);
  void attend();
  absl::Status remove_names(bool was_closed);

  StartedSession session_;
  OriginState& origin_;
  JournalGate gate_;
  detail::PublishPath path_;
  PublisherControl control_;
  GateWait waits_;
  // A batch moves head at least once per this many records (stamp_is_corrupt).
  const std::uint64_t head_stride_;
  bool has_readers_ = true;
  bool has_ring_ = true;
};

}  // namespace lapwing
