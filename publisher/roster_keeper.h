// Keeps roster.json (snapshot/roster.h) up to date.
//
// Thread safety: one thread at a time. Only close() may block, for at most kRosterEndNs.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "lapwing/log.h"
#include "lapwing/thread_placement.h"
#include "publisher/roster_writer.h"
#include "snapshot/roster.h"

namespace lapwing {

inline constexpr std::uint64_t kRosterLookNs = 500'000'000;      // between comparisons
inline constexpr std::uint64_t kRosterRenewNs = 10'000'000'000;  // maximum age of positions

class RosterKeeper {
 public:
  // `identity` contains the session, directory and boot. `expected` is the list at the start of the
  // session, which is already in the file.
  RosterKeeper(const std::string& directory, std::optional<unsigned> group,
               const ThreadPlacement& placement, Roster identity,
               const std::vector<SubscriberInfoFrame>& expected, LogHook log);

  bool is_due(std::uint64_t now_ns) const { return now_ns >= next_ns_; }
  // Starts to write the list if its subscribers have changed since the last write, or if the file
  // is kRosterRenewNs old. Retries a failed write after kRosterRenewNs. Logs the first failure.
  void keep(std::uint64_t now_ns, std::vector<SubscriberInfoFrame> subscribers);
  // Call it when the publisher has closed the session at `head`. Does nothing if keep() was never
  // called, so a failed start leaves the last session's list for the next start.
  void close(const std::vector<SubscriberInfoFrame>& subscribers, Sequence head);

 private:
  // The identity of a subscriber: uid, pid, connect time, and whether it is missing.
  using Key = std::tuple<std::uint32_t, std::uint32_t, std::uint64_t, bool>;

  static std::vector<Key> keys_of(const std::vector<SubscriberInfoFrame>& subscribers);
  void log_failure(const absl::Status& status);

  const std::string path_;
  const LogHook log_;
  RosterWriter writer_;
  Roster roster_;
  std::vector<Key> keys_;  // of the list that is written or being written
  std::uint64_t next_ns_ = 0;
  std::uint64_t renew_ns_ = 0;
  bool has_begun_ = false;  // keep() was called
  bool has_failed_ = false;
};

}  // namespace lapwing
