#include "publisher/roster_keeper.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "os/kernel.h"
#include "os/posix_io.h"

namespace lapwing {

RosterKeeper::RosterKeeper(std::string directory, std::optional<unsigned> group,
                           const Id128& boot_id, LogHook log)
    : directory_(std::move(directory)),
      disk_(std::make_unique<PosixDisk>(group)),
      log_(std::move(log)) {
  disk_->anchor(directory_);
  roster_.boot_id = boot_id;
  roster_.namespaces = own_namespaces();
  is_there_ = disk_->exists(absl::StrCat(directory_, "/", kRosterFileName)).value_or(false);
}

std::vector<RosterKeeper::Key> RosterKeeper::keys_of(
    const std::vector<SubscriberInfoFrame>& subscribers) {
  std::vector<Key> keys;
  for (const SubscriberInfoFrame& one : subscribers) {
    keys.emplace_back(one.uid, one.pid, one.connected_wall_ns, one.missing_since_wall_ns);
  }
  return keys;
}

void RosterKeeper::keep(std::uint64_t now_ns, std::vector<SubscriberInfoFrame> subscribers) {
  next_ns_ = now_ns + kRosterLookNs;
  has_begun_ = true;
  if (subscribers.empty() && !is_there_) return;
  std::vector<Key> keys = keys_of(subscribers);
  const bool is_old = now_ns >= renew_ns_ && !keys.empty();
  if (has_kept_ && keys == keys_ && !is_old) return;
  has_kept_ = true;
  keys_ = std::move(keys);
  renew_ns_ = now_ns + kRosterRenewNs;
  roster_.subscribers = std::move(subscribers);
  write();
}

void RosterKeeper::close(std::vector<SubscriberInfoFrame> subscribers) {
  if (!has_begun_ || (subscribers.empty() && !is_there_)) return;
  roster_.closed = true;
  roster_.subscribers = std::move(subscribers);
  write();
}

void RosterKeeper::write() {
  const absl::Status written = write_roster(*disk_, directory_, roster_);
  is_there_ |= written.ok();
  if (written.ok() || std::exchange(has_failed_, true) || !log_) return;
  log_(log_entry(
      LogEvent::kJournalTrouble,
      absl::StrCat(directory_, "/", kRosterFileName, " cannot be written: ", written.message(),
                   ". After a restart, monitors may not list missing subscribers."),
      {{"path", absl::StrCat(directory_, "/", kRosterFileName)}}));
}

}  // namespace lapwing
