// The sequences of one session that a mirror lacks, and where to get each of them next.
//
//   stream   the bus's stream, if it has the sequence
//   mirrors  an ask to mirrors that serve
//   origin   an ask to the origin
//   gone     the origin answered that it does not have the sequence and never will. Mirrors are asked
//            again for kMirrorsHaveNs
//
// A range goes from one source to the next, and from the origin back to the mirrors. It is absent only
// if it is gone, the time of the mirrors has passed, and there is evidence that the stream lacks it:
// its messages around the range were seen. Silence is not an answer: while the stream cannot be read,
// the other hosts are asked, and what is gone there waits for the stream. The exception is
// `give_up_ns` without any progress.
//
// A machine without a clock: times are nanoseconds of any clock that does not go backwards.
//
// Thread safety: one thread.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "lapwing/gap.h"
#include "lapwing/sequence.h"
#include "proto/relay_frames.h"
#include "snapshot/journal/absent_file.h"

namespace lapwing {

struct RelayRange {
  Sequence first = 0;
  Sequence last = 0;

  std::uint64_t size() const { return last - first + 1; }
  friend bool operator==(const RelayRange&, const RelayRange&) = default;
};

struct MissingOptions {
  bool stream = true;            // false: there is none to read
  std::uint64_t give_up_ns = 0;  // 0: never
};

class Missing {
 public:
  // A message may be overtaken by one of another subject. Nothing is fetched before that.
  static constexpr std::uint64_t kGraceNs = 50'000'000;
  static constexpr std::uint64_t kMirrorsHaveNs = 2'000'000'000;
  static constexpr std::uint64_t kAgainNs = 100'000'000;  // after an answer without progress
  static constexpr std::uint64_t kMoreNs = 10'000'000;    // after a part of the answer

  explicit Missing(const MissingOptions& options) : options_(options) {}

  // What of the range is not wanted yet is wanted from now on.
  void want(const RelayRange& range, std::uint64_t now_ns);
  void have(const RelayRange& range, std::uint64_t now_ns);
  // The range is absent: like have(), without being progress.
  void absence_is_written(const RelayRange& range);
  // The lowest range is on its way, or waits for the disk: the time to give up begins anew.
  void progress(std::uint64_t now_ns) { progress_ns_ = now_ns; }
  void clear() { parts_.clear(); }
  bool empty() const { return parts_.empty(); }
  // The lowest sequence that is wanted; kNoSequence if there is none.
  Sequence first() const { return parts_.empty() ? kNoSequence : parts_.begin()->first; }

  // The lowest range that is to be read from the stream.
  std::optional<RelayRange> for_stream(std::uint64_t now_ns) const;
  bool has_for_stream() const;
  // Evidence: messages before and behind the range were seen, or the stream's end.
  void stream_lacks(const RelayRange& range, std::uint64_t now_ns);
  // The stream cannot be read now. The other hosts are asked.
  void stream_is_unreachable(std::uint64_t now_ns);
  // Another stream, or another connection: there is no evidence any more.
  void try_stream_again(std::uint64_t now_ns);

  struct Ask {
    RelayRange range;
    RelayAskee to{};
  };
  // The next ask, of at most that many records, which ends with a block if it can. The range is then
  // in flight until unanswered(), answered() or have().
  std::optional<Ask> next_ask(std::uint64_t records_max, std::uint64_t block_slots,
                              std::uint64_t now_ns);
  // No answer came in time, or the connection is lost.
  void unanswered(const Ask& ask, std::uint64_t now_ns);
  // The answer is complete. `outcome` says why the rest of the range is missing.
  void answered(const Ask& ask, RelayOutcome outcome, std::uint64_t now_ns);
  // The origin's answer. Ranges that are not wanted are ignored.
  void gone(const RelayAbsent& absent, std::uint64_t now_ns);

  // The lowest range, if it is absent: bounds and cause are those of the origin. With give_up the
  // cause is kNotRelayed. The range stays until absence_is_written().
  std::optional<AbsentRange> absent(std::uint64_t now_ns) const;

  // When the next of these calls has something; nullopt: not by time alone.
  std::optional<std::uint64_t> next_due_ns() const;
  std::vector<RelayRange> ranges() const;

 private:
  enum class Source { kStream, kMirrors, kOrigin, kGone };
  struct Part {
    Sequence last = 0;
    Source source = Source::kStream;
    bool stream_lacks = false;
    bool in_flight = false;
    bool mirrors_asked = false;   // since it is gone
    RelayAbsence cause{};         // if it is gone
    std::uint32_t refusals = 0;   // by the origin, one after the other
    std::uint64_t due_ns = 0;     // for the next attempt
    std::uint64_t since_ns = 0;   // wanted
    std::uint64_t absent_ns = 0;  // if it is gone: absent from then on
  };
  using Parts = std::map<Sequence, Part>;  // by first sequence, disjoint

  void split_before(Sequence sequence);
  template <typename Change>
  void change(const RelayRange& range, const Change& change_part);
  bool waits_for_stream(const Part& part) const;
  bool is_absent(const Part& part, std::uint64_t now_ns) const;
  bool given_up(const Part& part, std::uint64_t now_ns) const;
  bool is_askable(const Part& part, std::uint64_t now_ns) const;

  const MissingOptions options_;
  Parts parts_;
  std::uint64_t progress_ns_ = 0;
};

}  // namespace lapwing
