// From a bus directory to a session ready to publish: lock, settle the past, make the ring, begin.
//
// The order is that of docs/durability.md, and a publisher may be killed before or after each
// step: the next start repeats what is needed. PublisherSetUp::on_step is called with each step's
// name.
//
// Thread safety: one thread.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "bus/ring_file.h"
#include "bus/ring_fill.h"
#include "os/exclusive_lock.h"
#include "os/io.h"
#include "proto/control_frames.h"
#include "publisher/publisher_set_up.h"
#include "snapshot/archive/archiver.h"
#include "snapshot/bus_directory.h"
#include "snapshot/journal/session_log.h"
#include "snapshot/recovery/recovery.h"
#include "snapshot/roster.h"

namespace lapwing {

// How the session before this one ended.
struct PastSession {
  std::optional<SessionEnd> end;    // nullopt: there was none
  Sequence last = 0;                // its newest sequence; 0: it has none, or there is no journal
  std::uint32_t publisher_pid = 0;  // 0: not known
};

// What a started session owns; the publisher takes it over whole. Without a journal the pointers
// that speak of one are null.
struct StartedSession {
  std::vector<ExclusiveLock> locks;  // of the bus, and of the journal where it lies elsewhere
  std::unique_ptr<Disk> bus_disk;    // of bus.json: keeps to the directory, wherever it is moved
  std::unique_ptr<Disk> disk;
  std::unique_ptr<SessionLog> sessions;
  std::unique_ptr<WriteQueue> queue;
  std::unique_ptr<RingFile> ring;
  std::optional<RingFill> fill;
  std::unique_ptr<Archiver> archiver;
  Settled settled;
  PastSession past;
  std::vector<SubscriberInfoFrame> expected;  // attached when the last session ended
  Roster roster;                              // of this session, nobody attached
  BusDescription description;
  std::string announcement;  // the file; empty: it could not be made
  std::uint64_t source_offset = 0;

  Sequence first() const { return ring->header().session_first_sequence; }
};

// Every step up to, and not including, the control socket.
// Errors: kInUse, kDamaged, kNoSpace, kNotPermitted, kInvalidArgument, kRecordSize, kSystem.
absl::StatusOr<StartedSession> start_session(const PublisherSetUp& options);

// Removes the ring's name and, once it is empty, the directory that a start made for the rings of
// this bus. The bus is still locked, so no other start is about to use that.
absl::Status remove_ring(RingFile& ring);

}  // namespace lapwing
