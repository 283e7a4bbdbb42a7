#include "snapshot/journal/journal_reader.h"

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "lapwing/error.h"
#include "snapshot/journal/absent_ranges.h"
#include "snapshot/journal/journal_files.h"
#include "snapshot/journal/retention_file.h"
#include "snapshot/journal/segment_reader.h"
#include "snapshot/journal/sum_walk.h"
#include "snapshot/journal/time_search.h"

namespace lapwing {
namespace {

JournalRun gap_to(Sequence last, GapCause cause, std::string detail = "") {
  JournalRun run;
  run.gap = true;
  run.gap_last = last;
  run.cause = cause;
  run.detail = std::move(detail);
  return run;
}

std::string text_of(const AbsentRange& range) {
  const std::string sequences = absl::StrCat("sequences ", range.first, " to ", range.last);
  switch (range.cause) {
    case GapCause::kVoid:
      return "";
    case GapCause::kPruned:
      return sequences + " were removed at the origin before this mirror received them";
    case GapCause::kDamaged:
      return sequences + " are damaged at the origin of this mirror";
    case GapCause::kUpstream:
      return sequences + " were never archived by the origin of this mirror";
    default:
      return sequences + " did not reach this mirror from its origin";
  }
}

JournalRun gap_over(const AbsentRange& range) {
  JournalRun run = gap_to(range.last, range.cause, text_of(range));
  run.is_recorded = true;
  return run;
}

// kRecordBytes 0 means the size in the geometry.
template <std::size_t kRecordBytes>
void copy_each_record(const std::byte* slot, const JournalGeometry& geometry, std::uint64_t count,
                      std::byte* out) {
  const std::size_t record_bytes = kRecordBytes == 0 ? geometry.record_bytes : kRecordBytes;
  for (std::uint64_t i = 0; i < count; ++i) {
    std::memcpy(out, slot + kStampBytes, record_bytes);
    slot += geometry.slot_bytes;
    out += record_bytes;
  }
}

// Copies the records of `count` slots, packed. The shipped schemas' record sizes have their own
// loops, because a constant-size copy is a few moves and any other copy is a call.
void copy_records(const std::byte* slots, const JournalGeometry& geometry, std::uint64_t count,
                  std::byte* out) {
  switch (geometry.record_bytes) {
    case 16:
      return copy_each_record<16>(slots, geometry, count, out);
    case 48:
      return copy_each_record<48>(slots, geometry, count, out);
    case 56:
      return copy_each_record<56>(slots, geometry, count, out);
    case 80:
      return copy_each_record<80>(slots, geometry, count, out);
    default:
      return copy_each_record<0>(slots, geometry, count, out);
  }
}

}  // namespace

struct JournalReader::State {
  State(SessionLog log, JournalFiles journal_files)
      : sessions(std::move(log)), files(journal_files), reader(std::move(journal_files)) {}

  absl::StatusOr<bool> note_absent();
  Sequence last_present(Sequence n) const;
  Sequence first_of_journal() const;
  std::optional<JournalRun> gap_at(Sequence n, const JournalBounds& bounds) const;
  absl::StatusOr<std::optional<JournalRun>> load(Sequence n, const JournalBounds& bounds,
                                                 std::uint64_t room);
  absl::StatusOr<JournalRun> explain_unopened(Sequence n, Sequence limit,
                                              const absl::Status& status) const;
  absl::StatusOr<JournalRun> explain_missing(Sequence n, Sequence limit,
                                             const std::string& message) const;
  JournalRun missing_to(Sequence last, std::string detail) const;
  std::uint64_t copy_out(Sequence n, Sequence limit, std::span<std::byte> out);

