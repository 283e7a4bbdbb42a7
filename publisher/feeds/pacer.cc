#include "publisher/feeds/pacer.h"

#include <algorithm>
#include <cmath>
#include <ctime>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "lapwing/detail/atomic_word.h"
#include "lapwing/error.h"
#include "os/kernel.h"

namespace lapwing {
namespace {

constexpr char kRecorded[] = "recorded";
constexpr char kRecordedTimes[] = "recorded*";
constexpr double kScheduleNsMax = 4e18;  // 126 years: the limit of a schedule

std::uint64_t schedule_ns(double ns) {
  return static_cast<std::uint64_t>(std::min(ns, kScheduleNsMax));
}

}  // namespace

absl::StatusOr<Pace> parse_pace(const std::string& text) {
  if (text == "max") return Pace{};
  if (text == kRecorded) return Pace{Pace::Kind::kRecorded, 1};
  Pace pace{Pace::Kind::kRate, 0};
  std::string number = text;
  if (absl::StartsWith(text, kRecordedTimes)) {
    pace.kind = Pace::Kind::kRecorded;
    number = text.substr(sizeof kRecordedTimes - 1);
  }
  if (absl::SimpleAtod(number, &pace.factor) && std::isfinite(pace.factor) && pace.factor > 0) {
    return pace;
  }
  return make_error(Errc::kInvalidArgument,
                    absl::StrCat("\"", text,
                                 "\" is not a pace; give max, recorded, recorded*N (N times as "
                                 "fast, above 0), or a number of records per second above 0"));
}

std::uint64_t SystemPaceClock::now_ns() {
  return monotonic_ns();
}

void SystemPaceClock::sleep_until_ns(std::uint64_t until_ns) {
  const timespec until = timespec_of(until_ns);
  // A signal ends the sleep early, so that the caller checks `stopped`.
  ::clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, nullptr);
}

Pacer::Pacer(const Pace& pace, PaceClock& clock, std::function<bool()> stopped)
    : pace_(pace), clock_(clock), stopped_(std::move(stopped)) {}

bool Pacer::wait(std::uint64_t time_ns, std::size_t records) {
  if (pace_.kind == Pace::Kind::kMax) return !stopped_();
  const std::uint64_t due_ns = schedule(time_ns, records);
  for (;;) {
    if (stopped_()) return false;
    const std::uint64_t now_ns = clock_.now_ns();
    if (now_ns >= due_ns) return true;
    if (due_ns - now_ns > kPaceSpinNs) {
      clock_.sleep_until_ns(std::min(due_ns - kPaceSpinNs, now_ns + kPaceSleepNsMax));
    } else {
      spin_pause();
    }
  }
}

// Returns the time at which the batch is due, by the clock.
std::uint64_t Pacer::schedule(std::uint64_t time_ns, std::size_t records) {
  if (!started_) {
    started_ = true;
    start_ns_ = clock_.now_ns();
    last_time_ns_ = time_ns;
  }
  const std::uint64_t before = std::exchange(records_, records_ + records);
  if (pace_.kind == Pace::Kind::kRate) {
    return start_ns_ + schedule_ns(static_cast<double>(before) * 1e9 / pace_.factor);
  }
  if (time_ns > last_time_ns_) {
    elapsed_ns_ += last_time_ns_ != 0 ? std::min(time_ns - last_time_ns_, kSilenceNsMax) : 0;
    last_time_ns_ = time_ns;
  } else if (time_ns != 0 && last_time_ns_ - time_ns > kSilenceNsMax) {
    last_time_ns_ = time_ns;  // a new pass; smaller steps back are out-of-order records
  }
  return start_ns_ + schedule_ns(static_cast<double>(elapsed_ns_) / pace_.factor);
}

}  // namespace lapwing
