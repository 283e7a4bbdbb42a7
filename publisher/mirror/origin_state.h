// The origin of the session that a mirror is writing, as the archiver needs it: how far the journal
// is durable there, and when records were published.
//
// Thread safety: raise_durable() and note_time() by the mirror's thread, the functions of
// SessionOrigin by the file thread. The absences are given before the file thread starts.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <mutex>
#include <utility>
#include <vector>

#include "os/thread_words.h"
#include "snapshot/archive/session_origin.h"
#include "snapshot/journal/absent_file.h"

namespace lapwing {

inline constexpr std::size_t kOriginTimesMax = 65'536;

class OriginState final : public SessionOrigin {
 public:
  explicit OriginState(std::vector<AbsentRange> absent) : absent_(std::move(absent)) {}

  // Does nothing if durable is there already.
  void raise_durable(Sequence durable);
  // By `wall_ns` (UTC) every sequence up to `last` had been published. Ranges that were noted before
  // are ignored. If more than kOriginTimesMax wait to become durable, neighbours are merged, and the
  // index gets the later time.
  void note_time(Sequence last, std::uint64_t wall_ns);

  Sequence durable() const override { return durable_.load(); }
  std::uint64_t published_wall_ns(Sequence n) override;
  bool is_absent(Sequence n) const override;

 private:
  struct Time {
    Sequence last;
    std::uint64_t wall_ns;
  };

  const std::vector<AbsentRange> absent_;
  SingleWriterWord durable_;
  std::mutex mutex_;           // guards the rest
  std::deque<Time> times_;     // ascending; the first one is the first that n may belong to
  std::uint64_t past_ns_ = 0;  // of the last range that was dropped
};

}  // namespace lapwing