  SessionLog sessions;
  JournalFiles files;
  SegmentReader reader;
  std::vector<AbsentRange> absent;  // of this journal, ascending, with its voids
};

// Reads the ranges without records. Returns whether they have changed.
absl::StatusOr<bool> JournalReader::State::note_absent() {
  auto ranges = read_absent_ranges(sessions, files);
  if (!ranges.ok()) return ranges.status();
  const bool has_changed = *ranges != absent;
  absent = *std::move(ranges);
  return has_changed;
}

// Returns the last sequence before the next range without records. n must not be in one.
Sequence JournalReader::State::last_present(Sequence n) const {
  const AbsentRange* const next = range_from(absent, n);
  return next == nullptr ? UINT64_MAX : next->first - 1;
}

// Returns the first sequence of the journal's first session, which must exist.
Sequence JournalReader::State::first_of_journal() const {
  return sessions.sessions_of(files.journal_id).front().first();
}

// Returns the gap at n if one is known without opening a file.
std::optional<JournalRun> JournalReader::State::gap_at(Sequence n,
                                                       const JournalBounds& bounds) const {
  const AbsentRange* const range = range_from(absent, n);
  if (range != nullptr && range->contains(n)) return gap_over(*range);
  const bool is_open = reader.is_open(files.geometry.segment_of(n));
  if (n < bounds.oldest && !is_open) return gap_to(bounds.oldest - 1, GapCause::kPruned);
  return std::nullopt;
}

// Explains why n's segment could not be opened: pruned since, lost, or damaged as a whole.
// `limit` is the last sequence that may be read, and no sequence up to it is known to be absent.
absl::StatusOr<JournalRun> JournalReader::State::explain_unopened(
    Sequence n, Sequence limit, const absl::Status& status) const {
  const std::string message(status.message());
  const Sequence segment_last = files.geometry.segment_last(files.geometry.segment_of(n));
  switch (errc_of(status)) {
    case Errc::kDamaged:
    case Errc::kAbiMismatch:  // although this program could read the journal's sessions
    case Errc::kNotALapwingFile:
      return gap_to(std::min(limit, segment_last), GapCause::kDamaged, message);
    case Errc::kNotFound:
      return explain_missing(n, limit, message);
    default:
      return status;
  }
}

// Consecutive missing segments form one gap.
absl::StatusOr<JournalRun> JournalReader::State::explain_missing(Sequence n, Sequence limit,
                                                                 const std::string& message) const {
  const auto retained = list_retained(files);
  if (!retained.ok()) return retained.status();
  if (n < retained->oldest) return gap_to(retained->oldest - 1, GapCause::kPruned);
  const auto next = std::ranges::upper_bound(retained->segments, files.geometry.segment_of(n));
  if (next != retained->segments.end()) {
    limit = std::min(limit, files.geometry.segment_first(*next) - 1);
  }
  return missing_to(limit,
                    absl::StrCat(message, ": the segment is missing (sequences ", n, " to ", limit,
                                 "), and retention had not removed it; `lapwing "
                                 "verify` shows all damage"));
}

// Returns a gap caused by a missing file.
JournalRun JournalReader::State::missing_to(Sequence last, std::string detail) const {
  JournalRun run = gap_to(last, GapCause::kDamaged, std::move(detail));
  run.missing_file = true;
  run.directory = files.disk->anchor_state(files.directory);
  if (run.directory == AnchorState::kMoved) {
    absl::StrAppend(&run.detail, "; the journal was moved away from ", files.directory,
                    " while it was read, and the file is not in its new place either");
  } else if (run.directory == AnchorState::kRemoved) {
    absl::StrAppend(&run.detail, "; the journal that was opened at ", files.directory,
                    " was removed: if another was put in its place, start this reader again");
  }
  return run;
}

// Loads and verifies n and the records after it, if n is archived. Returns a gap if n is in one.
absl::StatusOr<std::optional<JournalRun>> JournalReader::State::load(Sequence n,
                                                                     const JournalBounds& bounds,
                                                                     std::uint64_t room) {
  if (auto gap = gap_at(n, bounds)) return gap;
  if (n > bounds.archived) return std::nullopt;
  const std::uint64_t segment = files.geometry.segment_of(n);
  const Sequence limit = std::min(bounds.archived, last_present(n));
  if (!reader.is_open(segment)) {
    const absl::Status opened = reader.open(segment);
    if (!opened.ok()) {
      auto why = explain_unopened(n, limit, opened);
      if (!why.ok()) return why.status();
      return *std::move(why);
    }
  }
  const Sequence load_limit = std::min(limit, files.geometry.segment_last(segment));
  const auto damage = reader.load(n, bounds.durable, load_limit, room);
  if (!damage) return std::nullopt;
  if (reader.has_sums()) return gap_to(damage->last, GapCause::kDamaged, damage->text());
  reader.close();  // so that the next read tries to open them again
  return missing_to(damage->last, damage->text());
}

// Copies records from n on, which must be in the reader's window.
std::uint64_t JournalReader::State::copy_out(Sequence n, Sequence limit, std::span<std::byte> out) {
  const std::size_t record_bytes = files.geometry.record_bytes;
  const std::uint64_t room = out.size() / record_bytes;
  std::uint64_t copied = 0;
  do {
    const Sequence next = n + copied;
    const Sequence last = std::min(limit, reader.window_last());
    if (next > last) break;
    const std::uint64_t count = std::min(last - next + 1, room - copied);
    copy_records(reader.slot(next), files.geometry, count, out.data() + copied * record_bytes);
    copied += count;
  } while (copied < room && reader.extend());
  return copied;
}

absl::StatusOr<std::unique_ptr<JournalReader>> JournalReader::open(Disk& disk,
                                                                   const std::string& journal_root,
                                                                   const Id128& journal_id) {
  disk.anchor(journal_root);
  auto sessions = SessionLog::open_read_only(disk, journal_root);
  if (!sessions.ok()) return sessions.status();
  const auto of_journal = sessions->sessions_of(journal_id);
  if (of_journal.empty()) {
    return make_error(Errc::kNotFound,
                      absl::StrCat(journal_root, "/", kSessionsFileName,
                                   " has no session of journal ", journal_id.hex()));
  }
  JournalFiles files = journal_files_of(disk, journal_root, of_journal.back().begin);
  auto state = std::make_unique<State>(std::move(*sessions), std::move(files));
  const auto noted = state->note_absent();
  if (!noted.ok()) return noted.status();
  return std::unique_ptr<JournalReader>(new JournalReader(std::move(state)));
}

JournalReader::JournalReader(std::unique_ptr<State> state) : state_(std::move(state)) {}
JournalReader::~JournalReader() = default;

const JournalGeometry& JournalReader::geometry() const {
  return state_->files.geometry;
}
const SessionLog& JournalReader::sessions() const {
  return state_->sessions;
}

std::span<const AbsentRange> JournalReader::absent() const {
  return state_->absent;
}

absl::Status JournalReader::refresh() {
  state_->reader.close();
  const absl::Status status = state_->sessions.refresh();
  const auto noted = state_->note_absent();
  return status.ok() ? noted.status() : status;
}

absl::StatusOr<JournalRun> JournalReader::read(Sequence n, const JournalBounds& bounds,
                                               std::span<std::byte> out) {
  const JournalGeometry& geometry = state_->files.geometry;
  if (n == kNoSequence || out.size() < geometry.record_bytes) {
    return make_error(Errc::kInvalidArgument,
                      absl::StrCat("a read of sequence ", n, " into ", out.size(), " bytes"));
  }
  JournalRun run;
  if (!state_->reader.proves(n)) {
    const std::uint64_t room = out.size() / geometry.record_bytes;
    auto gap = state_->load(n, bounds, room);
    if (gap.ok() && *gap && !(*gap)->is_recorded) {
      // A mirror may have given up the range since its list was read.
      const auto has_changed = state_->note_absent();
      if (!has_changed.ok()) return has_changed.status();
      if (*has_changed) gap = state_->load(n, bounds, room);
    }
    if (!gap.ok()) return gap.status();
    if (*gap) return **std::move(gap);
    if (n > bounds.archived) return run;
  }
  run.count = state_->copy_out(n, bounds.archived, out);
  return run;
}

absl::StatusOr<MappedRun> JournalReader::map(Sequence n, const JournalBounds& bounds) {
  const JournalGeometry& geometry = state_->files.geometry;
  if (n == kNoSequence || n > kSequenceMax) {
    return make_error(Errc::kInvalidArgument,
                      absl::StrCat(n, " is not a sequence: the first record is 1"));
  }
  const std::uint64_t segment = geometry.segment_of(n);
  const Sequence segment_last = geometry.segment_last(segment);
  if (segment_last > bounds.durable) {
    return make_error(Errc::kWouldBlock,
                      absl::StrCat("the segment of record ", n, " ends with record ", segment_last,
                                   ", but durable is ", bounds.durable,
                                   ". Read its records until it is finished"));
  }
  if (n < bounds.oldest) {
    return make_error(
        Errc::kPruned,
        absl::StrCat("record ", n, " is pruned; the journal begins with ", bounds.oldest));
  }
  Sequence first = std::max(geometry.segment_first(segment), state_->first_of_journal());
  if (const auto noted = state_->note_absent(); !noted.ok()) return noted.status();
  for (const AbsentRange& range : state_->absent) {
    if (range.contains(n)) {
      return make_error(Errc::kNotFound,
                        absl::StrCat("there is no record ", n, ": sequences ", range.first, " to ",
                                     range.last, " are absent (", name_of(range.cause), ")"));
    }
    if (range.last < n) first = std::max(first, range.last + 1);
  }
  const Sequence last = std::min(segment_last, state_->last_present(n));
  absl::StatusOr<SegmentMapping> mapping = map_segment(state_->files, first, last);
  if (mapping.ok()) return MappedRun{first, last - first + 1, *std::move(mapping)};
  if (errc_of(mapping.status()) != Errc::kNotFound) return mapping.status();
  const auto gap = state_->explain_missing(n, last, std::string(mapping.status().message()));
  if (!gap.ok()) return gap.status();
  if (gap->cause != GapCause::kPruned) return make_error(Errc::kDamaged, gap->detail);
  return make_error(
      Errc::kPruned,
      absl::StrCat("record ", n, " is pruned; the journal begins with ", gap->gap_last + 1));
}

absl::StatusOr<Sequence> JournalReader::find_time(std::uint64_t wall_ns,
                                                  const JournalBounds& bounds) {
  const auto retained = list_retained(state_->files);
  if (!retained.ok()) return retained.status();
  const auto found = search_time(state_->files, retained->segments, wall_ns);
  if (!found.ok()) return found.status();
  return std::max({*found, bounds.oldest, Sequence{1}});
}

absl::StatusOr<Sequence> JournalReader::published() const {
  return read_published(state_->files);
}

absl::StatusOr<JournalBounds> JournalReader::settled_bounds() {
  const SessionRecord& session = state_->sessions.sessions_of(state_->files.journal_id).back();
  const auto retained = list_retained(state_->files);
  if (!retained.ok()) return retained.status();
  JournalBounds bounds;
  if (session.end) {
    bounds.durable = session.end->last;
  } else {
    const auto noted = state_->note_absent();
    if (!noted.ok()) return noted.status();
    const auto walk = walk_open_session(state_->files, *retained, session, state_->absent);
    if (!walk.ok()) return walk.status();
    bounds.durable = walk->durable;
  }
  bounds.archived = bounds.durable;
  bounds.oldest = std::min(retained->oldest, bounds.durable + 1);
  return bounds;
}

}  // namespace lapwing
