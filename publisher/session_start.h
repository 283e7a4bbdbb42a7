// From a bus directory to a session that is ready to publish.
//
// Each step takes the result of the step before and returns a type of its own, so a wrong order does
// not compile. The order is that of docs/explanation/durability.md. A publisher may be killed before or after
// each step: the next start repeats what is needed. PublisherSetUp::on_step is called with each
// step's name.
//
// Thread safety: one thread.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "bus/ring_file.h"
#include "bus/ring_fill.h"
#include "os/exclusive_lock.h"
#include "os/io.h"
#include "proto/control_frames.h"
#include "proto/journal_format.h"
#include "publisher/bus_places.h"
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

// The directories are there.
struct Prepared {
  explicit Prepared(PublisherSetUp given)
      : options(std::make_unique<PublisherSetUp>(std::move(given))), places(*options) {}
  std::unique_ptr<const PublisherSetUp> options;
  BusPlaces places;
  std::unique_ptr<Disk> bus_disk;  // of bus.json: keeps to the directory, wherever it is moved
  std::unique_ptr<Disk> disk;
};

// No other publisher is there, and none can start.
struct Locked : Prepared {
  Locked(Prepared prepared, std::vector<ExclusiveLock> taken, LeftRings left)
      : Prepared(std::move(prepared)), locks(std::move(taken)), left_rings(std::move(left)) {}
  std::vector<ExclusiveLock> locks;  // of the bus, then of the journal if there is one
  LeftRings left_rings;
  absl::StatusOr<BusDescription> last_described;  // bus.json of the last session
};

// The last session has ended, and it is decided what the new one continues.
struct SettledBus : Locked {
  explicit SettledBus(Locked locked) : Locked(std::move(locked)) {}
  SessionEntry begin{};                  // of the new session; also without a journal
  std::optional<Schema> schema;          // of the records
  std::unique_ptr<SessionLog> sessions;  // null without a journal
  Settled settled;
  PastSession past;
  Roster roster;                              // of the new session, without subscribers
  std::vector<SubscriberInfoFrame> expected;  // attached when the last session ended
};

// The ring is allocated, and no other process has its path.
struct WithRing : SettledBus {
  WithRing(SettledBus bus, RingFile made)
      : SettledBus(std::move(bus)),
        ring(std::make_unique<RingFile>(std::move(made))),
        fill(*ring) {}
  std::unique_ptr<RingFile> ring;
  RingFill fill;  // with a journal, the file thread does most of it
};

// The journal is open, and `sessions` lists the session. Without a journal the pointers are null.
struct Begun : WithRing {
  explicit Begun(WithRing made) : WithRing(std::move(made)) {}
  BusDescription description;
  std::unique_ptr<WriteQueue> queue;
  std::unique_ptr<Archiver> archiver;
};

// bus.json names the ring. The publisher takes all of it over.
struct StartedSession : Begun {
  explicit StartedSession(Begun begun) : Begun(std::move(begun)) {}
  std::string announcement;  // the file; empty: it could not be made
};

// The step that settles the last session (settle_step.cc). The others are in session_start.cc.
absl::StatusOr<SettledBus> settle_bus(Locked locked);

// Every step up to, and not including, the control socket. The options are settled
// (publisher_options.h).
// Errors: kInUse, kDamaged, kNoSpace, kNotPermitted, kInvalidArgument, kRecordSize, kSystem.
absl::StatusOr<StartedSession> start_session(PublisherSetUp options);

// Removes the ring's name and, once it is empty, the directory that a start made for the rings of
// this bus. The bus is still locked, so no other start is about to use that.
absl::Status remove_ring(RingFile& ring);

}  // namespace lapwing
