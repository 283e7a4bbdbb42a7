// Starts a session: the steps from a bus directory to a session that is ready to publish.
//
// Each step takes the result of the previous step and returns its own type, so a wrong order does
// not compile. The order is the one in docs/explanation/durability.md. If a publisher is killed
// between any two steps, the next start repeats the necessary steps. PublisherSetUp::on_step is
// called with each step's name.
//
// A mirror (publisher/mirror) takes the same steps, but for a session that its origin began, and
// whose row it has synced before. Its sessions follow one another under the same locks. So a
// session shares the locks, the disks and `sessions`.
//
// A mirror (publisher/mirror) takes the same steps, but for a session that its origin began, and
// whose row it has synced before. Its sessions follow one another under the same locks. So a
// session shares the locks, the disks and `sessions`.
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
#include "snapshot/archive/session_origin.h"
#include "snapshot/bus_directory.h"
#include "snapshot/journal/session_log.h"
#include "snapshot/recovery/recovery.h"
#include "snapshot/roster.h"

namespace lapwing {

// How the previous session ended.
struct PastSession {
  std::optional<SessionEnd> end;    // nullopt: there was none
  Sequence last = 0;                // its newest sequence; 0: no records, or no journal
  std::uint32_t publisher_pid = 0;  // 0: unknown
};

// The directories exist.
struct Prepared {
  explicit Prepared(PublisherSetUp given)
      : options(std::make_unique<PublisherSetUp>(std::move(given))), places(*options) {}
  std::unique_ptr<const PublisherSetUp> options;
  BusPlaces places;
  std::shared_ptr<Disk> bus_disk;  // of bus.json: follows the directory if it is moved
  std::shared_ptr<Disk> disk;
};

// No other publisher is running, and none can start.
struct Locked : Prepared {
  using Locks = std::vector<ExclusiveLock>;  // of the bus, then of the journal if there is one

  Locked(Prepared prepared, std::shared_ptr<Locks> taken, LeftRings left)
      : Prepared(std::move(prepared)), locks(std::move(taken)), left_rings(std::move(left)) {}
  // The same bus for another session, with other options.
  Locked(const Locked& bus, PublisherSetUp given);
  std::shared_ptr<Locks> locks;
  LeftRings left_rings;
  absl::StatusOr<BusDescription> last_described;  // bus.json from the last session
};

// The last session has ended, and it is decided how the new one continues.
struct SettledBus : Locked {
  explicit SettledBus(Locked locked) : Locked(std::move(locked)) {}
  SessionEntry begin{};                  // the new session's, also without a journal
  std::optional<Schema> schema;          // of the records
  std::shared_ptr<SessionLog> sessions;  // null without a journal
  // Of a mirror; else null. The row of the session is in `sessions` then, and `begin.first` is the
  // first sequence that the mirror lacks. The origin alone ends the session.
  SessionOrigin* origin = nullptr;
  Settled settled;
  PastSession past;
  Roster roster;                              // the new session's, without subscribers
  std::vector<SubscriberInfoFrame> expected;  // attached when the last session ended
};

// The ring is allocated, but no other process knows its path.
struct WithRing : SettledBus {
  WithRing(SettledBus bus, RingFile made)
      : SettledBus(std::move(bus)),
        ring(std::make_unique<RingFile>(std::move(made))),
        fill(*ring) {}
  std::unique_ptr<RingFile> ring;
  RingFill fill;  // with a journal, the file thread faults in most of it
};

// The journal is open, and `sessions` lists the session. Without a journal, the pointers are null.
struct Begun : WithRing {
  explicit Begun(WithRing made) : WithRing(std::move(made)) {}
  BusDescription description;
  std::unique_ptr<WriteQueue> queue;
  std::unique_ptr<Archiver> archiver;
};

// bus.json names the ring. The publisher takes over all of these parts.
struct StartedSession : Begun {
  explicit StartedSession(Begun begun) : Begun(std::move(begun)) {}
  std::string announcement;  // path of its file; empty: it could not be created
};

// The step that settles the last session (settle_step.cc). The others are in session_start.cc.
absl::StatusOr<SettledBus> settle_bus(Locked locked);
// The identity of a session's list of subscribers, without any.
absl::StatusOr<Roster> new_roster(const std::string& bus_directory, const Id128& session_id);

// The steps before settling, and those after it.
absl::StatusOr<Locked> lock_directories(PublisherSetUp options);
absl::StatusOr<StartedSession> start_settled(SettledBus bus);
// Runs every step up to, but not including, the control socket. The options must be settled
// (publisher_options.h). Errors: kInUse, kDamaged, kNoSpace, kNotPermitted, kInvalidArgument,
// kRecordSize, kSystem.
absl::StatusOr<StartedSession> start_session(PublisherSetUp options);

// Removes the ring's name, and the directory that a start created for this bus's rings if it is now
// empty. The bus is still locked, so no other start is about to use the directory.
absl::Status remove_ring(RingFile& ring);

}  // namespace lapwing
