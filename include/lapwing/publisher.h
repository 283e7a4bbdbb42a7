// The publisher: the write end of a bus, in one process.
//
//   auto publisher =
//       lapwing::Publisher::open({.directory = "./es", .record_bytes = sizeof(Quote)});
//   if (!publisher.ok()) return fail(publisher.status());
//   if (!publisher->publish(quote).ok()) return publisher->last_error();
//
// publish() makes no system call and takes no lock, except in three cases. The first record after
// an idle period writes an eventfd. A journal that is one full ring behind makes it wait. The first
// record beyond the sequences reserved on disk waits for the next reservation.
//
// Threads: one thread at a time, any thread. A call made while another one waits returns kMisuse.
// head(), durable(), journal(), subscribers(), subscriber_count() and interrupt() may be called at
// any time. A publisher has two threads of its own: the service thread (control socket, doorbell,
// heartbeat) and the file thread (journal). A third one runs while the publisher opens and closes.
// io_uring adds kernel threads. PublisherOptions::threads places all of them
// (docs/how-to/tune-a-machine.md).
//
// Fork: in a forked child every call on the parent's publisher returns kForked. There, head() is as
// it was at the fork, values that come only from the ring or the threads are 0, and the destructor
// does nothing. The session continues in the parent. The child holds none of its resources: when
// the parent ends, another publisher can begin at once, even if the child is still running. The
// child may open a publisher of its own.
//
// Errors are values: last_error() has the message of an error that publish() returns. Publishing
// ends permanently with close(), or if the journal fails under OnJournalFailure::kStop. status()
// has the reason. No loss is silent. Records that a failed journal does not contain are reported in
// the ring's header, in the log, and to every subscriber that joins.
//
// Signals: the library changes no signal disposition. If the size of the files that the process
// writes is limited (RLIMIT_FSIZE), ignore SIGXFSZ. Reaching that limit then makes a journal write
// fail (EFBIG) instead of ending the process.
#pragma once

#include <bit>
#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <ranges>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "lapwing/detail/plain_struct.h"
#include "lapwing/detail/publish_path.h"
#include "lapwing/detail/record_tag.h"
#include "lapwing/error.h"
#include "lapwing/journal_state.h"
#include "lapwing/log.h"
#include "lapwing/result.h"
#include "lapwing/schema.h"
#include "lapwing/sequence.h"
#include "lapwing/thread_placement.h"
#include "lapwing/waiting.h"

