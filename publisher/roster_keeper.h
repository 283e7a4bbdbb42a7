// Keeps roster.json (snapshot/roster.h) as new as it has to be.
//
// Thread safety: one thread at a time. A call may block on the file system.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "lapwing/log.h"
#include "os/io.h"
#include "snapshot/roster.h"

namespace lapwing {

inline constexpr std::uint64_t kRosterLookNs = 500'000'000;      // between two comparisons
inline constexpr std::uint64_t kRosterRenewNs = 10'000'000'000;  // positions may be so old

class RosterKeeper {
 public:
  RosterKeeper(std::string directory, std::optional<unsigned> group, const Id128& boot_id,
               LogHook log);

  bool is_due(std::uint64_t now_ns) const { return now_ns >= next_ns_; }
  // Writes the file if other subscribers are listed than before, or if it is kRosterRenewNs old.
  // The first failure is logged.
  void keep(std::uint64_t now_ns, std::vector<SubscriberInfoFrame> subscribers);
  // The publisher has closed the session. Does nothing if keep() was never called: a start that
  // failed leaves the list of the last session to the next start.
  void close(std::vector<SubscriberInfoFrame> subscribers);

 private:
  // What tells subscribers apart: uid, pid, time of connecting, since when it is missing.
  using Key = std::tuple<std::uint32_t, std::uint32_t, std::uint64_t, std::uint64_t>;

  static std::vector<Key> keys_of(const std::vector<SubscriberInfoFrame>& subscribers);
  void write();

  const std::string directory_;
  const std::unique_ptr<Disk> disk_;
  const LogHook log_;
  Roster roster_;
  std::vector<Key> keys_;
  std::uint64_t next_ns_ = 0;
  std::uint64_t renew_ns_ = 0;
  bool has_begun_ = false;  // keep() was called
  bool has_kept_ = false;
  bool is_there_ = false;  // a file was written, or one of the last session is there
  bool has_failed_ = false;
};

}  // namespace lapwing
