// Where a mirror without a journal begins.
//
// Thread safety: pure function.
#pragma once

#include <cstddef>
#include <optional>
#include <span>

#include "lapwing/sequence.h"
#include "proto/relay_frames.h"
#include "relay/in/relay_position.h"

namespace lapwing {

enum class RelayStart {
  kStart,       // with the oldest record that the origin has
  kLive,        // with the segment of the origin's newest record
  kCheckpoint,  // with the segment of the origin's newest checkpoint
};

struct StartPoint {
  std::size_t session = 0;  // position in the list
  Sequence oldest = 1;  // the first sequence of a segment, at or before the session's first record
};

// The first sequence of the segment that contains `sequence`.
constexpr Sequence segment_start(Sequence sequence, std::uint64_t segment_slots) {
  return (sequence - 1) / segment_slots * segment_slots + 1;
}

// `sessions`: as the origin lists them, at least one. `oldest`: that its newest journal retains.
// `newest`: of its records. `checkpoint`: for kCheckpoint, everything up to there is known already;
// without one, the start is that of kStart.
StartPoint start_point(RelayStart start, std::span<const RelaySession> sessions, Sequence oldest,
                       const RelayPosition& newest,
                       const std::optional<RelayPosition>& checkpoint = {});

}  // namespace lapwing
