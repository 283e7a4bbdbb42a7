// What only the library may do with a Subscriber.
#pragma once

#include "absl/status/statusor.h"
#include "lapwing/load_state.h"
#include "lapwing/subscriber.h"
#include "os/interrupt.h"
#include "os/wait_source.h"

namespace lapwing {

struct SubscriberAccess {
  // As Subscriber::open(). `interrupt` takes the place of the subscriber's own, and outlives it: so
  // its owner may be interrupted at any time, also while it replaces the subscriber by another one.
  static absl::StatusOr<Subscriber> open(SubscriberOptions options, Interrupt& interrupt);
  // It stays where it is when the subscriber is moved. Null: it was moved from.
  static WaitSource* wait_source(Subscriber& subscriber);
  // For a take() that does no more than look at the next slot.
  static detail::ReadPath& path(Subscriber& subscriber) { return *subscriber.path_; }
  static WaitSource* wait_source(LoadedState& loaded) { return wait_source(loaded.subscriber_); }
};

}  // namespace lapwing
