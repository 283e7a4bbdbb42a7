// A cursor: how far a program has come on a bus, in a file that survives the end of its process,
// however that ends. The next run goes on there.
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
// What was delivered after the last commit is delivered again to the next run: a program gets every
// record at least once. One whose results are a file gets each record into it exactly once. It
// writes the results, and then commits where they end (OutputEnd) together with the position. Its
// next run cuts off what stands behind output() before it goes on. examples/logger.cc does so.
//
// A commit is one write of 128 bytes, a few microseconds, and stands when the process is killed. A
// power cut may take the newest commits back, and the end of your output, which can then be shorter
// than output() says: check that. With `durable` no commit is taken back: see CursorOptions.
//
// The file has two copies, written in turn, each with a checksum, so a commit that is cut short
// leaves the one before it. A file without a valid copy is an error, and never taken for a cursor
// that begins. `lapwing cursors` shows what is in one.
//
// <path>.lock keeps every other process out. The kernel releases that lock when the process ends,
// however it ends; the file stays.
//
// Threads: one thread at a time, any thread. Owns the file and the lock.
// Fork: in a forked child commit() answers kForked, position() and output() are those of the fork,
// and the destructor does nothing.
// Errors: the first write or sync that fails is final for the object.
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

// Where a program's own output ended when it had processed everything up to a position. Two numbers
// that the cursor keeps and does not interpret.
struct OutputEnd {
  std::uint64_t bytes = 0;  // of the file that grows
  std::uint64_t file = 0;   // its number, where a program begins new files

  friend bool operator==(const OutputEnd&, const OutputEnd&) = default;
};

struct CursorOptions {
  std::string path = {};
  // True: a commit is synced before it returns, and no power cut takes it back. That costs what the
  // disk takes for a sync. Sync your output before you commit it, and commit no position beyond
  // Subscriber::durable(): what a power cut takes from the bus is a kReset to the next run.
  bool durable = false;
};

class Cursor {
 public:
  // Takes the lock, for which it waits until the deadline, and reads the file. If there is none, it
  // is made: durably, with mode 0600.
  // Errors: kInUse (another process, or another object of this one, has the cursor open);
  // kDamaged (neither copy is valid; the message says what to do), kAbiMismatch (a later version),
  // kNotALapwingFile, kInvalidArgument (no path), kNotFound (the path's directory), kNotPermitted,
  // kNoSpace, kSystem.
  [[nodiscard]] static absl::StatusOr<Cursor> open(CursorOptions options,
                                                   Deadline deadline = std::chrono::seconds(1));
  Cursor(Cursor&&) noexcept;
  Cursor& operator=(Cursor&&) noexcept;
  ~Cursor();

  // The last commit: where to go on, and where the output ended there. Nothing and zeros where
  // nothing was committed yet.
  [[nodiscard]] std::optional<StoredPosition> position() const;
  [[nodiscard]] OutputEnd output() const;

  // Everything up to this position is processed, and the output ends there. The position of a
  // subscriber before its first record, whose sequence is kNoSequence, is no progress: then nothing
  // is written, and the last commit stays.
  // Errors: kInvalidArgument (a sequence above kSequenceMax; changes nothing), kForked, kNoSpace,
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
