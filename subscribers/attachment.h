// One session of a bus, as a subscriber holds it: the socket to its publisher, its ring and its
// journal. It can also be a discarded journal, which has no publisher and no ring.
//
// Any of the three may be missing. A bus may have no journal. The files of a dead publisher are
// read without a socket, and without a ring if its file no longer exists. If the publisher has no
// free client slot, its session is read without a socket.
//
// Thread safety: one thread. Owns the socket, the files and a share of the mapping; the destructor
// closes everything. It is movable but not assignable, because memberwise assignment would destroy
// the disk before the journal that borrows it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "bus/control/client.h"
#include "bus/heartbeat_watch.h"
#include "bus/ring_map.h"
#include "bus/ring_reader.h"
#include "lapwing/sequence.h"
#include "os/posix_io.h"
#include "snapshot/bus_directory.h"
#include "snapshot/journal/journal_reader.h"
#include "snapshot/journal/listed_journals.h"
#include "snapshot/schema/record_identity.h"
#include "subscribers/session_trail.h"

namespace lapwing {

class Attachment {
 public:
  // Attaches to the session of a publisher that has sent Welcome. Errors: those of RingMap::attach
  // (kNotFound: the ring file is no longer linked) and of JournalReader::open.
  static absl::StatusOr<Attachment> to_publisher(ControlClient control,
                                                 const std::string& bus_directory);
  // Attaches to the session that bus.json describes, whose publisher is alive but has no free
  // client slot. `why`: the publisher's answer. Errors: kNotFound: the ring file is no longer
  // linked, or belongs to another session; those of RingMap::attach and of JournalReader::open.
  static absl::StatusOr<Attachment> without_place(const std::string& bus_directory,
                                                  const BusDescription& bus, std::string why);
  // Attaches to the files of a publisher that does not answer. Errors: kNoBus: there is neither a
  // ring nor a journal.
  static absl::StatusOr<Attachment> to_remains(const std::string& bus_directory,
                                               const BusDescription& bus);
  // Attaches to the files of a journal that `sessions` lists before the journal of `newest`, up to
  // the end of its last session. Errors: those of JournalReader::open and of settled_bounds().
  static absl::StatusOr<Attachment> to_discarded(const Attachment& newest,
                                                 const ListedJournal& journal);

  Attachment(Attachment&&) = default;
  Attachment& operator=(Attachment&&) = delete;

  const Id128& session_id() const { return session_id_; }
  Sequence session_first() const { return session_first_; }
  const Id128& journal_id() const { return journal_id_; }
  // The publisher has started a new journal, which `sessions` lists after this one.
  bool is_discarded() const { return is_discarded_; }
  // `sessions` lists a journal before this one.
  bool follows_journal() const { return follows_journal_; }
  // The journals that `sessions` lists, oldest first, up to this one; empty without a journal.
  std::vector<ListedJournal> journals() const;
  // True if this journal's files still hold records. Errors: those of the disk.
  absl::StatusOr<bool> holds_records(const ListedJournal& journal) const;
  const RecordIdentity& records() const { return records_; }
  const std::string& schema() const { return records_.schema; }
  std::uint32_t record_bytes() const { return records_.record_bytes; }

  // True if the session had a publisher when it was attached, and hang_up() was not called since.
  bool has_publisher() const { return has_publisher_; }
  ControlClient* control() { return control_ ? &*control_ : nullptr; }
  const ControlClient* control() const { return control_ ? &*control_ : nullptr; }
  // Takes over the connection for a client slot that the publisher has assigned after all.
  void take_place(ControlClient control);
  // Why there is a publisher but no socket; empty if there is a socket or no publisher. The reason
  // is returned only once; later calls return an empty string.
  std::string take_why_no_place() { return std::exchange(why_no_place_, {}); }
  // Null if the ring file no longer exists. A parked wait and the wake descriptor's helper thread
  // keep a share of the map.
  const RingReader* ring() const { return ring_ ? &*ring_ : nullptr; }
  const std::shared_ptr<const RingMap>& map() const { return map_; }
  JournalReader* journal() const { return journal_.get(); }

  // Call it when the publisher is gone or no longer needed. Closes the socket and reads from the
  // session log how the session ended.
  void hang_up();

  // How far the journal can be trusted now, according to page 1 of the ring, or to the files alone.
  JournalBounds bounds() const;
  // True while the journal's `archived` can still advance.
  bool archiving() const;
  // The newest published sequence: head, or the last record that a dead publisher left.
  Sequence newest() const;
  // The newest record whose slot in the ring is ready. In the middle of a batch, or after a kill,
  // it is above head. Requires a ring.
  Sequence newest_ready() const;
  // True if the ring, or the session log as last read, records that the session was closed cleanly.
  bool closed() const;
  bool ring_closed() const;
  // Age of the publisher's last heartbeat (bus/heartbeat_watch.h); 0 without a publisher.
  std::uint64_t heartbeat_age_ns(std::uint64_t now_ns);

  // This journal's sessions, at least the attached one.
  std::vector<SessionLeg> sessions() const;

 private:
  Attachment() = default;
  static absl::StatusOr<Attachment> described(const std::string& bus_directory,
                                              const BusDescription& bus, bool needs_ring);
  absl::StatusOr<Schema> find_description(std::uint64_t hash, const std::string& bus_text);
  std::uint64_t described_hash(const BusDescription& bus) const;
  absl::Status open_journal(const std::string& root);
  bool journal_has_all() const;
  absl::Status map_remaining_ring(const std::string& bus_directory, const BusDescription& bus);

  Id128 session_id_;
  Id128 journal_id_;
  Sequence session_first_ = 1;  // if there is no journal
  RecordIdentity records_;
  bool has_publisher_ = false;
  bool is_discarded_ = false;
  bool follows_journal_ = false;
  std::optional<ControlClient> control_;
  std::string why_no_place_;
  std::shared_ptr<const RingMap> map_;
  std::optional<HeartbeatWatch> heartbeat_;  // the publisher's; set by heartbeat_age_ns()
  std::optional<RingReader> ring_;
  std::unique_ptr<PosixDisk> disk_;  // declared before the journal, which borrows it
  std::unique_ptr<JournalReader> journal_;
  std::string journal_root_;
  JournalBounds settled_;  // used if there is no ring
};

}  // namespace lapwing