namespace lapwing {

// The behaviour of publish() while the journal is one full ring behind.
enum class OnJournalLag : std::uint32_t {
  kWait = 1,  // waits for the disk
  kShed = 2,  // stops journaling for the rest of the session, and continues live
};
// The behaviour of publish() once the journal has failed.
enum class OnJournalFailure : std::uint32_t {
  kContinue = 1,  // continues live
  kStop = 2,      // ends
};

// The records of a source in the journal. Passed to PublisherOptions::on_resume.
struct ResumePoint {
  bool is_listed = false;    // the journal has a session from this source
  bool by_content = false;   // that session was found by the source's fingerprint, not by its id
  bool has_records = false;  // the journal has records, from this source or others
  // The source_offset of the source's newest session, and the number of records that it published.
  std::uint64_t offset = 0;
  std::uint64_t records = 0;
  // The bus sequence of the source's newest record, or kNoSequence if there is none; and that
  // record, which is empty if there is none or retention removed it. Valid during the call.
  Sequence last = kNoSequence;
  std::span<const std::byte> last_record = {};
};

struct PublisherOptions {
  std::string directory = {};  // of the bus; created if missing
  std::string name = {};       // of the bus; empty: the directory's last component
  // The description of a record, for subscribers and tools: schema_of<Record>() (lapwing/schema.h).
  // It sets schema_name and record_bytes, so do not set them. Without it, schema_name selects a
  // shipped schema, and an existing journal keeps its schema. A journal accepts later versions of
  // its schema.
  std::optional<Schema> schema = {};
  std::string schema_name = "bytes";  // of a shipped schema, or of your own
  std::uint32_t record_bytes = 56;    // 8 to 4,088
  std::uint64_t capacity = 0;         // slots, a power of two; 0: as many as fit, up to 1,048,576
  std::string ring_directory = {};    // empty: the bus directory if on tmpfs, else one in /dev/shm
  bool huge_pages = false;            // back the ring with huge pages, or fail
  // False: readers lose lapped records, and the journal options are refused (those down to
  // on_journal_failure, and resume).
  bool journal = true;
  std::string journal_directory = {};              // empty: <directory>/journal
  std::uint64_t segment_bytes = 64 * 1024 * 1024;  // of slots, a power of two
  std::chrono::nanoseconds sync_interval = std::chrono::milliseconds(10);  // or kOnRequest
  // Retention removes whole segments, the oldest first. It counts all journals of the bus, and
  // removes segments of discarded journals before those of the journal in use.
  std::uint64_t retain_bytes = 0;                // of durable segments; 0: no limit
  std::chrono::nanoseconds retain_age = kNever;  // of a segment's newest record
  OnJournalLag on_journal_lag = OnJournalLag::kWait;
  OnJournalFailure on_journal_failure = OnJournalFailure::kContinue;
  std::optional<unsigned> group = {};  // gid whose members may read
  std::string metadata = {};           // raw DBN metadata of the feed
  // True: the program sets ts_recv of each record to its publish time, like `publish --restamp`.
  // Subscribers then measure ages from ts_recv if no field is marked kPublishTime.
  bool restamped = false;
  // The source of the records, for `resume`. The journal stores all three.
  // source_id: a number of your choice; 0: none. Used only if there is no fingerprint.
  // source_fingerprint: a hash of the source's content; 0: none.
  // source_offset: the number of the source's records before the first published one.
  std::uint64_t source_id = 0;
  std::uint64_t source_fingerprint = 0;
  std::uint64_t source_offset = 0;
  // Continue the source after its records in the journal. source_offset() then returns their
  // number; do not set source_offset. on_resume, if set, is called before the session begins. It
  // returns the source_offset() of the session, or an error that open() returns, for example
  // because the source's record at that position differs from `last_record`.
  bool resume = false;
  std::function<absl::StatusOr<std::uint64_t>(const ResumePoint&)> on_resume = {};
  ThreadPlacement threads = {};  // of the library's own threads
  // Called on the library's threads until the session has ended, which may be after the destructor.
  // It may fork and call the library. Calls on this publisher that would wait for the thread that
  // runs the hook return kMisuse.
  LogHook log = {};
};

struct PublisherCounters {
  std::uint64_t journal_stalls = 0;  // times publish waited for the journal
  std::uint64_t journal_stall_ns_max = 0;
  std::uint64_t journal_stall_ns_total = 0;
  std::uint64_t idle_wakes = 0;  // eventfd writes: one per sleeper and idle period
  std::uint64_t doorbells = 0;   // wake-ups of parked subscribers
};

// How this start settled the previous session.
struct LastSession {
  Settlement how = Settlement::kFresh;
  // The sequences that this start recorded as a void; 0, 0 if there are none.
  Sequence void_first = kNoSequence;
  Sequence void_last = kNoSequence;
};

// A client of the bus, as known to the publisher. Numbers are 0 until the client has reported.
struct SubscriberInfo {
  std::string name;
  std::uint32_t pid = 0;
  std::uint32_t uid = 0;
  bool reads = false;     // a subscriber; otherwise a tool that sends requests
  bool may_park = false;  // it sleeps on the doorbell
  bool reported = false;
  Sequence position = kNoSequence;   // last record that it delivered
  Sequence head_seen = kNoSequence;  // newest record that it saw; kNoSequence: not reported
  std::uint64_t records = 0;
  std::uint64_t gaps = 0;
  std::uint64_t lost = 0;
  std::uint64_t filled = 0;
  std::uint64_t connected_wall_ns = 0;  // UTC
  std::uint64_t reported_wall_ns = 0;
};

// A type that publish() takes by reference: a plain struct, whose bytes include its padding. A view
// (a span, a string_view) is refused, because its bytes are an address. Pass its std::as_bytes()
// instead.
template <typename Record>
concept PlainRecord = detail::PlainStruct<std::remove_const_t<Record>>;

class Publisher {
 public:
  // Takes the bus's lock, settles the last session, creates the ring, begins a session and opens
  // the control socket. Waits until the deadline for another publisher to end. The deadline does
  // not limit the time to read the journal of the last session.
  // Errors: kInUse, kDamaged, kNoSpace, kNotPermitted, kInvalidArgument, kRecordSize, kPathTooLong,
  // kNotALapwingFile, kNotFound (a parent directory), kLimit (no thread; the last sequence),
  // kUnsupported, kSystem.
  [[nodiscard]] static absl::StatusOr<Publisher> open(PublisherOptions options,
                                                      Deadline deadline = std::chrono::seconds(10));

  Publisher(Publisher&&) noexcept;
  Publisher& operator=(Publisher&&) noexcept;
  // Closes the session, as close() describes, if close() was not called.
  ~Publisher();

