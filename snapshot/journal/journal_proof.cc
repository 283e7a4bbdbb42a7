#include "snapshot/journal/journal_proof.h"

#include <algorithm>
#include <optional>

#include "lapwing/error.h"
#include "snapshot/journal/absent_ranges.h"
#include "snapshot/journal/segment_reader.h"

namespace lapwing {
namespace {

// True if the status is about the file, and not about the disk or our permissions.
bool is_damage(const absl::Status& status) {
  switch (errc_of(status)) {
    case Errc::kNotFound:
    case Errc::kDamaged:
    case Errc::kNotALapwingFile:
    case Errc::kAbiMismatch:
      return true;
    default:
      return false;
  }
}

class Proof {
 public:
  Proof(const JournalFiles& files, Sequence durable, ProofDepth depth, const DamageSink& sink)
      : files_(files), reader_(files), durable_(durable), depth_(depth), sink_(sink) {}

  // Verifies from n on, up to `last` within one segment, and moves n beyond the checked part.
  // Returns false if the sink has stopped the search.
  absl::StatusOr<bool> step(Sequence& n, Sequence last) {
    const std::uint64_t segment = files_.geometry.segment_of(n);
    const Sequence segment_last = std::min(last, files_.geometry.segment_last(segment));
    if (depth_ != ProofDepth::kNames && !reader_.is_open(segment)) {
      const absl::Status opened = reader_.open(segment);
      if (!opened.ok() && !is_damage(opened)) return opened;
      if (!opened.ok()) return report(n, whole_segment(n, segment_last, opened.message()));
    }
    if (depth_ == ProofDepth::kRecords) {
      const std::uint64_t wanted = segment_last - n + 1;
      if (const auto damage = reader_.load(n, durable_, segment_last, wanted)) {
        return report(n, *damage);
      }
      while (reader_.extend()) {
      }
      n = reader_.window_last() + 1;
      return true;
    }
    if (depth_ == ProofDepth::kNames) {
      const auto there = files_.disk->exists(files_.path(segment, "jnl"));
      if (!there.ok()) return there.status();
      if (!*there) return report(n, whole_segment(n, segment_last, "the segment is missing"));
    }
    n = segment_last + 1;
    return true;
  }

 private:
  JournalDamage whole_segment(Sequence first, Sequence last, absl::string_view what) const {
    return {files_.path(files_.geometry.segment_of(first), "jnl"), 0, first, last,
            std::string(what)};
  }

  bool report(Sequence& n, const JournalDamage& damage) {
    n = damage.last + 1;
    return sink_(damage);
  }

  const JournalFiles& files_;
  SegmentReader reader_;
  const Sequence durable_;
  const ProofDepth depth_;
  const DamageSink& sink_;
};

}  // namespace

std::vector<SequenceRange> record_ranges(const SessionLog& sessions, const Id128& journal_id,
                                         Sequence open_last, std::span<const AbsentRange> absent) {
  std::vector<SequenceRange> ranges;
  for (const SessionRecord& session : sessions.sessions_of(journal_id)) {
    SequenceRange range{session.first(), session.end ? session.end->last : open_last};
    while (!range.is_empty()) {
      const AbsentRange* const hole = range_from(absent, range.first);
      const Sequence last = hole == nullptr ? range.last : std::min(range.last, hole->first - 1);
      if (range.first <= last) ranges.push_back({range.first, last});
      if (hole == nullptr) break;
      range.first = hole->last + 1;
    }
  }
  return ranges;
}

absl::Status prove(const JournalFiles& files, const std::vector<SequenceRange>& ranges,
                   const SequenceRange& wanted, ProofDepth depth, const DamageSink& sink,
                   const ProofProgress& progress) {
  Proof proof(files, wanted.last, depth, sink);
  for (const SequenceRange& range : ranges) {
    const SequenceRange todo = intersect(range, wanted);
    for (Sequence n = todo.first; n <= todo.last;) {
      const Sequence before = n;
      const auto go_on = proof.step(n, todo.last);
      if (!go_on.ok()) return go_on.status();
      if (progress) progress(n - before);
      if (!*go_on) return absl::OkStatus();
    }
  }
  return absl::OkStatus();
}

}  // namespace lapwing
