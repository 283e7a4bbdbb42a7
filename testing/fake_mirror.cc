#include "testing/fake_mirror.h"

#include <algorithm>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "lapwing/error.h"
#include "proto/ring_layout.h"

namespace lapwing {
namespace {

absl::Status timed_out() {
  return make_error(Errc::kTimedOut, "the disk is stuck");
}

RelaySession without_end(RelaySession session) {
  session.how = SessionEnd::kNone;
  session.last = session.void_first = session.void_last = session.sys_errno = 0;
  session.end_row = session.end_hash = session.end_wall_ns = 0;
  return session;
}

}  // namespace

absl::Status FakeMirror::violation(const std::string& what) {
  violations_.push_back(what);
  return make_error(Errc::kInvalidArgument, what);
}

Sequence FakeMirror::durable() const {
  if (sessions_.empty()) return 0;
  const RelaySession& newest = sessions_.back();
  const bool is_origins = origin_.session_id == newest.session_id;
  const Sequence durable = newest.how != SessionEnd::kNone ? newest.last
                           : is_origins                    ? origin_.durable
                                                           : 0;
  return std::min(durable, next_ == 0 ? 0 : next_ - 1);
}

absl::Status FakeMirror::begin(const MirrorBegin& begin) {
  const RelaySession& session = begin.session;
  if (is_stuck_) return make_error(Errc::kNoSpace, "the disk is full");
  const bool has_open = !sessions_.empty() && sessions_.back().how == SessionEnd::kNone;
  const bool is_again = has_open && sessions_.back().session_id == session.session_id;
  if (has_open && !is_again) return violation("begin() before the end of a session");
  if (is_again && !session_difference(sessions_.back(), session).empty()) {
    return violation("begin() with other values");
  }
  if (session.schema_hash != 0 && begin.description.empty()) return violation("no description");
  if (session.metadata_hash != 0 && begin.metadata.empty()) return violation("no metadata");
  ++begins_;
  begun_ = session;
  if (session.schema_hash != 0) files_[session.schema_hash] = begin.description;
  if (session.metadata_hash != 0) files_[session.metadata_hash] = begin.metadata;
  if (is_again) return absl::OkStatus();
  const bool is_new_journal = journals_.empty() || journals_.back().id != session.journal_id;
  if (is_new_journal) {
    if ((begin.oldest - 1) % session.segment_slots != 0) {
      return violation("a journal begins in the middle of a segment");
    }
    journals_.emplace_back();
    journals_.back().id = session.journal_id;
    journals_.back().oldest = begin.oldest;
  }
  if (!is_new_journal && session.first < next_) return violation("a session begins before next()");
  next_ = std::max(session.first, is_new_journal ? begin.oldest : session.first);
  sessions_.push_back(without_end(session));
  return absl::OkStatus();
}

bool FakeMirror::can_put(Sequence n) const {
  if (!begun_ || begun_->how == SessionEnd::kNone) return true;
  if (begun_->how != SessionEnd::kFailed) return n <= begun_->last;
  const bool has_ended = sessions_.back().how != SessionEnd::kNone;
  return has_ended || n <= begun_->last;
}

absl::Status FakeMirror::put(Sequence first, std::span<const std::byte> records, std::uint64_t,
                             Deadline) {
  if (!begun_) return violation("put() before begin()");
  if (first > next_) return violation(absl::StrCat("put() of ", first, " at ", next_));
  if (is_stuck_) return timed_out();
  if (put_failure_) return *std::exchange(put_failure_, std::nullopt);
  const std::size_t bytes = begun_->record_bytes;
  const bool is_ended = sessions_.back().how != SessionEnd::kNone;
  auto& kept = is_ended ? journals_.back().unarchived : journals_.back().records;
  for (std::size_t i = 0; i * bytes < records.size(); ++i) {
    const std::span<const std::byte> record = records.subspan(i * bytes, bytes);
    const Sequence n = first + i;
    if (n < next_) {
      for (const auto* each : {&journals_.back().records, &journals_.back().unarchived}) {
        const auto found = each->find(n);
        if (found == each->end() || std::ranges::equal(found->second, record)) continue;
        return make_error(Errc::kReset, absl::StrCat("contradiction: record ", n, " differs"));
      }
      continue;
    }
    if (put_only_ && (*put_only_)-- == 0) {
      put_only_.reset();
      return timed_out();
    }
    if (!can_put(n)) return violation(absl::StrCat("put() of ", n, " behind the end"));
    kept[n].assign(record.begin(), record.end());
    ++next_;
  }
  return absl::OkStatus();
}

absl::Status FakeMirror::check_last(Sequence last) {
  const bool is_end = begun_->how != SessionEnd::kNone && last == begun_->last;
  if (is_end || last % slots_per_block(begun_->slot_bytes) == 0) return absl::OkStatus();
  return violation(absl::StrCat("an absence ends at ", last, ", within a block"));
}

absl::Status FakeMirror::put_absent(Sequence first, Sequence last, GapCause cause, Deadline) {
  if (!begun_) return violation("put_absent() before begin()");
  if (first != next_) return violation(absl::StrCat("absence of ", first, " at ", next_));
  if (last < first || !can_put(last)) return violation(absl::StrCat("absence to ", last));
  if (absl::Status status = check_last(last); !status.ok()) return status;
  if (is_stuck_) return timed_out();
  std::vector<Absent>& absent = journals_.back().absent;
  const bool continues =
      !absent.empty() && absent.back().last + 1 == first && absent.back().cause == cause;
  if (continues) {
    absent.back().last = last;
  } else {
    absent.push_back({first, last, cause});
  }
  next_ = last + 1;
  return absl::OkStatus();
}

absl::Status FakeMirror::end(const RelaySession& session, Deadline) {
  if (!begun_ || begun_->session_id != session.session_id) return violation("end() of another");
  if (session.how == SessionEnd::kNone) return violation("end() without an end");
  if (next_ <= session.last) return violation(absl::StrCat("end() at ", next_));
  if (is_stuck_) return timed_out();
  Journal& journal = journals_.back();
  const auto behind = journal.records.upper_bound(session.last);
  for (auto record = behind; record != journal.records.end(); ++record) {
    if (session.how == SessionEnd::kFailed) {
      journal.unarchived.insert(*record);
    } else if (session.how == SessionEnd::kCut) {
      journal.cut.push_back(record->first);
    } else {
      return make_error(Errc::kReset, "contradiction: the mirror has more than a closed session");
    }
  }
  journal.records.erase(behind, journal.records.end());
  sessions_.back() = session;
  begun_ = session;
  if (session.how != SessionEnd::kFailed) {
    next_ = (session.void_last != 0 ? session.void_last : session.last) + 1;
  }
  return absl::OkStatus();
}

absl::Status FakeMirror::flush(Sequence through, Deadline) {
  return durable() >= through ? absl::OkStatus() : timed_out();
}

absl::Status FakeMirror::close(Deadline) {
  begun_.reset();
  return absl::OkStatus();
}

void FakeMirror::kill(Sequence durable) {
  begun_.reset();
  if (journals_.empty()) return;
  Journal& journal = journals_.back();
  journal.unarchived.clear();
  const RelaySession& session = sessions_.back();
  if (session.how != SessionEnd::kNone) {
    next_ = (session.void_last != 0 ? session.void_last : session.last) + 1;
    return;
  }
  // Everything before an end or an absence is durable before it.
  const Sequence kept = std::max(
      {durable, session.first - 1, journal.absent.empty() ? 0 : journal.absent.back().last});
  journal.records.erase(journal.records.upper_bound(kept), journal.records.end());
  next_ = std::max(std::min(next_, kept + 1), std::max(session.first, journal.oldest));
}

void FakeMirror::change_record(Sequence n) {
  journals_.back().records.at(n).at(0) ^= std::byte{1};
}

void FakeMirror::list(const RelaySession& session) {
  sessions_.push_back(session);
}

}  // namespace lapwing
