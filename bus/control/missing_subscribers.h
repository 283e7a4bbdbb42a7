// Subscribers that were attached when the last session ended and have not returned.
//
// A publisher starts with the list that the last one kept (snapshot/roster.h). A subscriber that
// attaches with the same user and name removes one entry. Entries that remain kReturnNs after the
// start are missing: they are listed, and each is one event. Entries that were missing in an earlier
// session are missing from the start. An entry stays, over any number of sessions, until its
// subscriber returns or a Forget removes it.
//
// Thread safety: one thread.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "os/process_state.h"
#include "proto/control_frames.h"

namespace lapwing {

// A subscriber that runs attaches again well within this time.
inline constexpr std::uint64_t kReturnNs = 2'000'000'000;

class MissingSubscribers {
 public:
  // At most kMissingMax of `expected` are kept. Those with the state kMissing were missing before.
  // `now_wall_ns` is the time of the start. The absence of an entry begins with it, unless an
  // earlier session has noted a beginning.
  MissingSubscribers(std::vector<SubscriberInfoFrame> expected, std::uint64_t now_wall_ns);

  // Removes the entry of this process. If there is none, removes the first entry with this user and
  // name.
  void remove_returned(uid_t uid, const std::string& name, std::uint32_t pid,
                       std::uint64_t process_start);
  // Those that have become missing since the last call. The first call returns those that were
  // missing before, and starts kReturnNs for the others.
  std::span<const SubscriberInfoFrame> take_overdue(std::uint64_t now_ns);
  // When take_overdue() is due; UINT64_MAX: never again.
  std::uint64_t deadline_ns() const;

  // Those that are missing.
  std::span<const SubscriberInfoFrame> list() const { return missing_; }
  // The same, and those that may still return in time: what the next session has to expect.
  std::vector<SubscriberInfoFrame> all() const;

  // Removes those that are missing: of that name, or all. Returns what it removed.
  std::vector<SubscriberInfoFrame> forget(const std::string& name);
  std::vector<SubscriberInfoFrame> forget_all();

 private:
  std::vector<SubscriberInfoFrame> missing_;
  std::vector<SubscriberInfoFrame> awaited_;  // until due_ns_
  std::uint64_t due_ns_ = 0;                  // 0: before the first take_overdue()
};

// The identity of a listed subscriber's process, as the publisher with these namespaces noted it.
ProcessIdentity process_of(const SubscriberInfoFrame& subscriber,
                           const ProcessNamespaces& namespaces);

// An event of a subscriber that is missing.
EventInfoFrame event_of_missing(BusEventKind kind, const SubscriberInfoFrame& subscriber);

}  // namespace lapwing
