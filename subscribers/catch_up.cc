#include "subscribers/catch_up.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "os/kernel.h"
#include "snapshot/journal/missing_file.h"

namespace lapwing {
namespace {

using Outcome = CatchUp::Outcome;

CatchUp::Read gave(std::uint64_t records) {
  return {.outcome = Outcome::kRecords, .records = records};
}

CatchUp::Read lost(Sequence last, GapCause cause, std::string detail) {
  return {.outcome = Outcome::kHole, .last = last, .cause = cause, .detail = std::move(detail)};
}

// Record `next` is above `archived`, so its slot cannot have been overwritten, unless the journal
// has failed or `archived` has since passed it. In the latter case, this returns nullopt.
std::optional<CatchUp::Read> from_ring(const Attachment& attachment, Sequence next,
                                       std::span<std::byte> out, bool ended, Sequence& seen_head) {
  const std::uint64_t room = out.size() / attachment.record_bytes();
  const auto [records, read] = attachment.ring()->read_run(next, out.data(), room, seen_head);
  if (records > 0) return gave(records);
  if (read.outcome == RingRead::kEmpty) return CatchUp::Read{.outcome = Outcome::kInRing};
  // Loaded after the stamp, so it includes the change that allowed the slot to be overwritten.
  if (next <= attachment.bounds().archived) return std::nullopt;
  if (!ended && attachment.archiving()) return CatchUp::Read{.outcome = Outcome::kNothing};
  if (read.outcome == RingRead::kCorrupt) {
    return lost(next, GapCause::kDamaged,
                absl::StrCat("sequence ", next, " is damaged in the ring (stamp ", read.stamp,
                             ") and not in the journal"));
  }
  return lost(read.resume - 1, GapCause::kLapped,
              absl::StrCat("sequences ", next, " to ", read.resume - 1,
                           " were overwritten in the ring after the journal had failed"));
}

}  // namespace

CatchUp::CatchUp(std::chrono::nanoseconds missing_file_grace)
    : missing_file_grace_ns_(ns_of(missing_file_grace)) {}

absl::StatusOr<CatchUp::Read> CatchUp::read(const Attachment& attachment, Sequence next,
                                            std::span<std::byte> out, bool ended,
                                            Sequence& seen_head) {
  absl::StatusOr<Read> read = find(attachment, next, out, ended, seen_head);
  waits_ = read.ok() && read->outcome == Outcome::kNothing;
  return read;
}

absl::StatusOr<CatchUp::Read> CatchUp::find(const Attachment& attachment, Sequence next,
                                            std::span<std::byte> out, bool ended,
                                            Sequence& seen_head) {
  const RingReader* const ring = attachment.ring();
  if (ring != nullptr && next >= ring_floor_ && next >= ring->oldest() &&
      ring->lag(next) <= ring->capacity() / 2) {
    return Read{.outcome = Outcome::kInRing};
  }
  if (next > attachment.bounds().archived) {
    if (ring == nullptr) return Read{.outcome = Outcome::kAtEnd};
    if (auto read = from_ring(attachment, next, out, ended, seen_head)) return *std::move(read);
  }
  return from_journal(attachment, next, out);
}

absl::StatusOr<CatchUp::Read> CatchUp::from_journal(const Attachment& attachment, Sequence next,
                                                    std::span<std::byte> out) {
  if (missing_ && monotonic_ns() < missing_->retry_ns) return Read{.outcome = Outcome::kNothing};
  const absl::StatusOr<JournalRun> run = attachment.journal()->read(next, attachment.bounds(), out);
  if (!run.ok()) return run.status();
  if (run->count > 0) {
    missing_.reset();
    return gave(run->count);
  }
  if (run->gap) return in_hole(attachment, *run, next, out);
  return Read{.outcome = Outcome::kNothing};
}

// The journal does not contain next … hole.gap_last. The ring may still have these records, unless
// the journal records that they are absent.
CatchUp::Read CatchUp::in_hole(const Attachment& attachment, const JournalRun& hole, Sequence next,
                               std::span<std::byte> out) {
  if (hole.is_recorded) return lost(hole.gap_last, hole.cause, hole.detail);
  Sequence last = hole.gap_last;
  if (attachment.ring() != nullptr) {
    const RingReadResult read = attachment.ring()->try_read(next, out.data());
    if (read.outcome == RingRead::kRecord) return gave(1);
    if (read.outcome == RingRead::kLapped) last = std::min(last, read.resume - 1);
    if (read.outcome == RingRead::kCorrupt) last = next;
  }
  if (hole.missing_file) {
    if (may_come_back(hole)) return {.outcome = Outcome::kNothing};
    return lost(last, hole.cause,
                absl::StrCat(hole.detail, "; it did not reappear for ",
                             (monotonic_ns() - missing_->since_ns) / kNsPerMs, " ms"));
  }
  if (hole.cause == GapCause::kDamaged) return lost(last, hole.cause, hole.detail);
  return lost(last, hole.cause,
              absl::StrCat("sequences ", next, " to ", last, " are no longer kept: the oldest is ",
                           hole.gap_last + 1));
}

// True if a missing file should be retried instead of reporting its records as lost. The time is
// counted from the first of several consecutive missing files.
bool CatchUp::may_come_back(const JournalRun& hole) {
  const std::uint64_t now = monotonic_ns();
  if (!missing_) missing_ = MissingFiles{now, now};
  if (hole.directory == AnchorState::kRemoved) return false;
  if (now - missing_->since_ns >= missing_file_grace_ns_) return false;
  missing_->retry_ns = now + kMissingFileRetryNs;
  return true;
}

}  // namespace lapwing
