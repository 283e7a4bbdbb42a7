// Options and counts of a RelayOut.
//
// Thread safety: plain values.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "lapwing/log.h"
#include "lapwing/sequence.h"
#include "relay/transport.h"

namespace lapwing {

// Where a stream without messages begins.
struct RelayFrom {
  enum class Kind : std::uint32_t { kStart, kLive, kSequence };

  Kind kind = Kind::kStart;
  Sequence sequence = kNoSequence;  // kSequence: in the newest journal
};

// Makes a connection for the bus of that name. Called again after each loss.
using RelayConnect = std::function<absl::StatusOr<std::unique_ptr<RelayTransport>>()>;

struct RelayOutOptions {
  std::string directory = {};  // of the bus
  std::string name = {};       // 1 to kRelayNameBytesMax bytes; empty: the bus's own name
  RelayFrom from = {};
  int zstd_level = 0;                                // of records messages; 0: not compressed
  std::uint64_t ask_rate = std::uint64_t{64} << 20;  // bytes a second; 0: unlimited
  // Records that are further back than stream.bytes_max are not appended; mirrors ask for them.
  RelayStreamOptions stream = {};
  bool until_closed = false;  // end when the bus is closed and the stream has everything
  LogHook log = {};
};

struct RelayOutCounts {
  std::uint64_t records = 0;       // appended to the stream
  std::uint64_t live = 0;          // records sent without being stored
  std::uint64_t messages = 0;      // of all kinds, without answers
  std::uint64_t bytes = 0;         // of these messages
  std::uint64_t skipped = 0;       // records that were not appended, because they were too far back
  std::uint64_t lost = 0;          // records that the bus no longer had
  std::uint64_t doubts = 0;        // how often the end of the stream had to be read
  std::uint64_t asks = 0;          // answered
  std::uint64_t asks_refused = 0;  // because too many were waiting
  std::uint64_t answer_bytes = 0;
  std::uint64_t connections = 0;
  std::uint64_t takeovers = 0;  // from another out
};

}  // namespace lapwing
