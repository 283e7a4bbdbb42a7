// Counts what a subscriber has delivered. It derives the counts from the sequences, so a bug in the
// state machine shows up here. Records are counted when they are handed out, and records taken on
// the read path are counted as one run.
//
// Thread safety: one thread.
#pragma once

#include <algorithm>
#include <cstdint>

#include "lapwing/gap.h"
#include "lapwing/sequence.h"
#include "lapwing/subscriber.h"

namespace lapwing {

class DeliveryLedger {
 public:
  const SubscriberCounters& counters() const { return counters_; }

  // Counts records first … first + count - 1 as handed out; count is not 0.
  void take(Sequence first, std::uint64_t count) {
    if (first != expected_) [[unlikely]] {
      judge(first, count);
    }
    counters_.records += count;
    counters_.last = first + count - 1;
    expected_ = first + count;
  }

  // Like take(), for records read while catching up. Those in a reported gap count as filled.
  void take_caught_up(Sequence first, std::uint64_t count) {
    take(first, count);
    if (first <= fill_through_) counters_.filled += std::min(count, fill_through_ - first + 1);
  }

  // `count` of the records taken last belong to other instruments and are not handed out.
  void filter_out(std::uint64_t count) {
    counters_.records -= count;
    counters_.filtered += count;
  }
  // Includes records that were not handed out.
  std::uint64_t taken() const { return counters_.records + counters_.filtered; }

  // A gap was reported. Its records will be read from the journal …
  void gap_to_fill(const Gap& gap) {
    ++counters_.gaps;
    fill_through_ = gap.last;
  }
  // … or will not be delivered …
  void gap_skipped(const Gap& gap) {
    ++counters_.gaps;
    counters_.lost += gap.count();
  }
  // … or end the subscriber, which can be resumed before them.
  void gap_stopped_at() { ++counters_.gaps; }

  // A state as of `as_of` was loaded, which replaces the records from `first` on.
  void covered_by_state(Sequence first, Sequence as_of) {
    counters_.in_state += as_of - first + 1;
    if (expected_ == kNoSequence) {
      resumed_after_ = as_of;
    } else {
      expected_ = as_of + 1;
    }
  }

  // A range that is in no source was reported.
  void lost(const Gap& gap) { counters_.lost += gap.count(); }

  // Counts a state entry as handed out.
  void take_state() { ++counters_.state; }

  void session_seen() { ++counters_.sessions; }
  void reattached() { ++counters_.reattached; }

  // A stored position is continued: everything up to `sequence` has already been taken.
  void resume_after(Sequence sequence) { resumed_after_ = sequence; }
  // The last sequence in this history that the subscriber has; kNoSequence if there is none.
  Sequence held() const { return expected_ == kNoSequence ? resumed_after_ : expected_ - 1; }

  // Another history begins. Its sequences are unrelated to the earlier ones.
  void restart() {
    expected_ = kNoSequence;
    resumed_after_ = kNoSequence;
    fill_through_ = kNoSequence;
  }

 private:
  // The sequence does not follow the last one: it is the first of a history, after a gap, or a
  // fault.
  void judge(Sequence first, std::uint64_t count) {
    if (expected_ == kNoSequence) {
      counters_.first = first;
      return;
    }
    if (first > counters_.last) return;
    const std::uint64_t again = std::min(count, counters_.last - first + 1);
    const bool repeats_last = first + again - 1 == counters_.last;
    counters_.duplicates += repeats_last ? 1 : 0;
    counters_.out_of_order += again - (repeats_last ? 1 : 0);
  }

  Sequence expected_ = kNoSequence;  // the next sequence; kNoSequence: a history begins
  SubscriberCounters counters_;
  Sequence resumed_after_ = kNoSequence;
  Sequence fill_through_ = kNoSequence;  // last sequence of the gap that is being filled
};

}  // namespace lapwing
