// Computes when a batch is due: at once, as recorded, or at a fixed number of records per second.
//
//   max          no waiting
//   recorded     the intervals between the records' own times, silences limited to one second
//   recorded*N   the same, N times as fast
//   RATE         records per second
//
// The schedule starts with the first batch, so a delayed publisher catches up. A wait sleeps until
// shortly before the due time, and then spins.
//
// Thread safety: one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

#include "absl/status/statusor.h"

namespace lapwing {

inline constexpr std::uint64_t kSilenceNsMax = 1'000'000'000;  // recorded time, before the factor
inline constexpr std::uint64_t kPaceSpinNs = 100'000;          // spins this long before it is due
inline constexpr std::uint64_t kPaceSleepNsMax = 50'000'000;   // between calls of `stopped`

struct Pace {
  enum class Kind { kMax, kRecorded, kRate };
  Kind kind = Kind::kMax;
  double factor = 1;  // kRecorded: how many times as fast; kRate: records per second

  // True if batches should end with their burst; see FeedOptions.
  bool by_burst() const { return kind != Kind::kMax; }
};

// Errors: kInvalidArgument, whose message lists the forms.
absl::StatusOr<Pace> parse_pace(const std::string& text);

// A pacer's time source; tests use their own.
class PaceClock {
 public:
  virtual ~PaceClock() = default;
  virtual std::uint64_t now_ns() = 0;                       // monotonic
  virtual void sleep_until_ns(std::uint64_t until_ns) = 0;  // may return earlier
};

// CLOCK_MONOTONIC.
class SystemPaceClock : public PaceClock {
 public:
  std::uint64_t now_ns() override;
  void sleep_until_ns(std::uint64_t until_ns) override;
};

class Pacer {
 public:
  // Borrows the clock. A wait ends if `stopped` returns true. `stopped` is called at least every
  // kPaceSleepNsMax.
  Pacer(const Pace& pace, PaceClock& clock, std::function<bool()> stopped);

  // Waits until the batch is due. The batch has `records` records, and the first record's time is
  // `time_ns` (0: no time, so the batch is due with the previous one). Returns false if stopped.
  bool wait(std::uint64_t time_ns, std::size_t records);

 private:
  std::uint64_t schedule(std::uint64_t time_ns, std::size_t records);

  const Pace pace_;
  PaceClock& clock_;
  const std::function<bool()> stopped_;
  bool started_ = false;
  std::uint64_t start_ns_ = 0;      // of the schedule, by the clock
  std::uint64_t elapsed_ns_ = 0;    // recorded time since then, silences limited
  std::uint64_t last_time_ns_ = 0;  // the latest record time
  std::uint64_t records_ = 0;       // scheduled so far
};

}  // namespace lapwing
