#include "subscribers/starting_point.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "lapwing/error.h"

namespace lapwing {
namespace {

// `lapwing repair` writes such a session if a journal's `sessions` file was lost. It represents all
// the sessions that the journal had.
bool is_rebuilt(const SessionRecord& session) {
  return session.end && session.end->how == SessionEnd::kFailed && !session.begin.has_ring;
}

// The session with this id, or the one that represents it; null if the journal lists neither.
const SessionRecord* find_session(const Attachment& attachment, const Id128& session_id) {
  const SessionLog& log = attachment.journal()->sessions();
  if (const SessionRecord* const session = log.find(session_id)) return session;
  const SessionRecord* const only = log.find(attachment.session_id());
  return only != nullptr && only->first() == 1 && is_rebuilt(*only) ? only : nullptr;
}

// Why this journal does not contain the stored position; empty if it does.
std::string reset_reason(const StoredPosition& stored, const Attachment& attachment,
                         Sequence newest) {
  if (stored.journal_id != attachment.journal_id()) {
    return absl::StrCat("the stored position is of journal ", stored.journal_id.hex(),
                        ", but this bus now keeps journal ", attachment.journal_id().hex());
  }
  const SessionRecord* const session = find_session(attachment, stored.session_id);
  if (session == nullptr) {
    return absl::StrCat("the stored position is of session ", stored.session_id.hex(),
                        ", which journal ", stored.journal_id.hex(), " does not list");
  }
  // A failed journal ends at once, but its session continues, and the ring shows how far it went.
  const bool in_ring = stored.session_id == attachment.session_id() && attachment.ring() != nullptr;
  // Without the ring, nothing shows how far the session went.
  if (session->end && session->end->how == SessionEnd::kFailed && !in_ring) return "";
  const Sequence last = session->end && !in_ring ? session->end->last : newest;
  if (stored.sequence <= last) return "";
  // Records may be delivered before head includes them; in a batch, long before.
  if (in_ring && stored.sequence <= attachment.newest_ready()) return "";
  return absl::StrCat("the stored position is sequence ", stored.sequence, " of session ",
                      stored.session_id.hex(), ", but what is left of that session ends at ", last,
                      ": the records after it were lost in a crash");
}

absl::Status no_journal(const SubscriberOptions& options, const char* so) {
  return make_error(Errc::kNoJournal,
                    absl::StrCat("bus ", options.directory, " keeps no journal, so ", so));
}

StartingPoint continue_after(const StoredPosition& stored, const Attachment& attachment,
                             Sequence newest) {
  std::string reason = reset_reason(stored, attachment, newest);
  if (reason.empty()) return {stored.sequence + 1, ""};
  return {oldest_of(attachment), std::move(reason)};
}

}  // namespace

absl::Status check_policy(const SubscriberOptions& options, const Attachment& attachment) {
  const bool needs_journal = options.on_gap == OnGap::kFill || options.on_gap == OnGap::kSnapshot;
  if (attachment.journal() != nullptr || !needs_journal) return absl::OkStatus();
  return no_journal(options, options.on_gap == OnGap::kFill
                                 ? "gaps cannot be filled; choose skip or stop"
                                 : "no state can follow a gap; choose skip or stop");
}

absl::Status check_start(const SubscriberOptions& options, const Attachment& attachment) {
  const Start::Kind kind = options.start.kind;
  const Sequence asked = options.start.value;
  if (!options.start.position && kind == Start::Kind::kSequence &&
      (asked == kNoSequence || asked > kSequenceMax)) {
    return make_error(Errc::kInvalidArgument,
                      absl::StrCat("sequence ", asked,
                                   " does not exist: sequences of a bus are 1 to ", kSequenceMax));
  }
  if (attachment.journal() != nullptr) return absl::OkStatus();
  if (options.start.position) return no_journal(options, "no stored position can be continued");
  if (kind == Start::Kind::kSequence)
    return no_journal(options, "no start at a sequence is possible");
  if (kind == Start::Kind::kTime) return no_journal(options, "no start at a time is possible");
  if (kind == Start::Kind::kSnapshot)
    return no_journal(options,
                      "no start from a snapshot is possible: later records are not stored");
  return absl::OkStatus();
}

namespace {

// The oldest journal that still holds records, or the newest one.
absl::StatusOr<std::size_t> oldest_with_records(const std::vector<ListedJournal>& journals,
                                                const Attachment& newest) {
  for (std::size_t i = 0; i + 1 < journals.size(); ++i) {
    const absl::StatusOr<bool> holds = newest.holds_records(journals[i]);
    if (!holds.ok()) return holds.status();
    if (*holds) return i;
  }
  return journals.size() - 1;
}

// The newest journal that had begun by then, or else the oldest one that holds records.
absl::StatusOr<std::size_t> journal_at_time(const std::vector<ListedJournal>& journals,
                                            std::uint64_t utc_ns, const Attachment& newest) {
  const absl::StatusOr<std::size_t> oldest = oldest_with_records(journals, newest);
  if (!oldest.ok()) return oldest;
  std::size_t chosen = journals.size() - 1;
  while (chosen > *oldest && journals[chosen].first.begin.wall_ns > utc_ns) --chosen;
  return chosen;
}

absl::StatusOr<std::size_t> choose_journal(const std::vector<ListedJournal>& journals,
                                           const SubscriberOptions& options,
                                           const SessionTrail& trail, const Attachment& newest) {
  const auto find = [&](const Id128& id) {
    return static_cast<std::size_t>(std::ranges::find(journals, id, &ListedJournal::id) -
                                    journals.begin());
  };
  const std::size_t last = journals.size() - 1;
  if (last == 0 && !options.start.journal) return last;
  if (!trail.empty()) {
    const std::size_t read = find(trail.journal_id());
    if (read < journals.size()) return std::min(trail.is_finished() ? read + 1 : read, last);
    return oldest_with_records(journals, newest);
  }
  if (options.start.journal) {
    const std::size_t named = find(*options.start.journal);
    if (named < journals.size()) return named;
    return make_error(Errc::kNotFound, absl::StrCat("bus ", options.directory, " has no journal ",
                                                    options.start.journal->hex(),
                                                    ". `lapwing info --json` lists its journals"));
  }
  if (options.start.position) {
    const std::size_t stored = find(options.start.position->journal_id);
    return stored < journals.size() ? stored : oldest_with_records(journals, newest);
  }
  if (options.start.kind == Start::Kind::kOldest) return oldest_with_records(journals, newest);
  if (options.start.kind == Start::Kind::kTime) {
    return journal_at_time(journals, options.start.value, newest);
  }
  return last;
}

}  // namespace

absl::StatusOr<std::optional<ListedJournal>> choose_discarded(const SubscriberOptions& options,
                                                              const SessionTrail& trail,
                                                              const Attachment& newest) {
  std::vector<ListedJournal> journals = newest.journals();
  if (journals.empty()) return std::nullopt;
  const absl::StatusOr<std::size_t> chosen = choose_journal(journals, options, trail, newest);
  if (!chosen.ok()) return chosen.status();
  if (journals[*chosen].id() == newest.journal_id()) return std::nullopt;
  return std::optional<ListedJournal>(std::move(journals[*chosen]));
}

absl::StatusOr<StartingPoint> choose_start(const SubscriberOptions& options,
                                           const Attachment& attachment, Sequence newest) {
  if (options.start.position) return continue_after(*options.start.position, attachment, newest);
  switch (options.start.kind) {
    case Start::Kind::kAfter:  // above
    case Start::Kind::kLive:
      break;
    case Start::Kind::kOldest:
    case Start::Kind::kSnapshot:  // if no checkpoint is usable
      return StartingPoint{oldest_of(attachment), ""};
    case Start::Kind::kSequence:
      return StartingPoint{options.start.value, ""};
    case Start::Kind::kTime: {
      const absl::StatusOr<Sequence> found =
          attachment.journal()->find_time(options.start.value, attachment.bounds());
      if (!found.ok()) return found.status();
      return StartingPoint{*found, ""};
    }
  }
  return StartingPoint{newest + 1, ""};
}

std::string why_start_over(const SessionTrail& trail, Sequence held, const Attachment& attachment) {
  if (attachment.journal() == nullptr) {
    return "the next session keeps no journal to continue from: its sequences begin again";
  }
  if (attachment.journal_id() != trail.journal_id()) {
    const std::vector<ListedJournal> journals = attachment.journals();
    if (std::ranges::find(journals, trail.journal_id(), &ListedJournal::id) == journals.end()) {
      return absl::StrCat("the delivered records are of history ", trail.journal_id().hex(),
                          ", but this bus now keeps journal ", attachment.journal_id().hex());
    }
    return absl::StrCat("journal ", trail.journal_id().hex(),
                        " has ended, because it failed or was ended by `lapwing repair`; journal ",
                        attachment.journal_id().hex(), " follows");
  }
  if (find_session(attachment, trail.current()) == nullptr) {
    return absl::StrCat("the journal was rewritten: it does not list session ",
                        trail.current().hex(), " any more, which was read before");
  }
  if (trail.current() != attachment.session_id() && held >= attachment.session_first()) {
    return absl::StrCat("the journal was rewritten: session ", attachment.session_id().hex(),
                        " begins at sequence ", attachment.session_first(), ", but ", held,
                        " was delivered before");
  }
  return "";
}

Sequence oldest_of(const Attachment& attachment) {
  const Sequence in_ring = attachment.ring() != nullptr ? attachment.ring()->oldest() : 1;
  if (attachment.journal() == nullptr) return in_ring;
  // Load after the ring's oldest: an intact journal that is still empty has not let the ring lap.
  const JournalBounds bounds = attachment.bounds();
  const bool holds_nothing = bounds.archived < bounds.oldest;
  return holds_nothing ? std::max(bounds.oldest, in_ring) : bounds.oldest;
}

}  // namespace lapwing
