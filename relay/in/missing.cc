#include "relay/in/missing.h"

#include <algorithm>
#include <iterator>

namespace lapwing {
namespace {

GapCause cause_of(RelayAbsence absence) {
  switch (absence) {
    case RelayAbsence::kPruned:
      return GapCause::kPruned;
    case RelayAbsence::kDamaged:
      return GapCause::kDamaged;
    case RelayAbsence::kNeverArchived:
      return GapCause::kUpstream;
  }
  return GapCause::kNotRelayed;
}

}  // namespace

// Afterwards no part contains both `sequence` and the one before.
void Missing::split_before(Sequence sequence) {
  auto part = parts_.upper_bound(sequence);
  if (part == parts_.begin()) return;
  --part;
  if (part->first == sequence || part->second.last < sequence) return;
  const Part upper = part->second;
  part->second.last = sequence - 1;
  parts_.emplace_hint(std::next(part), sequence, upper);
}

template <typename Change>
void Missing::change(const RelayRange& range, const Change& change_part) {
  split_before(range.first);
  split_before(range.last + 1);
  for (auto part = parts_.lower_bound(range.first);
       part != parts_.end() && part->first <= range.last; ++part) {
    change_part(part->second);
  }
}

void Missing::want(const RelayRange& range, std::uint64_t now_ns) {
  Sequence next = range.first;
  auto part = parts_.upper_bound(next);
  if (part != parts_.begin()) next = std::max(next, std::prev(part)->second.last + 1);
  while (next <= range.last) {
    const Sequence last = part == parts_.end() ? range.last : std::min(range.last, part->first - 1);
    if (next <= last) {
      Part wanted;
      wanted.last = last;
      wanted.source = options_.stream ? Source::kStream : Source::kMirrors;
      wanted.stream_lacks = !options_.stream;
      wanted.due_ns = now_ns + kGraceNs;
      wanted.since_ns = now_ns;
      parts_.emplace_hint(part, next, wanted);
    }
    if (part == parts_.end()) break;
    next = part->second.last + 1;
    ++part;
  }
}

void Missing::have(const RelayRange& range, std::uint64_t now_ns) {
  const Sequence before = first();
  absence_is_written(range);
  if (first() != before) progress(now_ns);
}

void Missing::absence_is_written(const RelayRange& range) {
  split_before(range.first);
  split_before(range.last + 1);
  parts_.erase(parts_.lower_bound(range.first), parts_.upper_bound(range.last));
}

// What is gone at the origin may still be in a stream that could not be read.
bool Missing::waits_for_stream(const Part& part) const {
  return part.source == Source::kStream || (part.source == Source::kGone && !part.stream_lacks);
}

std::optional<RelayRange> Missing::for_stream(std::uint64_t now_ns) const {
  for (const auto& [first, part] : parts_) {
    if (!waits_for_stream(part)) continue;
    if (part.source == Source::kStream && part.due_ns > now_ns) return std::nullopt;
    return RelayRange{first, part.last};
  }
  return std::nullopt;
}

bool Missing::has_for_stream() const {
  return std::ranges::any_of(parts_,
                             [&](const auto& each) { return waits_for_stream(each.second); });
}

void Missing::stream_lacks(const RelayRange& range, std::uint64_t now_ns) {
  change(range, [&](Part& part) {
    part.stream_lacks = true;
    if (part.source != Source::kStream) return;
    part.source = Source::kMirrors;
    part.due_ns = now_ns;
  });
}

void Missing::stream_is_unreachable(std::uint64_t now_ns) {
  for (auto& [first, part] : parts_) {
    if (part.source != Source::kStream || part.due_ns > now_ns) continue;
    part.source = Source::kMirrors;
    part.due_ns = now_ns;
  }
}

void Missing::try_stream_again(std::uint64_t now_ns) {
  if (!options_.stream) return;
  for (auto& [first, part] : parts_) {
    part.stream_lacks = false;
    if (part.source == Source::kGone || part.in_flight) continue;
    part.source = Source::kStream;
    part.due_ns = std::max(part.due_ns, now_ns);
  }
}

bool Missing::is_askable(const Part& part, std::uint64_t now_ns) const {
  if (part.in_flight || part.due_ns > now_ns) return false;
  if (part.source == Source::kGone) return !part.mirrors_asked || now_ns < part.absent_ns;
  return part.source != Source::kStream;
}

std::optional<Missing::Ask> Missing::next_ask(std::uint64_t records_max, std::uint64_t block_slots,
                                              std::uint64_t now_ns) {
  const auto found = std::find_if(parts_.begin(), parts_.end(), [&](const auto& each) {
    return is_askable(each.second, now_ns);
  });
  if (found == parts_.end()) return std::nullopt;
  const Sequence first = found->first;
  if (found->second.last - first >= records_max) {
    const Sequence end = first + records_max;
    const Sequence block = end - (end - 1) % block_slots;
    split_before(block > first ? block : end);
  }
  Part& part = parts_.find(first)->second;
  part.in_flight = true;
  if (part.source == Source::kGone) part.mirrors_asked = true;
  const RelayAskee to = part.source == Source::kOrigin ? RelayAskee::kOrigin : RelayAskee::kMirrors;
  return Ask{{first, part.last}, to};
}

void Missing::unanswered(const Ask& ask, std::uint64_t now_ns) {
  change(ask.range, [&](Part& part) {
    part.in_flight = false;
    part.due_ns = now_ns;
    if (part.source == Source::kGone || part.source == Source::kStream) return;
    const bool was_origin = ask.to == RelayAskee::kOrigin;
    part.source = was_origin ? Source::kMirrors : Source::kOrigin;
  });
}

void Missing::answered(const Ask& ask, RelayOutcome outcome, std::uint64_t now_ns) {
  constexpr std::uint32_t kDoublingsMax = 6;
  change(ask.range, [&](Part& part) {
    part.in_flight = false;
    if (part.source == Source::kStream) return;
    const bool was_origin = ask.to == RelayAskee::kOrigin;
    if (part.source == Source::kGone) {
      if (was_origin) return;
      part.due_ns = now_ns + kAgainNs;
      // A busy mirror may have it.
      if (outcome == RelayOutcome::kBusy) part.absent_ns = now_ns + kMirrorsHaveNs;
      return;
    }
    switch (outcome) {
      case RelayOutcome::kPartly:
        part.due_ns = now_ns + kMoreNs;
        return;
      case RelayOutcome::kBusy:
        part.due_ns = now_ns + kAgainNs;
        return;
      case RelayOutcome::kOk:
        // A message of the answer was lost.
        part.due_ns = now_ns + kMoreNs;
        if (was_origin) return;
        break;
      case RelayOutcome::kNotHere:
      case RelayOutcome::kRefused:
        break;
    }
    if (!was_origin) {
      part.source = Source::kOrigin;
      part.due_ns = now_ns;
      return;
    }
    part.source = Source::kMirrors;
    part.due_ns = now_ns + (kAgainNs << std::min(part.refusals, kDoublingsMax));
    ++part.refusals;
  });
}

void Missing::gone(const RelayAbsent& absent, std::uint64_t now_ns) {
  change({absent.first, absent.last}, [&](Part& part) {
    if (part.source == Source::kGone) return;
    part.source = Source::kGone;
    part.in_flight = false;
    part.cause = absent.cause;
    part.due_ns = now_ns;
    part.absent_ns = now_ns + kMirrorsHaveNs;
  });
}

bool Missing::given_up(const Part& part, std::uint64_t now_ns) const {
  return options_.give_up_ns != 0 &&
         now_ns - std::max(part.since_ns, progress_ns_) >= options_.give_up_ns;
}

bool Missing::is_absent(const Part& part, std::uint64_t now_ns) const {
  const bool is_gone = part.source == Source::kGone && part.stream_lacks && part.mirrors_asked &&
                       part.absent_ns <= now_ns;
  return is_gone || given_up(part, now_ns);
}

std::optional<AbsentRange> Missing::absent(std::uint64_t now_ns) const {
  if (parts_.empty()) return std::nullopt;
  const auto gap_cause = [](const Part& part) {
    return part.source == Source::kGone ? cause_of(part.cause) : GapCause::kNotRelayed;
  };
  auto part = parts_.begin();
  if (!is_absent(part->second, now_ns)) return std::nullopt;
  AbsentRange absent{part->first, part->second.last, gap_cause(part->second)};
  for (++part; part != parts_.end() && part->first == absent.last + 1; ++part) {
    if (!is_absent(part->second, now_ns) || gap_cause(part->second) != absent.cause) break;
    absent.last = part->second.last;
  }
  return absent;
}

std::optional<std::uint64_t> Missing::next_due_ns() const {
  std::optional<std::uint64_t> due;
  const auto at = [&](std::uint64_t ns) { due = due ? std::min(*due, ns) : ns; };
  for (const auto& [first, part] : parts_) {
    const bool is_gone = part.source == Source::kGone;
    const bool is_asked = is_gone && part.mirrors_asked && part.due_ns >= part.absent_ns;
    if (!part.in_flight && !is_asked) at(part.due_ns);
    if (is_gone) at(part.absent_ns);
  }
  if (options_.give_up_ns != 0 && !parts_.empty()) {
    at(std::max(parts_.begin()->second.since_ns, progress_ns_) + options_.give_up_ns);
  }
  return due;
}

std::vector<RelayRange> Missing::ranges() const {
  std::vector<RelayRange> ranges;
  for (const auto& [first, part] : parts_) {
    if (!ranges.empty() && ranges.back().last + 1 == first) {
      ranges.back().last = part.last;
    } else {
      ranges.push_back({first, part.last});
    }
  }
  return ranges;
}

}  // namespace lapwing
