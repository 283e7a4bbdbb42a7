// Removes whole segments, oldest first, as the limits on bytes and age and a request allow.
//
// In two turns: first `oldest` moves past a segment, and only in the next turn, when the owner has
// shown the new `oldest` to readers, are its files unlinked. A reader that has one open keeps it.
// The segment that holds durable + 1, or a newer one, is never removed. A file that cannot be
// unlinked is counted and left: the journal is none the worse for it.
//
// Thread safety: one thread. Borrows the Disk.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "proto/identity.h"
#include "snapshot/io.h"
#include "snapshot/journal_geometry.h"

namespace lapwing {

struct Retention {
  std::uint64_t bytes_max = 0;   // of segment files; 0: no limit
  std::uint64_t age_ns_max = 0;  // of a segment's newest record; 0: no limit
};

inline constexpr std::uint64_t kAgeCheckNs = 1'000'000'000;  // between looks at the oldest's age

class SegmentRetention {
 public:
  struct Options {
    std::string directory;
    Id128 journal_id;
    JournalGeometry geometry;
    Retention limits;
    Sequence oldest = 1;  // oldest retained sequence at the start
  };

  SegmentRetention(Disk& disk, const Options& options) : disk_(disk), options_(options) {}

  // The segments that were there at the start, ascending, and the session's first one.
  void open(const std::vector<std::uint64_t>& present, std::uint64_t session_segment);
  void request_prune(Sequence below);
  // One turn. `end_segment` follows the newest segment that was prepared.
  void advance(Sequence durable, std::uint64_t end_segment, std::uint64_t now_ns,
               std::uint64_t wall_ns);

  Sequence oldest() const { return options_.oldest; }
  // When the next turn has something to do; UINT64_MAX: only when durable moves or on a request.
  std::uint64_t next_ns() const { return next_ns_; }
  std::uint64_t removed_count() const { return removed_count_; }
  std::uint64_t failed_count() const { return failed_count_; }

 private:
  std::uint64_t front() const { return before_.empty() ? next_ : before_.front(); }
  bool is_due(std::uint64_t segment, std::uint64_t end_segment, std::uint64_t now_ns,
              std::uint64_t wall_ns);
  bool is_too_old(std::uint64_t wall_ns);
  std::uint64_t newest_wall_ns(std::uint64_t segment);
  void give_up_front();
  void unlink(std::uint64_t segment);

  Disk& disk_;
  Options options_;
  std::deque<std::uint64_t> before_;  // older than the session's, ascending, maybe with holes
  std::uint64_t next_ = 0;  // oldest of the session's own: next_ … end_segment - 1, no holes
  Sequence prune_below_ = 0;
  std::optional<std::uint64_t> given_up_;  // to be unlinked in the next turn
  std::uint64_t age_checked_ns_ = 0;
  std::uint64_t next_ns_ = UINT64_MAX;
  std::uint64_t removed_count_ = 0;
  std::uint64_t failed_count_ = 0;
};

}  // namespace lapwing
