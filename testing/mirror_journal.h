// A journal of a mirror with absent ranges in every position, for tests. Small geometry: 64 slots per
// block, 1,024 per segment.
//
//   segment 0   1 to 640 were pruned at the origin; records from 641 on
//   segment 1   1,170 to 1,280 (from the middle of a block) are damaged there; 1,985 to 2,048, the last
//               block, did not arrive
//   segment 2   records up to 2,499; the rest, segments 3 and 4, and 5,121 to 5,760 of segment 5 were
//               never archived by the origin
//   segment 5   records from 5,761 on, up to 5,800
//
// Thread safety: one thread.
#pragma once

#include <vector>

#include "snapshot/journal/absent_file.h"
#include "testing/journal_fixture.h"

namespace lapwing {

class MirrorJournal : public JournalFixture {
 public:
  static constexpr std::uint8_t kSession = 11;
  static constexpr Sequence kDurable = 5'800;
  static constexpr std::uint64_t kRecords = 529 + 704 + 451 + 40;

  // One open session, durable up to kDurable. With `are_listed` false, only the records.
  explicit MirrorJournal(bool are_listed = true) {
    is_mirror = true;
    begin(kSession, 1);
    write(641, 1'169);
    write(1'281, 1'984);
    write(2'049, 2'499);
    write(5'761, kDurable);
    if (are_listed) list_absent();
  }

  static std::vector<AbsentRange> absent() {
    return {{1, 640, GapCause::kPruned},
            {1'170, 1'280, GapCause::kDamaged},
            {1'985, 2'048, GapCause::kNotRelayed},
            {2'500, 5'760, GapCause::kUpstream}};
  }
  void list_absent() const {
    for (const AbsentRange& range : absent()) write_absent(range.first, range.last, range.cause);
  }
};

}  // namespace lapwing
