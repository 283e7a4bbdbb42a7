// Which journal a subscriber that joins, or comes back, reads first, and at which sequence.
//
// `sessions` lists journals in the order in which publishers began them (docs/explanation/joining.md, "When
// the journal changes"). A subscriber reads from some journal to the newest one, each to its end.
//
// Thread safety: free functions over what the caller owns.
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
  std::string reset;  // not empty: the stored position belongs to another history; why
};

// Whether this bus can do what the options ask for: kNoJournal for filling gaps, or for a start at
// a sequence, a time or a stored position, where no journal is kept; kInvalidArgument for a
// sequence that cannot exist.
absl::Status check_policy(const SubscriberOptions& options, const Attachment& attachment);
absl::Status check_start(const SubscriberOptions& options, const Attachment& attachment);

// Returns the discarded journal to read next; nullopt if the newest one, that of `newest`, is next.
// `trail` is empty before the first record is chosen. Afterwards it contains the journal that was
// read last. Errors: kNotFound if the start names a journal that is not listed; those of the disk.
absl::StatusOr<std::optional<ListedJournal>> choose_discarded(const SubscriberOptions& options,
                                                              const SessionTrail& trail,
                                                              const Attachment& newest);

// The first sequence by `options`, which were checked, on a bus whose newest record is `newest`. A
// stored position that this journal does not contain starts over at the oldest, with a reason.
// Errors: those of find_time.
absl::StatusOr<StartingPoint> choose_start(const SubscriberOptions& options,
                                           const Attachment& attachment, Sequence newest);

// Why a subscriber that is at `trail` and holds records up to `held` cannot go on with the session
// that it has found, which is another one: of another history. Empty if it can.
std::string why_start_over(const SessionTrail& trail, Sequence held, const Attachment& attachment);

// The oldest sequence that is still to be had.
Sequence oldest_of(const Attachment& attachment);

}  // namespace lapwing
