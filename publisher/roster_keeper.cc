#include "publisher/roster_keeper.h"

#include <utility>

#include "absl/strings/str_cat.h"

namespace lapwing {

RosterKeeper::RosterKeeper(const std::string& directory, std::optional<unsigned> group,
                           const ThreadPlacement& placement, Roster identity,
                           const std::vector<SubscriberInfoFrame>& expected, LogHook log)
    : path_(absl::StrCat(directory, "/", kRosterFileName)),
      log_(std::move(log)),
      writer_(directory, group, placement),
      roster_(std::move(identity)),
      keys_(keys_of(expected)) {}

std::vector<RosterKeeper::Key> RosterKeeper::keys_of(
    const std::vector<SubscriberInfoFrame>& subscribers) {
  std::vector<Key> keys;
  for (const SubscriberInfoFrame& one : subscribers) {
    keys.emplace_back(one.uid, one.pid, one.connected_wall_ns, one.state == ClientState::kMissing);
  }
  return keys;
}

void RosterKeeper::keep(std::uint64_t now_ns, std::vector<SubscriberInfoFrame> subscribers) {
  next_ns_ = now_ns + kRosterLookNs;
  has_begun_ = true;
  const absl::Status last = writer_.last();
  log_failure(last);
  std::vector<Key> keys = keys_of(subscribers);
  const bool is_old = now_ns >= renew_ns_ && (!keys.empty() || !last.ok());
  if (keys == keys_ && !is_old) return;
  keys_ = std::move(keys);
  renew_ns_ = now_ns + kRosterRenewNs;
  roster_.subscribers = std::move(subscribers);
  log_failure(writer_.write(roster_));
}

void RosterKeeper::close(const std::vector<SubscriberInfoFrame>& subscribers, Sequence head) {
  if (!has_begun_ || (subscribers.empty() && keys_.empty() && writer_.last().ok())) return;
  roster_.closed = true;
  roster_.subscribers = left_by_close(subscribers, head, roster_.namespaces);
  const absl::Status begun = writer_.write(roster_);
  log_failure(begun.ok() ? writer_.finish() : begun);
}

void RosterKeeper::log_failure(const absl::Status& status) {
  if (status.ok() || std::exchange(has_failed_, true) || !log_) return;
  log_(log_entry(LogEvent::kJournalTrouble,
                 absl::StrCat(path_, " cannot be written: ", status.message(),
                              ". After a restart, monitors may not list missing subscribers."),
                 {{"path", path_}}));
}

}  // namespace lapwing
