// The control server's refusals and drops: a counter for each reason, and a rate-limited log line
// for each case.
//
// Thread safety: one thread. Time is passed in.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include "bus/control/rate_window.h"
#include "lapwing/log.h"
#include "proto/control_frames.h"

namespace lapwing {

inline constexpr std::uint32_t kLogLinesPerSecondMax = 10;  // the others are counted in one line

class DropLog {
 public:
  explicit DropLog(LogHook sink) : sink_(std::move(sink)) {}

  // Counts the case and logs "control socket: refused WHO (REASON): why".
  void add(DropReason reason, const std::string& who, const std::string& why, std::uint64_t now_ns);
  // Logs the number of omitted lines, once another line may be written.
  void catch_up(std::uint64_t now_ns);
  // When catch_up() will write a line; UINT64_MAX: never.
  std::uint64_t deadline_ns() const;

  // The index is the DropReason minus 1.
  const std::array<std::uint64_t, kDropReasons>& counts() const { return counts_; }
  std::uint64_t count(DropReason reason) const { return counts_[index_of(reason)]; }
  std::uint64_t refused() const { return sum(true); }
  std::uint64_t dropped() const { return sum(false); }

 private:
  static std::size_t index_of(DropReason reason) { return static_cast<std::size_t>(reason) - 1; }
  std::uint64_t sum(bool refusals) const;

  LogHook sink_;
  std::array<std::uint64_t, kDropReasons> counts_{};
  RateWindow lines_{kLogLinesPerSecondMax};
  std::uint64_t lines_omitted_ = 0;
};

}  // namespace lapwing
