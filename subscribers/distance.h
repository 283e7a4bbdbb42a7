// How far a batch reader lets a busy publisher get ahead before it polls again. Reading each cache
// line while it is being written slows both down, and nothing can be prefetched directly behind the
// writer (docs/explanation/adr/0012-reading-in-runs.md).
//
// Thread safety: one thread.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>

#include "lapwing/detail/atomic_word.h"

namespace lapwing {

class Distance {
 public:
  // Call it after a read of `records` consecutive records. `found_end`: the next did not exist yet.
  void on_read(std::uint64_t records, bool found_end) {
    run_ += records;
    if (found_end) [[unlikely]] {
      due_ = run_ >= kRunMin;
      pauses_ = due_ ? pauses_after(run_) : 0;
      run_ = 0;
    }
  }

  // True if the last read ended a run at the newest record. The batch ends there.
  bool is_due() const { return due_; }
  // Pauses if it is due.
  void keep() {
    if (std::exchange(due_, false)) [[unlikely]]
      fall_behind(pauses_);
  }
  // Cancels a due pause, because enough time has passed without it.
  void time_has_passed() { due_ = false; }

  // The number of pauses in the next keep().
  std::uint64_t pauses() const { return due_ ? pauses_ : 0; }

  // 256 pauses take 7 us: 40 KiB of 64-byte slots at a hundred million records per second.
  static constexpr std::uint64_t kPausesMax = 256;
  // 2 records per 27 ns pause are 74 million records per second: a publisher at full speed.
  static constexpr std::uint64_t kBusyRecordsPerPause = 2;

 private:
  std::uint64_t pauses_after(std::uint64_t run) const {
    const bool flat_out = pauses_ > 0 && run >= kBusyRecordsPerPause * pauses_;
    return std::clamp(flat_out ? 2 * pauses_ : pauses_ / 2, kPausesMin, kPausesMax);
  }

  std::uint64_t run_ = 0;     // records since the last read that found the end
  std::uint64_t pauses_ = 0;  // for the last run; 0: it was too short for a pause
  bool due_ = false;
};

}  // namespace lapwing
