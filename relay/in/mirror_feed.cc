#include "relay/in/mirror_feed.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "lapwing/error.h"
#include "proto/ring_layout.h"

namespace lapwing {
namespace {

bool has_end(const RelaySession& session) {
  return session.how != SessionEnd::kNone;
}

// An error that another call repairs.
bool is_stall(const absl::Status& status) {
  const Errc error = errc_of(status);
  return error == Errc::kTimedOut || error == Errc::kNoSpace || error == Errc::kWouldBlock;
}

}  // namespace

MirrorFeed::MirrorFeed(const MirrorFeedOptions& options, MirrorWriter& mirror,
                       const OriginSessions& sessions, const BeatWatch& watch)
    : options_(options),
      mirror_(mirror),
      sessions_(sessions),
      watch_(watch),
      missing_(options.missing),
      held_(options.held_bytes_max) {}

const RelaySession* MirrorFeed::session() const {
  return place_ ? &sessions_.list()[place_->session] : nullptr;
}

bool MirrorFeed::is_full() const {
  const bool is_half_full = held_.bytes() >= options_.held_bytes_max / 2;
  return is_half_full && place_ && held_.find(session()->begin_row, place_->next) != nullptr;
}

// True if the mirror's session has its end and continues: its journal has failed.
bool MirrorFeed::has_ended() const {
  return has_begun_ && has_end(mirror_.sessions().back());
}

void MirrorFeed::enter(const MirrorPlace& place) {
  leave();
  place_ = place;
  session_id_ = session()->session_id;
  gaps_changed_ = true;
}

void MirrorFeed::leave() {
  place_.reset();
  has_begun_ = false;
  bus_.reset();  // that of the next session may have another ring
  files_.clear();
  seen_ = 0;
  missing_.clear();
  ++generation_;
}

absl::Status MirrorFeed::sessions_changed() {
  if (!mirror_.sessions().empty()) {
    if (auto newest = sessions_.locate(mirror_.sessions()); !newest.ok()) return newest.status();
  }
  if (!place_) return find_place();
  const std::optional<std::size_t> position = sessions_.position(session_id_);
  if (position) {
    place_->session = *position;
  } else {
    leave();
  }
  gaps_changed_ = true;
  return absl::OkStatus();
}

absl::Status MirrorFeed::find_place() {
  if (sessions_.empty()) return absl::OkStatus();
  if (mirror_.sessions().empty()) {
    find_start();
    return absl::OkStatus();
  }
  const absl::StatusOr<std::size_t> newest = sessions_.locate(mirror_.sessions());
  if (!newest.ok()) return newest.status();
  if (!has_end(mirror_.sessions().back())) {
    enter({*newest, mirror_.next()});
  } else if (*newest + 1 < sessions_.list().size()) {
    const RelaySession& session = sessions_.list()[*newest + 1];
    oldest_ = segment_start(session.first, session.segment_slots);
    enter({*newest + 1, session.first});
  }
  return absl::OkStatus();
}

void MirrorFeed::find_start() {
  if (!watch_.has_beat() || wants_checkpoint()) return;
  const StartPoint start = start_point(options_.start, sessions_.list(), watch_.last_beat().oldest,
                                       watch_.newest(), checkpoint_);
  oldest_ = start.oldest;
  enter({start.session, std::max(start.oldest, sessions_.list()[start.session].first)});
}

std::optional<WantedFile> MirrorFeed::wanted_file() const {
  if (!wants_begin()) return std::nullopt;
  for (const WantedFile& file : {WantedFile{RelayFile::kDescription, session()->schema_hash},
                                 WantedFile{RelayFile::kMetadata, session()->metadata_hash}}) {
    if (file.hash != 0 && !files_.contains(file)) return file;
  }
  return std::nullopt;
}

void MirrorFeed::give_file(const WantedFile& file, std::string bytes) {
  files_[file] = std::move(bytes);
}

bool MirrorFeed::wants_checkpoint() const {
  return options_.start == RelayStart::kCheckpoint && mirror_.sessions().empty() &&
         !has_checkpoint_answer_;
}

void MirrorFeed::give_checkpoint(const std::optional<RelayPosition>& position) {
  has_checkpoint_answer_ = true;
  checkpoint_ = position;
}

absl::Status MirrorFeed::advance(std::uint64_t now_ns) {
  if (now_ns < stalled_until_ns_) return absl::OkStatus();
  for (;;) {
    if (!place_) {
      if (absl::Status status = find_place(); !status.ok()) return status;
    }
    if (!place_) return absl::OkStatus();
    const Advanced advanced = has_begun_ ? step(now_ns) : begin(now_ns);
    if (is_stall(advanced.status())) {
      stall(now_ns);
      break;
    }
    if (!advanced.ok()) return advanced.status();
    if (*advanced == Progress::kNone) break;
  }
  look_for_gaps(now_ns);
  return absl::OkStatus();
}

MirrorFeed::Advanced MirrorFeed::step(std::uint64_t now_ns) {
  // The end of the session limits where an absence may end.
  if (!knows_end_ && has_end(*session()) && !has_ended()) return begin(now_ns);
  Advanced advanced = put_held(now_ns);
  if (!advanced.ok() || *advanced == Progress::kMade) return advanced;
  advanced = put_absence(now_ns);
  if (!advanced.ok() || *advanced == Progress::kMade) return advanced;
  return end(now_ns);
}

MirrorFeed::Advanced MirrorFeed::begin(std::uint64_t now_ns) {
  if (!bus_ || wanted_file()) return Progress::kNone;
  MirrorBegin begin;
  begin.session = *session();
  begin.bus = *bus_;
  begin.description = files_[{RelayFile::kDescription, begin.session.schema_hash}];
  begin.metadata = files_[{RelayFile::kMetadata, begin.session.metadata_hash}];
  begin.oldest = oldest_;
  const absl::Status begun = mirror_.begin(begin);
  if (is_stall(begun)) return begun;
  if (errc_of(begun) == Errc::kDamaged && ++damaged_files_ < kDamagedFilesMax) {
    files_.clear();  // they are fetched again
    return Progress::kNone;
  }
  if (!begun.ok()) return begun;
  has_begun_ = true;
  knows_end_ = has_end(begin.session);
  damaged_files_ = 0;
  moved(now_ns);
  return Progress::kMade;
}

// After the mirror has more than before.
void MirrorFeed::moved(std::uint64_t now_ns) {
  place_->next = mirror_.next();
  if (place_->next > 1) missing_.have({1, place_->next - 1}, now_ns);
  held_.drop_before(session()->begin_row, place_->next);
}

MirrorFeed::Advanced MirrorFeed::put_held(std::uint64_t now_ns) {
  const HeldMessage* const held = held_.find(session()->begin_row, place_->next);
  if (held == nullptr) return Progress::kNone;
  const Sequence before = place_->next;
  const absl::Status status = put(held->header, held->records, held->source, now_ns);
  if (!status.ok()) return status;
  return place_->next > before ? Progress::kMade : Progress::kNone;
}

// Where an absence can end: with a block, or with the session. If the origin has records behind it
// in its last block, they are given up with it. Nullopt: not yet.
std::optional<RelayRange> MirrorFeed::whole_blocks(const AbsentRange& absent,
                                                   std::uint64_t now_ns) const {
  const std::uint64_t block = slots_per_block(session()->slot_bytes);
  const bool has_limit = has_end(*session()) && !has_ended();
  if (absent.last % block == 0 || (has_limit && absent.last == session()->last)) {
    return RelayRange{absent.first, absent.last};
  }
  const Sequence below = absent.last - absent.last % block;
  if (below >= absent.first) return RelayRange{absent.first, below};
  // What follows in the block may still come, or be absent as well.
  const std::vector<RelayRange> wanted = missing_.ranges();
  if (wanted.front().last > absent.last) return std::nullopt;
  const Sequence end = has_limit ? std::min(below + block, session()->last) : below + block;
  if (end > newest(now_ns)) return std::nullopt;
  return RelayRange{absent.first, end};
}

MirrorFeed::Advanced MirrorFeed::put_absence(std::uint64_t now_ns) {
  const std::optional<AbsentRange> absent = missing_.absent(now_ns);
  if (!absent || absent->first != place_->next) return Progress::kNone;
  const std::optional<RelayRange> range = whole_blocks(*absent, now_ns);
  if (!range) return Progress::kNone;
  const absl::Status status =
      mirror_.put_absent(range->first, range->last, absent->cause, Deadline(options_.mirror_wait));
  if (errc_of(status) == Errc::kInvalidArgument && has_ended()) {
    // A ring without a journal cannot have a hole. The next session continues.
    leave();
    return Progress::kNone;
  }
  if (!status.ok()) return status;
  counts_.absent += range->size();
  missing_.absence_is_written(*range);
  moved(now_ns);
  return Progress::kMade;
}

MirrorFeed::Advanced MirrorFeed::end(std::uint64_t now_ns) {
  const bool has_next = place_->session + 1 < sessions_.list().size();
  if (has_ended()) {
    if (!has_next) return Progress::kNone;
    leave();
    return Progress::kMade;
  }
  if (!has_end(*session()) || mirror_.next() <= session()->last) return Progress::kNone;
  const bool continues = continues_unarchived(*session()) && !has_next;
  absl::Status ended = mirror_.end(*session(), Deadline(options_.mirror_wait));
  if (!ended.ok()) return ended;
  if (continues) {
    moved(now_ns);
    gaps_changed_ = true;
  } else {
    held_.drop_session(session()->begin_row);
    leave();
  }
  return Progress::kMade;
}

// `session`: of the message, unless it is refused or waits for the sessions.
MessageVerdict MirrorFeed::place_message(const RelayHeader& header, std::size_t& session) {
  const bool has_sessions = !mirror_.sessions().empty();
  const MirrorPlace here = place_.value_or(MirrorPlace{});
  Judgement judgement = judge(header, sessions_, here);
  session = judgement.session;
  if (judgement.verdict == MessageVerdict::kRefused) {
    ++counts_.refused;
    last_refusal_ = std::move(judgement.reason);
  }
  const bool has_place = judgement.verdict == MessageVerdict::kPut ||
                         judgement.verdict == MessageVerdict::kAhead ||
                         judgement.verdict == MessageVerdict::kLater;
  // Without a place the mirror has all sessions, or has not begun yet.
  if (has_place && !place_) return has_sessions ? MessageVerdict::kEarlier : MessageVerdict::kLater;
  if (judgement.verdict == MessageVerdict::kPut && !has_begun_) return MessageVerdict::kAhead;
  return judgement.verdict;
}

absl::StatusOr<MessageVerdict> MirrorFeed::take(const RelayMessage& message,
                                                const RelaySource& source, std::uint64_t now_ns) {
  std::size_t session = 0;
  const MessageVerdict verdict = place_message(message.header, session);
  switch (verdict) {
    case MessageVerdict::kSessions:
    case MessageVerdict::kRefused:
      return verdict;
    case MessageVerdict::kEarlier:
      if (absl::Status status = compare(message, source); !status.ok()) return status;
      return verdict;
    case MessageVerdict::kAhead:
    case MessageVerdict::kLater:
      hold(message, source, session, now_ns);
      return verdict;
    case MessageVerdict::kPut:
      break;
  }
  seen_ = std::max(seen_, message.header.first + message.header.count - 1);
  if (now_ns < stalled_until_ns_) {
    hold(message, source, session, now_ns);
    return verdict;
  }
  const absl::Status status = put(message.header, message.body, source, now_ns);
  if (is_stall(status)) stall(now_ns);
  if (!status.ok() && !is_stall(status)) return status;
  const bool is_put = message.header.first + message.header.count <= place_->next;
  if (!is_put) hold(message, source, session, now_ns);
  return verdict;
}

void MirrorFeed::hold(const RelayMessage& message, const RelaySource& source, std::size_t session,
                      std::uint64_t now_ns) {
  const RelayHeader& header = message.header;
  const Sequence last = header.first + header.count - 1;
  const bool is_here = place_ && session == place_->session;
  if (is_here) {
    seen_ = std::max(seen_, last);
    missing_.have({header.first, last}, now_ns);
  }
  gaps_changed_ = true;
  held_.hold(sessions_.list()[session].begin_row,
             {header, {message.body.begin(), message.body.end()}, source});
}

// Records that the mirror may have are compared and the others put.
absl::Status MirrorFeed::put(const RelayHeader& header, std::span<const std::byte> records,
                             const RelaySource& source, std::uint64_t now_ns) {
  std::span<const std::byte> part = records;
  if (has_end(*session()) && !has_ended()) {
    // A message that was kept may reach behind an end that was not known then.
    const Sequence last = session()->last;
    if (header.first > last) return absl::OkStatus();
    part = part.first(std::min<std::uint64_t>(header.count, last - header.first + 1) *
                      header.record_bytes);
  }
  const Sequence before = mirror_.next();
  const absl::Status status =
      mirror_.put(header.first, part, header.time_ns, Deadline(options_.mirror_wait));
  if (errc_of(status) == Errc::kReset) return contradiction(header, part, source);
  const Sequence after = mirror_.next();
  counts_.records += after - before;
  if (status.ok() && before > header.first) {
    counts_.compared += std::min(before, header.first + header.count) - header.first;
  }
  if (after > before) put_log_.add(session()->begin_row, {before, after - 1}, source);
  moved(now_ns);
  return status;
}

absl::Status MirrorFeed::compare(const RelayMessage& message, const RelaySource& source) {
  const RelayHeader& header = message.header;
  const bool is_comparable = has_begun_ && header.journal_id == session()->journal_id &&
                             header.first + header.count <= mirror_.next();
  if (!is_comparable) return absl::OkStatus();
  const absl::Status status =
      mirror_.put(header.first, message.body, header.time_ns, Deadline(options_.mirror_wait));
  if (errc_of(status) == Errc::kReset) return contradiction(header, message.body, source);
  if (status.ok()) counts_.compared += header.count;
  return is_stall(status) ? absl::OkStatus() : status;
}

// Finds the first record that differs.
absl::Status MirrorFeed::contradiction(const RelayHeader& header,
                                       std::span<const std::byte> records,
                                       const RelaySource& source) {
  const std::optional<std::size_t> position = sessions_.position(header.session_id);
  const std::uint64_t row = position ? sessions_.list()[*position].begin_row : 0;
  for (std::uint64_t i = 0; i < records.size() / header.record_bytes; ++i) {
    const Sequence n = header.first + i;
    const absl::Status status =
        mirror_.put(n, records.subspan(i * header.record_bytes, header.record_bytes),
                    header.time_ns, Deadline(options_.mirror_wait));
    if (errc_of(status) != Errc::kReset) continue;
    return make_error(
        Errc::kReset,
        absl::StrCat("contradiction: record ", n, " of session ", header.session_id.hex(), " in ",
                     source.text(), " differs from the one in the mirror, which came from ",
                     put_log_.source_of(row, n).text(),
                     ". One of them is not the origin's. Compare them with the origin, and start "
                     "the mirror again with --anew if it is wrong."));
  }
  return make_error(Errc::kReset,
                    absl::StrCat("contradiction: ", source.text(),
                                 " differs from the mirror's records from ", header.first, " on"));
}

void MirrorFeed::gone(const Id128& journal_id, const RelayAbsent& absent, std::uint64_t now_ns) {
  if (!place_ || journal_id != session()->journal_id) return;
  missing_.gone(absent, now_ns);
}

// The newest sequence of the session that can be fetched.
Sequence MirrorFeed::newest(std::uint64_t now_ns) const {
  if (has_end(*session()) && !has_ended()) return session()->last;
  return std::max(seen_, watch_.newest(session()->session_id, now_ns));
}

void MirrorFeed::look_for_gaps(std::uint64_t now_ns) {
  if (!place_ || !has_begun_) return;
  const Sequence through = newest(now_ns);
  const bool is_pruned = watch_.has_beat() && watch_.journal_id() == session()->journal_id &&
                         watch_.last_beat().oldest > place_->next;
  const bool is_due = gaps_changed_ || through != gaps_through_ || is_pruned;
  if (!is_due || now_ns < gaps_due_ns_) return;
  gaps_due_ns_ = now_ns + kGapsNs;
  gaps_changed_ = false;
  gaps_through_ = through;
  if (through < place_->next) return;
  for (const RelayRange& gap : held_.gaps(session()->begin_row, {place_->next, through})) {
    missing_.want(gap, now_ns);
  }
  if (is_pruned) {
    missing_.gone({1, watch_.last_beat().oldest - 1, RelayAbsence::kPruned, 0}, now_ns);
  }
}

void MirrorFeed::stall(std::uint64_t now_ns) {
  ++counts_.stalls;
  missing_.progress(now_ns);
  stalled_until_ns_ = now_ns + kStallNs;
}

std::optional<std::uint64_t> MirrorFeed::next_due_ns() const {
  std::optional<std::uint64_t> due = missing_.next_due_ns();
  if (gaps_changed_) due = std::min(due.value_or(gaps_due_ns_), gaps_due_ns_);
  if (stalled_until_ns_ != 0) due = std::min(due.value_or(stalled_until_ns_), stalled_until_ns_);
  return due;
}

}  // namespace lapwing
