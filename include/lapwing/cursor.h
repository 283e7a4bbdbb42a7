// A cursor is a file that stores how far a program has processed a bus. It survives the process,
// even if the process is killed, and the next run continues there.
//
//   auto cursor = lapwing::Cursor::open({.path = "quotes.cursor"});
//   if (!cursor.ok()) return fail(cursor.status());
//   auto subscriber = lapwing::Subscriber::open(
//       {.directory = "./quotes",
//        .start = lapwing::Start::resume(*cursor, lapwing::Start::oldest())});
//   ...
//   on_quote(quote);
//   absl::Status done = cursor->commit(*subscriber);  // after each record, or now and then
//
// Records delivered after the last commit are delivered again in the next run, so a program gets
// every record at least once. A program that writes its results to a file can write the result of
// each record exactly once. It writes the results, and then commits the end of that output
// (OutputEnd) together with the position. The next run truncates the file to output() before it
// continues. See examples/logger.cc.
//
// A commit is one write of 128 bytes and takes a few microseconds. It survives if the process is
// killed. A power cut may revert the newest commits and truncate your output, which can then be
// shorter than output(), so check its length. If `durable` is set, no commit is reverted (see
// CursorOptions).
//
// The file has two copies, written alternately, each with a checksum. A commit that is interrupted
// leaves the previous one intact. A file without a valid copy is an error, and is never treated as
// a new cursor. `lapwing cursors` shows the contents of a file.
//
// <path>.lock keeps other processes out. The kernel releases the lock when the process ends for any
// reason; the file remains.
//
// Threads: one thread at a time, any thread. Owns the file and the lock.
// Fork: in a forked child commit() returns kForked, position() and output() are as they were at the
// fork, and the destructor does nothing. Errors: the first write or sync that fails is final for
// the object.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "lapwing/subscriber.h"
#include "lapwing/waiting.h"

namespace lapwing {

// The end of a program's own output when it had processed everything up to a position. The cursor
// stores these two numbers and does not interpret them.
struct OutputEnd {
  std::uint64_t bytes = 0;  // length of the growing file
  std::uint64_t file = 0;   // its number, if a program writes several files

  friend bool operator==(const OutputEnd&, const OutputEnd&) = default;
};

struct CursorOptions {
  std::string path = {};
  // True: a commit is synced before it returns, and no power cut reverts it. Each commit then takes
  // as long as the disk needs for a sync. Sync your output before you commit it, and commit no
  // position beyond Subscriber::durable(). If a power cut removes committed records from the bus,
  // the next run gets kReset.
  bool durable = false;
};

class Cursor {
 public:
  // Waits for the lock until the deadline, takes it and reads the file. If there is no file, it is
  // created durably, with mode 0600.
  // Errors: kInUse (the cursor is open in another process, or in another object of this process);
  // kDamaged (neither copy is valid; the message contains the remedy); kAbiMismatch (a later
  // version). kInvalidArgument: no path. kNotFound: the path's directory does not exist. Also
  // kNotALapwingFile, kNotPermitted, kNoSpace, kSystem.
  [[nodiscard]] static absl::StatusOr<Cursor> open(CursorOptions options,
                                                   Deadline deadline = std::chrono::seconds(1));
  Cursor(Cursor&&) noexcept;
  Cursor& operator=(Cursor&&) noexcept;
  ~Cursor();

  // The last commit: the position at which to continue, and the end of the output there. nullopt
  // and zeros if nothing was committed yet.
  [[nodiscard]] std::optional<StoredPosition> position() const;
  [[nodiscard]] OutputEnd output() const;

  // Stores the position up to which everything was processed, and where the output ended at that
  // point. Before its first record, a subscriber's position has the sequence kNoSequence.
  // Committing such a position writes nothing, and the last commit remains. Errors:
  // kInvalidArgument (a sequence above kSequenceMax; changes nothing), kForked, kNoSpace,
  // kSystem.
  [[nodiscard]] absl::Status commit(const StoredPosition& position, OutputEnd output = {});
  [[nodiscard]] absl::Status commit(const Subscriber& subscriber, OutputEnd output = {}) {
    return commit(subscriber.position(), output);
  }

 private:
  struct State;
  struct DeleteState {
    void operator()(State* state) const;  // not in a forked child
  };
  using StateHandle = std::unique_ptr<State, DeleteState>;
  explicit Cursor(StateHandle state);
  StateHandle state_;
};

}  // namespace lapwing
