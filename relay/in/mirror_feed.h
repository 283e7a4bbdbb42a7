// Feeds a mirror with what has been received, in the order that MirrorWriter demands: each session of
// the origin begins, gets its records and absences, and ends.
//
// It keeps what comes too early, and shows what is missing. It does not know where messages come from
// or how asks are sent.
//
// A full or slow disk makes it wait: advance() stops there, and continues when it is called again.
//
// A machine without a clock: times are nanoseconds of the monotonic clock.
//
// Thread safety: one thread.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "publisher/mirror/mirror.h"
#include "relay/in/applier.h"
#include "relay/in/beat_watch.h"
#include "relay/in/held_messages.h"
#include "relay/in/missing.h"
#include "relay/in/origin_sessions.h"
#include "relay/in/put_log.h"
#include "relay/in/start_point.h"
#include "relay/message.h"

namespace lapwing {

struct MirrorFeedOptions {
  RelayStart start = RelayStart::kStart;
  MissingOptions missing = {};
  std::size_t held_bytes_max = kHeldBytesMax;
  // How long a call may wait for the mirror's disk.
  std::chrono::nanoseconds mirror_wait = std::chrono::milliseconds(20);
};

struct MirrorFeedCounts {
  std::uint64_t records = 0;   // put
  std::uint64_t compared = 0;  // records that the mirror had
  std::uint64_t absent = 0;    // records
  std::uint64_t refused = 0;   // messages
  std::uint64_t stalls = 0;    // calls that the disk did not finish
};

// A file that a session needs.
struct WantedFile {
  RelayFile file{};
  std::uint64_t hash = 0;

  friend auto operator<=>(const WantedFile&, const WantedFile&) = default;
};

class MirrorFeed {
 public:
  static constexpr std::uint64_t kStallNs = 5'000'000;
  static constexpr std::uint64_t kGapsNs = 5'000'000;  // between two searches for gaps
  static constexpr int kDamagedFilesMax = 5;

  // Keeps references to all of them.
  MirrorFeed(const MirrorFeedOptions& options, MirrorWriter& mirror, const OriginSessions& sessions,
             const BeatWatch& watch);

  // The list of sessions is another one. Errors: kReset if it is foreign to the mirror.
  absl::Status sessions_changed();
  // A records message. Returns what was done with it: with kSessions nothing, so give it again once
  // the sessions are fetched. Errors: those of MirrorWriter that are final, with both sources if the
  // message contradicts the mirror.
  absl::StatusOr<MessageVerdict> take(const RelayMessage& message, const RelaySource& source,
                                      std::uint64_t now_ns);
  // The origin's answer. Of another journal it is ignored.
  void gone(const Id128& journal_id, const RelayAbsent& absent, std::uint64_t now_ns);

  // Does what can be done with what is there. Errors: as take().
  absl::Status advance(std::uint64_t now_ns);

  // What is needed before the next session can begin.
  bool wants_bus() const { return wants_begin() && !bus_; }
  std::optional<WantedFile> wanted_file() const;
  void give_bus(const RelayBus& bus) { bus_ = bus; }
  void give_file(const WantedFile& file, std::string bytes);
  // kCheckpoint waits for a position, or for the answer that there is none.
  bool wants_checkpoint() const;
  void give_checkpoint(const std::optional<RelayPosition>& position);

  // The session that is being written, and the next sequence; nullopt: none.
  const std::optional<MirrorPlace>& place() const { return place_; }
  const RelaySession* session() const;
  // Of the session at place(). Its ranges change with it.
  Missing& missing() { return missing_; }
  // Grows when the session at place() changes.
  std::uint64_t generation() const { return generation_; }
  // No more messages should be fetched: those that are kept wait for the disk.
  bool is_full() const;

  const MirrorFeedCounts& counts() const { return counts_; }
  std::uint64_t dropped() const { return held_.dropped(); }
  const std::string& last_refusal() const { return last_refusal_; }
  std::optional<std::uint64_t> next_due_ns() const;

 private:
  enum class Progress { kMade, kNone };
  using Advanced = absl::StatusOr<Progress>;

  bool wants_begin() const { return place_.has_value() && !has_begun_; }
  bool has_ended() const;
  absl::Status find_place();
  void find_start();
  void enter(const MirrorPlace& place);
  void leave();

  Advanced step(std::uint64_t now_ns);
  Advanced begin(std::uint64_t now_ns);
  Advanced put_held(std::uint64_t now_ns);
  Advanced put_absence(std::uint64_t now_ns);
  Advanced end(std::uint64_t now_ns);
  std::optional<RelayRange> whole_blocks(const AbsentRange& absent, std::uint64_t now_ns) const;

  MessageVerdict place_message(const RelayHeader& header, std::size_t& session);
  absl::Status put(const RelayHeader& header, std::span<const std::byte> records,
                   const RelaySource& source, std::uint64_t now_ns);
  absl::Status compare(const RelayMessage& message, const RelaySource& source);
  absl::Status contradiction(const RelayHeader& header, std::span<const std::byte> records,
                             const RelaySource& source);
  void hold(const RelayMessage& message, const RelaySource& source, std::size_t session,
            std::uint64_t now_ns);
  void moved(std::uint64_t now_ns);

  Sequence newest(std::uint64_t now_ns) const;
  void look_for_gaps(std::uint64_t now_ns);
  void stall(std::uint64_t now_ns);

  const MirrorFeedOptions options_;
  MirrorWriter& mirror_;
  const OriginSessions& sessions_;
  const BeatWatch& watch_;

  std::optional<MirrorPlace> place_;
  Id128 session_id_;  // of the session at place_
  bool has_begun_ = false;
  bool knows_end_ = false;  // the mirror knows the end that the session has at the origin
  Sequence oldest_ = 1;     // of the journal that begins next
  std::uint64_t generation_ = 0;
  Missing missing_;
  HeldMessages held_;
  PutLog put_log_;
  Sequence seen_ = 0;  // the newest sequence of the session in any message
  Sequence gaps_through_ = 0;
  bool gaps_changed_ = false;
  std::uint64_t gaps_due_ns_ = 0;
  std::uint64_t stalled_until_ns_ = 0;

  std::optional<RelayBus> bus_;
  std::map<WantedFile, std::string> files_;
  int damaged_files_ = 0;
  bool has_checkpoint_answer_ = false;
  std::optional<RelayPosition> checkpoint_;

  MirrorFeedCounts counts_;
  std::string last_refusal_;
};

}  // namespace lapwing