  // Publishes one record of record_bytes() bytes and returns its sequence. Waits only for the
  // journal, at most until the deadline if there is one.
  // Errors: kRecordSize, kTimedOut, kWouldBlock (with Deadline::now()), kInterrupted, kMisuse.
  // After these, publishing can continue. All other errors are final, and are those of status().
  [[nodiscard]] Result<Sequence> publish(std::span<const std::byte> record) {
    return result_of(publish_bytes(record));
  }
  [[nodiscard]] Result<Sequence> publish(std::span<const std::byte> record, Deadline deadline) {
    return result_of(publish_bytes(record, deadline));
  }
  // Publishes a record whose size is known at compile time. This is the fastest way: it is inlined.
  // On a described bus, the first record of each type with a LAPWING_RECORD compares the type's
  // description with that of the bus. If they differ, publish() returns kRecordSize, and the
  // message names the field. For other structs, only the size is compared.
  template <PlainRecord Record>
  [[nodiscard, gnu::always_inline]] Result<Sequence> publish(const Record& record) {
    detail::PublishPath& path = *path_;
    if (!path.admits_next() || path.accepted_tag != detail::record_tag<Record>()) [[unlikely]] {
      return result_of(
          publish_copy<Record>(std::bit_cast<detail::RecordBytes<sizeof(Record)>>(record)));
    }
    const Sequence n = path.publish(record);
    return path.attention.is_raised() ? attend() : n;
  }
  template <PlainRecord Record>
  [[nodiscard]] Result<Sequence> publish(const Record& record, Deadline deadline) {
    if (!accepts<Record>()) return why_not_published();
    return publish(std::as_bytes(std::span(&record, 1)), deadline);
  }
  // Publishes records.size() / record_bytes() records stored end to end, in order: for structs,
  // pass std::as_bytes(std::span(quotes)). Readers may take each record at once; head advances at
  // the end or before a wait. Returns the sequence of the last published record, even with an
  // error, or kNoSequence if none was published. If the size is not a multiple of the record size,
  // nothing is published.
  [[nodiscard]] Result<Sequence> publish_batch(std::span<const std::byte> records,
                                               Deadline deadline = Deadline::never());
  // The reason why publishing has ended; ok while it has not. For the publishing thread only.
  [[nodiscard]] const absl::Status& status() const;
  // The error of the last publish() that failed. A later success does not clear it. For the
  // publishing thread only.
  [[nodiscard]] const absl::Status& last_error() const;

  // Waits until everything published is durable.
  // Errors: kJournalFailed, kNoJournal, kTimedOut, kWouldBlock, kInterrupted, kClosed, kMisuse.
  [[nodiscard]] absl::Status flush(Deadline deadline);

  // Ends the session: makes everything durable, records the end, notifies subscribers and removes
  // the names. Idempotent. After kTimedOut and kWouldBlock, a library thread continues, and a later
  // close() returns the result. If close() is not called, the destructor does the same without
  // waiting. At exit, the program waits for such threads, at most kCloseAtExitMax.
  [[nodiscard]] absl::Status close(Deadline deadline = Deadline::never());

  // Ends the wait in publish(), flush() or close() that is under way, or else the next one, with
  // kInterrupted. Safe from any thread and from a signal handler.
  void interrupt() noexcept;

  [[nodiscard]] std::uint32_t record_bytes() const;
  [[nodiscard]] Sequence first() const;  // of this session
  [[nodiscard]] Sequence head() const;   // last published
  [[nodiscard]] Sequence durable() const;
  [[nodiscard]] Id128 session_id() const;
  [[nodiscard]] Id128 journal_id() const;
  [[nodiscard]] LastSession last_session() const;
  // The source's position before the session's first record: the number of its earlier records, or
  // the result of on_resume.
  [[nodiscard]] std::uint64_t source_offset() const;
  [[nodiscard]] JournalCondition journal() const;
  [[nodiscard]] PublisherCounters counters() const;  // for the publishing thread only
  [[nodiscard]] std::size_t subscriber_count() const;
  [[nodiscard]] std::vector<SubscriberInfo> subscribers() const;

 private:
  friend struct PublisherAccess;
  struct State;
  explicit Publisher(std::shared_ptr<State> state);
  // kNoSequence: nothing was published. The result is in one register, so cold calls are tail
  // calls.
  Sequence publish_bytes(std::span<const std::byte> record);
  Sequence publish_bytes(std::span<const std::byte> record, Deadline deadline);
  [[gnu::cold]] Errc why_not_published() const;
  Result<Sequence> result_of(Sequence published) const {
    if (published == kNoSequence) [[unlikely]]
      return why_not_published();
    return published;
  }
  [[gnu::cold]] Sequence attend();
  // Takes a copy, so that the caller's record need not be in memory.
  template <typename Record>
  [[gnu::noinline, gnu::cold]] Sequence publish_copy(detail::RecordBytes<sizeof(Record)> copy) {
    if (!accepts<Record>()) return kNoSequence;
    return publish_bytes(std::span<const std::byte>(copy.bytes));
  }
  // False if the type's description differs from that of the bus; last_error() is then set.
  template <typename Record>
  bool accepts() {
    constexpr std::uint32_t kTag = detail::record_tag<Record>();
    if (path_->accepted_tag == kTag) return true;
    if constexpr (detail::has_own_description<Record>()) {
      return accept(kTag, &schema_of<Record>);
    } else {
      return accept(kTag, nullptr);
    }
  }
  // `describe`: null for a type without a description.
  [[gnu::cold]] bool accept(std::uint32_t tag, Schema (*describe)());
  void leave();
  std::shared_ptr<State> state_;  // shared with the thread that closes
  detail::PublishPath* path_;     // state_'s
};

// How long an exiting program waits for closes that are still under way.
inline constexpr std::chrono::seconds kCloseAtExitMax{10};

}  // namespace lapwing
