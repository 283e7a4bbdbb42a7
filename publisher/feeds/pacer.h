// When a batch is due: at once, as it was recorded, or at so many records a second.
//
//   max          no waiting
//   recorded     the distances between the records' own times, silences cut to one second
//   recorded*N   the same, N times as fast
//   RATE         records per second
//
// The schedule is kept from the first batch on, so a publisher that was held up catches up. The
// waiting sleeps until shortly before the moment and spins the rest.
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
inline constexpr std::uint64_t kPaceSpinNs = 100'000;         // before the moment: no more sleeping
inline constexpr std::uint64_t kPaceSleepNsMax = 50'000'000;  // then `stopped` is asked again

struct Pace {
  enum class Kind { kMax, kRecorded, kRate };
  Kind kind = Kind::kMax;
  double factor = 1;  // kRecorded: how many times as fast; kRate: records per second

  // Whether batches should end with their burst: see FeedOptions.
  bool by_burst() const { return kind != Kind::kMax; }
};

// Errors: kInvalidArgument, which names the forms.
absl::StatusOr<Pace> parse_pace(const std::string& text);

// Where a pacer's time comes from; tests have their own.
class PaceClock {
 public:
  virtual ~PaceClock() = default;
  virtual std::uint64_t now_ns() = 0;                       // monotonic
  virtual void sleep_until_ns(std::uint64_t until_ns) = 0;  // or less long
};

// CLOCK_MONOTONIC.
class SystemPaceClock : public PaceClock {
 public:
  std::uint64_t now_ns() override;
  void sleep_until_ns(std::uint64_t until_ns) override;
};

class Pacer {
 public:
  // Borrows the clock. `stopped` ends the waiting; it is asked at least every kPaceSleepNsMax.
  Pacer(const Pace& pace, PaceClock& clock, std::function<bool()> stopped);

  // Waits until the batch is due: `records` records, of which the first has the time `time_ns` (0:
  // none, it is due with the one before). False: stopped.
  bool wait(std::uint64_t time_ns, std::size_t records);

 private:
  std::uint64_t schedule(std::uint64_t time_ns, std::size_t records);

  const Pace pace_;
  PaceClock& clock_;
  const std::function<bool()> stopped_;
  bool started_ = false;
  std::uint64_t start_ns_ = 0;      // of the schedule, by the clock
  std::uint64_t elapsed_ns_ = 0;    // recorded time since then, silences cut
  std::uint64_t last_time_ns_ = 0;  // the latest record time
  std::uint64_t records_ = 0;       // scheduled so far
};

}  // namespace lapwing
