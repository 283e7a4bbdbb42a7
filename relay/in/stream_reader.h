// Reads what a mirror lacks from the bus's stream: finds where to begin, reads on from there, and
// finds what the stream lacks.
//
// Only evidence counts: a range is not in the stream if messages before and behind it were seen, or
// the stream's end, or if there is no stream for kNoStreamNs. A stream that does not answer is
// unreachable, and nothing is known of it.
//
// A machine without a clock: times are nanoseconds of any clock that does not go backwards. Calls of
// the transport wait for up to kCallTime.
//
// Thread safety: one thread.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "lapwing/sequence.h"
#include "relay/in/missing.h"
#include "relay/in/stream_search.h"
#include "relay/transport.h"

namespace lapwing {

// The place of records in the history of a bus.
struct RecordPlace {
  std::uint64_t session_row = 0;  // of the begin row of their session, which gives the order
  Sequence first = 0;
  Sequence last = 0;

  bool is_before(std::uint64_t row, Sequence sequence) const {
    return session_row != row ? session_row < row : last < sequence;
  }
};
// Nullopt for a message that cannot be placed.
using PlaceOf = std::function<std::optional<RecordPlace>(std::span<const std::byte> message)>;

// What a call found.
struct StreamFindings {
  std::vector<RelayRange> lacks;  // of the session that is read
  bool is_unreachable = false;
};

class StreamReader {
 public:
  static constexpr std::chrono::milliseconds kCallTime{500};
  static constexpr std::uint64_t kSilenceNs = 1'000'000'000;  // until the next message has to come
  // After the newest message: one that is on its way is not missing yet.
  static constexpr std::uint64_t kCaughtUpNs = 200'000'000;
  static constexpr std::uint64_t kPauseNs = 500'000'000;  // after a failure
  static constexpr std::uint64_t kNoStreamNs = 2'000'000'000;

  bool is_idle() const { return state_ == State::kIdle; }
  bool may_begin(std::uint64_t now_ns) const { return is_idle() && now_ns >= due_ns_; }
  // True if this record of the session was passed, or nothing more is known to come.
  bool has_passed(Sequence sequence) const {
    return state_ == State::kReading && (is_caught_up_ || sequence < wanted_.first);
  }

  // All of these return the errors of a lost connection only.
  //
  // Begins to read with this record of the session, or what follows it. With `follows` it reads on
  // when it has read everything.
  absl::Status begin(RelayTransport& transport, std::uint64_t session_row, Sequence sequence,
                     bool follows, const PlaceOf& place_of, std::uint64_t now_ns);
  // A message of the stream.
  absl::Status take(RelayTransport& transport, std::uint64_t stream_sequence, std::uint64_t pending,
                    const std::optional<RecordPlace>& place, std::uint64_t now_ns);
  // Ends what has waited too long.
  absl::Status expire(RelayTransport& transport, std::uint64_t now_ns);
  // Messages are not taken now: nothing is late.
  void pause(std::uint64_t now_ns) {
    if (!is_idle()) due_ns_ = std::max(due_ns_, now_ns + kSilenceNs);
  }
  // Stops, and may begin again at once.
  void stop(RelayTransport& transport);
  // The reading has ended by itself, or the connection is lost.
  void ended(std::uint64_t now_ns);

  // What was found since the last call.
  StreamFindings take_findings() { return std::exchange(findings_, {}); }
  std::optional<std::uint64_t> next_due_ns() const;

 private:
  enum class State { kIdle, kSearching, kReading };

  absl::Status failed(const absl::Status& status, std::uint64_t now_ns);
  absl::Status probe(RelayTransport& transport, std::uint64_t now_ns);
  absl::Status read(RelayTransport& transport, std::uint64_t stream_sequence, std::uint64_t now_ns);
  void pass(const RecordPlace& place);

  State state_ = State::kIdle;
  RecordPlace wanted_;  // what is read next, or is searched for
  bool follows_ = false;
  bool is_caught_up_ = false;
  StreamSearch search_{0, 0};
  StreamFindings findings_;
  std::uint64_t due_ns_ = 0;              // of expire(), or of the next attempt
  std::uint64_t no_stream_since_ns_ = 0;  // 0: there was one
};

}  // namespace lapwing
