// The publisher: one process's write end of a bus.
//
//   auto publisher = lapwing::Publisher::open({.directory = "/run/es", .record_bytes = 56});
//   (*publisher)->publish(record);
//
// Threads: the caller's publishing thread (only ever one; debug builds check), a service thread
// (control socket, doorbell, heartbeat) and a file thread (journal). publish() makes no system call
// and takes no lock but in three named cases: the first record after an idle period writes an
// eventfd; a journal that is a whole ring behind makes it wait; the first record beyond a
// reservation that has not come waits too.
//
// Errors are values. publish() returns kNoSequence once publishing has ended, with kJournalFailed
// under OnJournalFailure::kStop, or after close(); status() says why. It also does for a record of
// another size, where it publishes nothing and changes nothing: status() stays ok, and last_error()
// says what was wrong.
// Nothing is lost silently: what a failed journal no longer holds is said on page 1, in the log and
// in every Welcome.
//
// Signals are the program's: the library changes no disposition. A program with a limit on the size
// of its files (RLIMIT_FSIZE) ignores SIGXFSZ, so that a file at that limit is a failed write of
// the journal (EFBIG) and not the end of the process.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "lapwing/sequence.h"
#include "os/io.h"
#include "os/lock_retry.h"
#include "proto/control_frames.h"
#include "proto/journal_format.h"
#include "proto/ring_layout.h"
#include "proto/shared_words.h"
#include "snapshot/archive/archiver.h"
#include "snapshot/recovery/recovery.h"

namespace lapwing {

enum class OnJournalLag : std::uint32_t { kWait = 1, kShed = 2 };
enum class OnJournalFailure : std::uint32_t { kContinue = 1, kStop = 2 };

struct PublisherOptions {
  std::string directory;  // of the bus; made if it is missing
  std::string name;       // of the bus; empty: the directory's last component
  std::string schema = "bytes";
  std::uint32_t record_bytes = kRecordBytesDefault;
  std::uint64_t capacity = 0;  // slots, a power of two; 0: see RingSpec
  std::string ring_directory;  // empty: the bus directory on tmpfs, else a private one in /dev/shm
  bool huge_pages = false;
  bool journal = true;
  std::string journal_directory;                           // empty: <directory>/journal
  std::uint64_t segment_bytes = kSegmentSlotBytesDefault;  // of slots, a power of two
  std::uint64_t sync_interval_ns = 10'000'000;
  Retention retention;
  OnJournalLag on_journal_lag = OnJournalLag::kWait;
  OnJournalFailure on_journal_failure = OnJournalFailure::kContinue;
  std::uint64_t take_over_ns = kLockRetryNs;  // how long a start waits for another one to end
  std::optional<unsigned> group;              // gid whose members may read
  std::string metadata;                       // raw DBN metadata of the feed, may be empty
  std::uint64_t source_id = 0;                // see SessionEntry
  std::uint64_t source_offset = 0;            // ignored with `resume`
  bool resume = false;  // source_offset becomes what the journal holds of source_id
  std::function<void(const std::string& line)> log;  // called from any of the threads
  // Seams for tests: the disk under the journal, and a call before each named step of a start or an
  // end.
  std::function<std::unique_ptr<Disk>()> make_disk;
  std::function<std::unique_ptr<WriteQueue>()> make_queue;
  std::function<void(const char* step)> on_step;
};

struct PublisherCounters {
  std::uint64_t journal_stalls = 0;  // times publish waited for the journal
  std::uint64_t journal_stall_ns_max = 0;
  std::uint64_t journal_stall_ns_total = 0;
  std::uint64_t idle_wakes = 0;  // eventfd writes: one per sleeper and idle period
  std::uint64_t doorbells = 0;   // wakes of parked subscribers
};

class Publisher {
 public:
  // Takes the lock, settles the last session, makes the ring, begins the session, opens the socket.
  // Errors: kBusTaken, kDamaged, kNoSpace, kNotPermitted, kInvalidArgument, kPathTooLong, kSystem,
  // …
  static absl::StatusOr<std::unique_ptr<Publisher>> open(PublisherOptions options);
  ~Publisher();  // closes cleanly if close() was not called

  // Publishes one record of record_bytes() bytes; returns its sequence, or kNoSequence once
  // publishing has ended, or where `record` has another size.
  Sequence publish(std::span<const std::byte> record);
  // Publishes records.size() / record_bytes() records laid end to end, in order; readers may take
  // each at once, head moves at the end or before a wait. Returns the sequence of the last, or
  // kNoSequence if publishing ended on the way: head() then says how far it came. Where the size is
  // no multiple of a record's, none is published.
  Sequence publish_batch(std::span<const std::byte> records);
  // Why publishing has ended; ok while it has not.
  const absl::Status& status() const;
  // Why the last call that was refused for a mistake of the caller's was: kRecordSize. Publishing
  // goes on. ok while there was none; a later success leaves it. By the publishing thread.
  const absl::Status& last_error() const;

  // Waits until everything published is durable. Errors: kJournalFailed, kNoJournal, kTimedOut,
  // kClosed.
  absl::Status flush(std::uint64_t deadline_ns);

  // Ends the session: everything durable, `end` written, subscribers told, names removed.
  // Idempotent.
  absl::Status close();

  std::uint32_t record_bytes() const;
  Sequence first() const;  // of this session
  Sequence head() const;   // last published
  Sequence durable() const;
  const Id128& session_id() const;
  const Id128& journal_id() const;
  const Settled& settled() const;
  std::uint64_t source_offset() const;  // records of the source that earlier sessions published
  std::size_t subscriber_count() const;
  JournalCondition journal() const;
  PublisherCounters counters() const;  // by the publishing thread
  std::vector<SubscriberInfoFrame> subscribers() const;

 private:
  struct State;
  explicit Publisher(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace lapwing
