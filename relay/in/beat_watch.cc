#include "relay/in/beat_watch.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace lapwing {
namespace {

// The origin's clock may be set back. A beat is not overtaken by more than this.
constexpr std::uint64_t kOvertakenNs = 1'000'000'000;

}  // namespace

bool BeatWatch::beat(const RelayHeader& header, const RelayBeat& beat, std::uint64_t now_ns) {
  const bool is_overtaken =
      header.time_ns < beat_time_ns_ && beat_time_ns_ - header.time_ns < kOvertakenNs;
  if (is_overtaken) return false;
  const bool is_still =
      has_beat() && origin_.session_id == header.session_id && origin_.head == header.head;
  if (!is_still) head_since_ns_ = now_ns;
  beat_time_ns_ = header.time_ns;
  beat_ = beat;
  journal_id_ = header.journal_id;
  origin_.session_id = header.session_id;
  origin_.head = header.head;
  origin_.durable = header.durable;
  origin_.journal_state = beat.journal_state;
  origin_.sys_errno = beat.sys_errno;
  origin_.publisher = beat.publisher;
  origin_.beat_monotonic_ns = now_ns;
  return true;
}

Sequence BeatWatch::newest(const Id128& session_id, std::uint64_t now_ns) const {
  if (!has_beat()) return kNoSequence;
  const Sequence sent = beat_.sent_session == session_id ? beat_.sent : kNoSequence;
  const bool is_still = origin_.session_id == session_id && now_ns - head_since_ns_ >= kHeadStillNs;
  return is_still ? std::max(sent, origin_.head) : sent;
}

RelayPosition BeatWatch::newest() const {
  if (beat_.sent != kNoSequence) return {beat_.sent_session, beat_.sent};
  return {origin_.session_id, origin_.head};
}

std::string BeatWatch::stale_reason(std::uint64_t now_ns, const std::string& connection) const {
  const std::uint64_t since_ns = has_beat() ? now_ns - *origin_.beat_monotonic_ns : 0;
  if (!has_beat() || since_ns >= kBeatsMissedNs) {
    if (!connection.empty()) return connection;
    if (!has_beat()) return "no beat of the origin has been received";
    return absl::StrCat("no beat of the origin for ", since_ns / 1'000'000, " ms");
  }
  switch (origin_.publisher) {
    case RelayPublisherState::kAlive:
      return "";
    case RelayPublisherState::kSilent:
      return "the origin's publisher is silent";
    case RelayPublisherState::kClosed:
      return "the origin's publisher has closed";
    case RelayPublisherState::kDead:
      return "the origin's publisher has ended without closing";
  }
  return "";
}

std::optional<std::uint64_t> BeatWatch::next_due_ns(std::uint64_t now_ns) const {
  if (!has_beat()) return std::nullopt;
  const std::uint64_t due_ns = *origin_.beat_monotonic_ns + kBeatsMissedNs;
  return due_ns > now_ns ? std::optional(due_ns) : std::nullopt;
}

}  // namespace lapwing
