// One journal's sessions in sequence order, and the session that contains a position.
//
// Thread safety: one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "lapwing/sequence.h"
#include "lapwing/subscriber.h"

namespace lapwing {

// A sequence that is never reached.
inline constexpr Sequence kNeverSequence = std::numeric_limits<Sequence>::max();

// A session and its first sequence. Sessions without a record share their first sequence with the
// next session.
struct SessionLeg {
  Id128 id;
  Sequence first = 0;
};

class SessionTrail {
 public:
  // Begins at position `next` of a journal, in the last session that begins at or before it. `legs`
  // is not empty.
  void start(const Id128& journal_id, std::vector<SessionLeg> legs, Sequence next);
  // Takes a longer list for the same journal and stays in the current session.
  void extend(std::vector<SessionLeg> legs);
  // Marks the journal as discarded and read to its end. Reset by start() and extend().
  void finish() { is_finished_ = true; }
  bool is_finished() const { return is_finished_; }

  bool empty() const { return legs_.empty(); }
  const Id128& journal_id() const { return journal_id_; }
  const Id128& current() const { return legs_[current_].id; }
  // The session that record `next` belongs to or will belong to.
  const Id128& session_of(Sequence next) const;
  // The position to store before record `next` is delivered.
  StoredPosition position(Sequence next) const { return {journal_id_, session_of(next), next - 1}; }
  // Where the session after the current one begins; kNeverSequence if none is known.
  Sequence next_first() const {
    return current_ + 1 < legs_.size() ? legs_[current_ + 1].first : kNeverSequence;
  }
  // Advances by one session if `next` has reached it.
  bool step(Sequence next);

 private:
  Id128 journal_id_;
  std::vector<SessionLeg> legs_;
  std::size_t current_ = 0;
  bool is_finished_ = false;
};

}  // namespace lapwing
