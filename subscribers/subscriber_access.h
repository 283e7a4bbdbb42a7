// Access to the internals of a Subscriber, for the library only.
#pragma once

#include "absl/status/statusor.h"
#include "lapwing/load_state.h"
#include "lapwing/subscriber.h"
#include "os/interrupt.h"
#include "os/wait_source.h"

namespace lapwing {

struct SubscriberAccess {
  // Like Subscriber::open(). `interrupt` replaces the subscriber's own and must outlive it. So the
  // owner can be interrupted at any time, even while it replaces the subscriber with another one.
  static absl::StatusOr<Subscriber> open(SubscriberOptions options, Interrupt& interrupt);
  // The source stays valid when the subscriber is moved. Null if the subscriber was moved from.
  static WaitSource* wait_source(Subscriber& subscriber);
  // Used for a take() that only checks the next slot.
  static detail::ReadPath& path(Subscriber& subscriber) { return *subscriber.path_; }
  static WaitSource* wait_source(LoadedState& loaded) { return wait_source(loaded.subscriber_); }
};

}  // namespace lapwing
