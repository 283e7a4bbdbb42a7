// Chooses the journal and the sequence at which a subscriber joins, or continues after a session.
//
// `sessions` lists journals in the order in which they were begun (docs/explanation/joining.md,
// "When the journal changes"). A subscriber reads from some journal up to the newest one, each to
// its end.
//
// Thread safety: free functions that use only the caller's objects.
#pragma once

#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "lapwing/sequence.h"
#include "lapwing/subscriber.h"
#include "subscribers/attachment.h"

namespace lapwing {

struct StartingPoint {
  Sequence next = 1;
  std::string reset;  // why the stored position is in another history; else empty
};

// Ok if this bus supports what the options request. Errors: kNoJournal for filling gaps, or for a
// start at a sequence, a time or a stored position, if there is no journal; kInvalidArgument for a
// sequence that cannot exist.
absl::Status check_policy(const SubscriberOptions& options, const Attachment& attachment);
absl::Status check_start(const SubscriberOptions& options, const Attachment& attachment);

// Returns the discarded journal to read next; nullopt if the journal of `newest` is next. `trail`
// is empty before the first record is chosen. After that, it contains the last journal read.
// Errors: kNotFound if the start names a journal that is not listed; those of the disk.
absl::StatusOr<std::optional<ListedJournal>> choose_discarded(const SubscriberOptions& options,
                                                              const SessionTrail& trail,
                                                              const Attachment& newest);

// Returns the first sequence according to the checked `options`, if the newest record is `newest`.
// If this journal does not contain the stored position, the subscriber starts over at the oldest
// record, with a reason. Errors: those of find_time.
absl::StatusOr<StartingPoint> choose_start(const SubscriberOptions& options,
                                           const Attachment& attachment, Sequence newest);

// Returns why a subscriber at `trail` that holds records up to `held` cannot continue with the
// session it has found, which belongs to another history. Empty if it can.
std::string why_start_over(const SessionTrail& trail, Sequence held, const Attachment& attachment);

// The oldest sequence that can still be read.
Sequence oldest_of(const Attachment& attachment);

}  // namespace lapwing
