// The state of the origin as its beats show it, and since when it is silent.
//
// A machine without a clock: times are nanoseconds of the monotonic clock.
//
// Thread safety: one thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "lapwing/sequence.h"
#include "proto/relay_frames.h"
#include "publisher/mirror/mirror.h"
#include "relay/in/relay_position.h"

namespace lapwing {

inline constexpr std::uint64_t kBeatIntervalNs = 250'000'000;
// Three beats are missed then.
inline constexpr std::uint64_t kBeatsMissedNs = 3 * kBeatIntervalNs;

class BeatWatch {
 public:
  static constexpr std::uint64_t kHeadStillNs = 1'000'000'000;

  // A beat whose sessions fit. A beat that another one has overtaken, by the origin's clock, is
  // ignored: false.
  bool beat(const RelayHeader& header, const RelayBeat& beat, std::uint64_t now_ns);

  bool has_beat() const { return origin_.beat_monotonic_ns.has_value(); }
  // The last beat. Head and durable are of the journal that its header names.
  const RelayBeat& last_beat() const { return beat_; }
  const MirrorOrigin& origin() const { return origin_; }
  const Id128& journal_id() const { return journal_id_; }  // of the last beat

  // The newest sequence of this session that was sent. A sender that has just begun may not know
  // it; then the head of its newest session counts, once it has stood still for kHeadStillNs.
  Sequence newest(const Id128& session_id, std::uint64_t now_ns) const;
  // The same without waiting for a head: for the choice of a start. Zeros: no records yet.
  RelayPosition newest() const;

  // Why readers are not to take the mirror for live; empty: it is. `connection`: why there is no
  // connection, empty if there is one.
  std::string stale_reason(std::uint64_t now_ns, const std::string& connection) const;
  // When stale_reason() changes by time alone.
  std::optional<std::uint64_t> next_due_ns(std::uint64_t now_ns) const;

 private:
  MirrorOrigin origin_;
  RelayBeat beat_{};
  Id128 journal_id_;
  std::uint64_t head_since_ns_ = 0;
  std::uint64_t beat_time_ns_ = 0;  // by the origin's clock
};

}  // namespace lapwing
