// What the library may do with a Subscriber, and nobody else.
#pragma once

#include "absl/status/statusor.h"
#include "lapwing/subscriber.h"
#include "os/interrupt.h"

namespace lapwing {

struct SubscriberAccess {
  // As Subscriber::open(). `interrupt` takes the place of the subscriber's own, and outlives it: so
  // its owner may be interrupted at any time, also while it replaces the subscriber by another one.
  static absl::StatusOr<Subscriber> open(SubscriberOptions options, Interrupt& interrupt);
};

}  // namespace lapwing
