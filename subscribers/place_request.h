// Repeats the request for a client slot for a subscriber that follows without a connection: after
// one second, then at doubled intervals, up to kPlaceIntervalNsMax. The intervals are long because
// the publisher counts and logs each refusal.
//
// Thread safety: one thread. Owns the socket until a slot is assigned.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>

#include "absl/status/statusor.h"
#include "bus/control/client.h"

namespace lapwing {

inline constexpr std::uint64_t kPlaceIntervalNsMin = 1'000'000'000;
inline constexpr std::uint64_t kPlaceIntervalNsMax = 32'000'000'000;
inline constexpr std::uint64_t kPlaceAnswerNs = 1'000'000'000;

class PlaceRequest {
 public:
  // The first request is due after kPlaceIntervalNsMin, because the publisher has just refused.
  void start(std::uint64_t now_ns) {
    stop();
    interval_ns_ = kPlaceIntervalNsMin;
    due_ns_ = now_ns + interval_ns_;
  }
  void stop() { greeting_.reset(); }

  // Runs one step; never blocks. Returns the connection once a publisher has a slot for it.
  std::optional<ControlClient> step(const ClientOptions& options, std::uint64_t now_ns) {
    if (!greeting_) {
      if (now_ns < due_ns_) return std::nullopt;
      absl::StatusOr<ControlClient> begun = ControlClient::begin(options);
      interval_ns_ = std::min(2 * interval_ns_, kPlaceIntervalNsMax);
      due_ns_ = now_ns + interval_ns_;
      if (!begun.ok()) return std::nullopt;
      greeting_ = *std::move(begun);
      gives_up_ns_ = now_ns + kPlaceAnswerNs;
    }
    const absl::StatusOr<bool> welcomed = greeting_->welcomed();
    if (welcomed.ok() && *welcomed) return *std::exchange(greeting_, std::nullopt);
    if (!welcomed.ok() || now_ns >= gives_up_ns_) stop();
    return std::nullopt;
  }

 private:
  std::optional<ControlClient> greeting_;
  std::uint64_t interval_ns_ = kPlaceIntervalNsMin;
  std::uint64_t due_ns_ = 0;
  std::uint64_t gives_up_ns_ = 0;
};

}  // namespace lapwing
