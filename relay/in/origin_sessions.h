// The sessions that the origin lists, and whether a message fits to them.
//
// Every message has the index and the hash of the newest begin or end row of its sender's
// `sessions`. Each row contains the hash of the row before, so one hash identifies all sessions.
//
// Thread safety: one thread.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "lapwing/sequence.h"
#include "proto/relay_frames.h"

namespace lapwing {

enum class SessionFit {
  kFits,
  kNewer,    // the sender lists more: fetch its sessions
  kUnknown,  // of a row that is not listed any more
  kForeign,  // the row has another hash: another history
};

class OriginSessions {
 public:
  const std::vector<RelaySession>& list() const { return list_; }
  bool empty() const { return list_.empty(); }
  // Index and hash of the newest row; 0 if the list is empty.
  std::uint64_t row() const;
  std::uint64_t hash() const;
  std::optional<std::size_t> position(const Id128& session_id) const;

  SessionFit fit(std::uint64_t row, std::uint64_t hash) const;

  // Takes a list that was received later. The origin may have added sessions, and ended the one that
  // was open. Sessions that it has dropped stay. A list that ends before this one is ignored if it
  // fits.
  // Errors: kReset for the sessions of another history, with the difference.
  absl::Status replace(std::vector<RelaySession> list);

  // Takes rows that the origin sent with its records, if they continue the list: they contain its
  // newest session, and end with the sender's newest row. False: they do not, or differ from the
  // list; fetch it.
  bool extend(std::span<const RelaySession> rows, std::uint64_t row, std::uint64_t hash);

  // The position of the mirror's newest session in the list. The mirror's list is compared by value
  // with the sessions at the same place. Errors: kReset with the difference.
  absl::StatusOr<std::size_t> locate(std::span<const RelaySession> mirror) const;

 private:
  std::vector<RelaySession> list_;
};

// The rows of an answer, which come in several messages and may come twice.
class SessionGathering {
 public:
  // How many sessions precede the next one that is wanted.
  std::uint64_t next() const { return rows_.size(); }
  // Rows with a hole before them are ignored. Rows that contradict earlier ones start again.
  void add(std::uint64_t first, std::span<const RelaySession> rows);
  // The gathered list, if it ends with the row that its sender named. Starts again.
  std::optional<std::vector<RelaySession>> take(std::uint64_t row, std::uint64_t hash);
  void restart() { rows_.clear(); }

 private:
  std::vector<RelaySession> rows_;
};

}  // namespace lapwing
