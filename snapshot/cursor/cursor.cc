#include "lapwing/cursor.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "lapwing/error.h"
#include "os/deadline.h"
#include "os/exclusive_lock.h"
#include "os/fork.h"
#include "os/posix_io.h"
#include "snapshot/cursor/cursor_file.h"

namespace lapwing {
namespace {

constexpr char kLockSuffix[] = ".lock";

}  // namespace

struct Cursor::State {
  State(CursorOptions given, ExclusiveLock held)
      : options(std::move(given)), lock(std::move(held)) {}

  const CursorOptions options;
  const ExclusiveLock lock;
  PosixDisk disk;
  std::optional<CursorFile> file;  // set by open()
  const ForkWatch fork{"cursor"};
};

absl::StatusOr<Cursor> Cursor::open(CursorOptions options, Deadline deadline) {
  if (options.path.empty()) {
    return make_error(Errc::kInvalidArgument, "a cursor needs the path of its file");
  }
  absl::StatusOr<ExclusiveLock> lock =
      ExclusiveLock::take(options.path + kLockSuffix, left_ns(deadline),
                          {"has the cursor open; end it, or use another cursor", "reader"});
  if (!lock.ok()) return lock.status();
  StateHandle state(new State(std::move(options), *std::move(lock)));
  absl::StatusOr<CursorFile> file = CursorFile::open(state->disk, state->options.path);
  if (!file.ok()) return file.status();
  state->file.emplace(*std::move(file));
  return Cursor(std::move(state));
}

Cursor::Cursor(StateHandle state) : state_(std::move(state)) {}
void Cursor::DeleteState::operator()(State* state) const {
  delete_unless_forked(state, state->fork);
}
Cursor::Cursor(Cursor&&) noexcept = default;
Cursor& Cursor::operator=(Cursor&&) noexcept = default;
Cursor::~Cursor() = default;

std::optional<StoredPosition> Cursor::position() const {
  const StoredPosition& committed = state_->file->newest().position;
  return committed.sequence == kNoSequence ? std::nullopt : std::optional(committed);
}

OutputEnd Cursor::output() const {
  return state_->file->newest().output;
}

absl::Status Cursor::commit(const StoredPosition& position, OutputEnd output) {
  if (state_->fork.in_child()) return state_->fork.error();
  if (position.sequence == kNoSequence) return absl::OkStatus();
  if (position.sequence > kSequenceMax) {
    return make_error(
        Errc::kInvalidArgument,
        absl::StrCat("cursor ", state_->options.path, " cannot commit sequence ", position.sequence,
                     ": sequences of a bus are 1 to ", kSequenceMax));
  }
  return state_->file->commit(position, output, state_->options.durable);
}

Start Start::resume(const Cursor& cursor, Start otherwise) {
  const std::optional<StoredPosition> committed = cursor.position();
  return committed ? Start::after(*committed) : std::move(otherwise);
}

}  // namespace lapwing
