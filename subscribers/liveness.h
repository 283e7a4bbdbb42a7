// Tracks whether a subscriber is live, for the kBehind and kLive events that its options request.
//
// It falls behind when more than behind_records published records have not been taken, or when one
// of them has been available for behind_time. Each look notes the bus's head, from which later
// looks determine how long records have been available. The subscriber is live again when it has
// taken everything, or is behind by at most half of each set limit. A gap or the end of a session
// also means that it is not live.
//
// Thread safety: one thread.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <string>

#include "absl/container/inlined_vector.h"
#include "absl/strings/str_cat.h"
#include "lapwing/sequence.h"
#include "lapwing/subscriber.h"
#include "os/deadline.h"

namespace lapwing {

class Liveness {
 public:
  struct Look {
    Sequence next;         // the next record to take
    Sequence head;         // the newest published record
    std::uint64_t now_ns;  // CLOCK_MONOTONIC
    bool reads_ring;       // false: the journal
  };
  struct Change {
    EventKind kind = EventKind::kLive;  // or kBehind
    std::string text = {};
  };

  explicit Liveness(const SubscriberOptions& options)
      : records_max_(options.behind_records), age_max_ns_(ns_or_zero(options.behind_time)) {}

  bool is_told() const { return records_max_ != 0 || age_max_ns_ != 0; }
  // True if requested and not live: it becomes live the next time nothing is left to read.
  bool is_awaited() const { return is_told() && !is_live_; }

  // Ends the live state if an event of this kind implies it.
  void end_at(EventKind kind) {
    switch (kind) {
      case EventKind::kGap:
      case EventKind::kLost:
      case EventKind::kReset:
      case EventKind::kPublisherGone:
      case EventKind::kClosed:
        return set_live(false);
      default:
        return;
    }
  }

  // Returns the change since the last look, if there is one.
  std::optional<Change> look(const Look& look) {
    forget_taken(look.next);
    const std::uint64_t lag = look.head >= look.next ? look.head - look.next + 1 : 0;
    const std::uint64_t age_ns = seen_.empty() ? 0 : look.now_ns - seen_.front().at_ns;
    if (is_live_) {
      if (std::optional<Change> behind = judge(lag, age_ns)) {
        set_live(false);
        note(look);
        return behind;
      }
    } else if (look.reads_ring && (lag == 0 || has_room(lag, look))) {
      set_live(true);
      note(look);
      return Change{};
    }
    note(look);
    return std::nullopt;
  }

  // The maximum number of records to take between two looks, at most `most`.
  std::uint64_t records_between_looks(std::uint64_t most) const {
    if (!is_told()) return most;
    const std::uint64_t by_records = records_max_ == 0 ? most : records_max_ / 2;
    const std::uint64_t by_time = age_max_ns_ == 0 ? most : kRecordsByTime;
    return std::clamp(std::min(by_records, by_time), kRecordsMin, most);
  }

 private:
  static constexpr std::size_t kNotesMax = 8;  // notes of the head within age_max_ns_
  // A look costs about as much as taking ten records.
  static constexpr std::uint64_t kRecordsMin = 64;
  static constexpr std::uint64_t kRecordsByTime = 256;

  // The bus's head at a time.
  struct Seen {
    Sequence head;
    std::uint64_t at_ns;
  };

  void set_live(bool live) {
    is_live_ = live;
    seen_.clear();
    reached_.reset();
  }

  void forget_taken(Sequence next) {
    const auto missing =
        std::ranges::find_if(seen_, [next](const Seen& seen) { return seen.head >= next; });
    if (missing != seen_.begin()) reached_ = *std::prev(missing);
    seen_.erase(seen_.begin(), missing);
  }

  std::optional<Change> judge(std::uint64_t lag, std::uint64_t age_ns) const {
    if (records_max_ != 0 && lag > records_max_) {
      return Change{EventKind::kBehind,
                    absl::StrCat(lag,
                                 " records are published that were not taken; behind_records "
                                 "is ",
                                 records_max_)};
    }
    if (age_max_ns_ != 0 && age_ns > age_max_ns_) {
      return Change{
          EventKind::kBehind,
          absl::StrCat("of ", lag, " records that were not taken, the oldest has been there for ",
                       age_ns / 1000, " us or more; behind_time is ", age_max_ns_ / 1000, " us")};
    }
    return std::nullopt;
  }

  // True if a subscriber that is not live and is some records behind uses at most half of each
  // limit. For the time limit, this means that the newest noted head it has reached is at most half
  // of behind_time old.
  bool has_room(std::uint64_t lag, const Look& look) const {
    if (records_max_ != 0 && lag > records_max_ / 2) return false;
    return age_max_ns_ == 0 || (reached_ && look.now_ns - reached_->at_ns <= age_max_ns_ / 2);
  }

  void note(const Look& look) {
    if (age_max_ns_ == 0 || look.head < look.next || seen_.size() == kNotesMax) return;
    if (!seen_.empty() && look.now_ns - seen_.back().at_ns < age_max_ns_ / kNotesMax) return;
    seen_.push_back({look.head, look.now_ns});
  }

  const std::uint64_t records_max_;
  const std::uint64_t age_max_ns_;
  bool is_live_ = false;
  absl::InlinedVector<Seen, kNotesMax> seen_;  // heads not reached yet, oldest first
  std::optional<Seen> reached_;                // the newest noted head that was reached
};

}  // namespace lapwing
