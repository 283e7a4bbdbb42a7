// The origin of a session whose records come from another host's journal, for the archiver of the
// mirror. The origin alone reserves sequences and ends the session. So the archiver then differs:
//
// - It writes nothing to `sessions`: no reservation, and no end, also after a failure.
// - durable is never above the origin's (Archiver, invariant 6).
// - The time index has the origin's times.
// - A full disk delays the journal, and does not end it. The records can be fetched again.
// - A close does not archive the records that only the ring holds.
//
// Thread safety: the archiver's thread calls the functions.
#pragma once

#include <cstdint>

#include "lapwing/sequence.h"

namespace lapwing {

class SessionOrigin {
 public:
  virtual ~SessionOrigin() = default;

  // The newest sequence of the journal that is durable at the origin. Never decreases.
  virtual Sequence durable() const = 0;
  // UTC, ns: by then every sequence up to n had been published. Called with increasing n.
  virtual std::uint64_t published_wall_ns(Sequence n) = 0;
  // Whether the mirror has recorded that it will never have n. Called during the start only.
  virtual bool is_absent(Sequence n) const = 0;
};

}  // namespace lapwing
