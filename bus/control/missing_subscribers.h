// Subscribers that were attached when the last session ended and have not returned.
//
// A publisher starts with the list that its predecessor stored (snapshot/roster.h). A subscriber
// that attaches with the same user and name removes one entry. Entries that remain kReturnNs after
// the start are missing: they are listed, and each causes one event. Entries that were missing in
// an earlier session are missing from the start. An entry remains, over any number of sessions,
// until its subscriber returns or a Forget removes it.
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

// A running subscriber attaches again well within this time.
inline constexpr std::uint64_t kReturnNs = 2'000'000'000;

class MissingSubscribers {
 public:
  // At most kMissingMax of `expected` are kept. Those with the state kMissing were missing before.
  // `now_wall_ns` is the time of the start. An entry's absence begins then, unless an earlier
  // session has recorded when it began.
  MissingSubscribers(std::vector<SubscriberInfoFrame> expected, std::uint64_t now_wall_ns);

  // Removes the entry of this process. If there is none, removes the first entry with this user and
  // name.
  void remove_returned(uid_t uid, const std::string& name, std::uint32_t pid,
                       std::uint64_t process_start);
  // Returns the subscribers that have become missing since the last call. The first call returns
  // those that were already missing, and starts kReturnNs for the others.
  std::span<const SubscriberInfoFrame> take_overdue(std::uint64_t now_ns);
  // When take_overdue() must be called; UINT64_MAX: not again.
  std::uint64_t deadline_ns() const;

  // The missing subscribers.
  std::span<const SubscriberInfoFrame> list() const { return missing_; }
  // The missing subscribers, and those that may still return in time. The next session expects all
  // of them.
  std::vector<SubscriberInfoFrame> all() const;

  // Remove the missing subscribers with that name, or all of them. Return the removed ones.
  std::vector<SubscriberInfoFrame> forget(const std::string& name);
  std::vector<SubscriberInfoFrame> forget_all();

 private:
  std::vector<SubscriberInfoFrame> missing_;
  std::vector<SubscriberInfoFrame> awaited_;  // until due_ns_
  std::uint64_t due_ns_ = 0;                  // 0: before the first take_overdue()
};

// Returns the identity of a listed subscriber's process, as recorded by a publisher in these
// namespaces.
ProcessIdentity process_of(const SubscriberInfoFrame& subscriber,
                           const ProcessNamespaces& namespaces);

// Makes an event for a missing subscriber.
EventInfoFrame event_of_missing(BusEventKind kind, const SubscriberInfoFrame& subscriber);

}  // namespace lapwing
