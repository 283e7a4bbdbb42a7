// The receiving end of a relay: continues a bus in a mirror, from what the origin's relay out sends.
//
//   auto mirror = open_mirror(...);
//   RelayIn in(options, connect, **mirror);
//   const absl::Status why = in.run(stop_fd);
//
// Live records come on log and live, in the order in which they were sent. What is missing is read
// from the stream, and asked for if the stream does not have it (relay/in/missing.h). A message is
// applied only if it fits and extends the mirror exactly (relay/in/applier.h).
//
// Errors of run() and step() are final: kReset for a message that contradicts the mirror, or an
// origin with another history; kJournalFailed; kInvalidArgument, kNotFound, kNotPermitted and kLimit
// if the first connection is refused for good. A lost connection is not an error, nor is a full disk.
//
// Thread safety: want_flush() may be called from any thread, everything else from one.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "os/unique_fd.h"
#include "publisher/mirror/mirror.h"
#include "relay/in/ask_desk.h"
#include "relay/in/beat_watch.h"
#include "relay/in/link.h"
#include "relay/in/mirror_feed.h"
#include "relay/in/origin_sessions.h"
#include "relay/in/stream_side.h"
#include "relay/message.h"
#include "relay/transport.h"

namespace lapwing {

enum class RelayPath {
  kCore,    // listens; reads the stream only if something is missing
  kStream,  // reads the stream
};

struct RelayInOptions {
  RelayStart start = RelayStart::kStart;
  RelayPath path = RelayPath::kCore;
  std::chrono::nanoseconds give_up{0};  // 0: never
  std::size_t held_bytes_max = kHeldBytesMax;
  std::chrono::nanoseconds mirror_wait = std::chrono::milliseconds(20);
  std::uint64_t seed = 0;  // of random times
  // Called by run() several times a second, for watchdogs.
  std::function<void()> tick = {};
  // Called with each change of what operators should know.
  std::function<void(const std::string&)> log = {};
  // Gets the origin's checkpoint file, with RelayStart::kCheckpoint.
  std::function<void(std::string_view file)> on_checkpoint = {};
  // Answers an ask of another mirror; empty: this one does not serve.
  std::function<void(RelayTransport&, std::string_view reply_to, const RelayMessage&)> serve = {};
};

struct RelayInStatus {
  RelayPath path{};
  bool is_connected = false;
  std::string stale;  // why readers are not live; empty: they are
  Id128 session_id;   // that is written; zeros: none
  Sequence next = 0;
  MirrorFeedCounts counts;
  std::uint64_t asks = 0;
  std::uint64_t cuts = 0;
  std::uint64_t dropped = 0;    // messages, because an inbox or this process was full
  std::uint64_t malformed = 0;  // messages
  std::uint64_t foreign = 0;    // beats of another history
};

class RelayIn {
 public:
  static constexpr std::size_t kCutsToStream = 3;
  static constexpr std::uint64_t kBackToCoreNs = 600'000'000'000;  // without a cut
  static constexpr int kArrivalsPerStep = 256;
  static constexpr std::size_t kWaitingBytesMax = std::size_t{4} << 20;

  // Keeps a reference to the mirror.
  RelayIn(const RelayInOptions& options, ConnectRelay connect, MirrorWriter& mirror);

  // Runs until `stop_fd` is readable (then OK) or there is an error.
  absl::Status run(int stop_fd);
  // Does what is due at this time, which is that of the monotonic clock. Outside of run() it also
  // reads the stream, for which it may wait.
  absl::Status step(std::uint64_t now_ns);
  // When step() has something to do without an arrival.
  std::uint64_t next_due_ns(std::uint64_t now_ns) const;

  // Asks the origin to make everything up to here durable.
  void want_flush(Sequence through);
  RelayInStatus status(std::uint64_t now_ns) const;

 private:
  // Records of sessions that are not listed yet.
  struct Waiting {
    std::vector<std::byte> message;
    RelaySource source;
  };

  absl::Status run_until(int stop_fd);
  absl::Status connected(std::uint64_t now_ns);
  absl::Status receive(std::uint64_t now_ns);
  absl::Status take(const RelayArrival& arrival, std::uint64_t now_ns);
  absl::Status take_published(const RelayArrival& arrival, const RelayMessage& message,
                              std::uint64_t now_ns);
  absl::Status take_answer(const RelayArrival& arrival, const RelayMessage& message,
                           std::uint64_t now_ns);
  absl::Status take_records(const RelayMessage& message, std::span<const std::byte> bytes,
                            const RelaySource& source, std::uint64_t now_ns);
  absl::Status take_notice(const RelayMessage& message, std::span<const std::byte> bytes,
                           const RelaySource& source, std::uint64_t now_ns);
  bool fits(const RelayHeader& header) const;
  absl::Status take_sessions(const RelayMessage& message, std::uint64_t now_ns);
  absl::Status take_stream(std::uint64_t now_ns);
  void take_beat(const RelayHeader& header, const RelayBeat& beat, std::uint64_t now_ns);
  absl::Status take_waiting(std::uint64_t now_ns);
  absl::Status fetch(std::uint64_t now_ns);
  void want_stream(std::uint64_t now_ns);
  // The connection's errors are not final.
  absl::Status settle(const absl::Status& status, std::uint64_t now_ns);
  void choose_path(std::uint64_t now_ns);
  absl::Status return_to_core(std::uint64_t now_ns);
  void show_state(std::uint64_t now_ns);
  void log(const std::string& line) const;

  const RelayInOptions options_;
  MirrorWriter& mirror_;
  RelayLink link_;
  RelayPath path_;
  OriginSessions sessions_;
  BeatWatch watch_;
  MirrorFeed feed_;
  AskDesk desk_;
  StreamSide stream_;
  std::shared_ptr<const OriginSessions> placed_by_;  // a copy of sessions_ for the stream's side
  std::uint64_t path_since_ns_ = 0;
  std::deque<Waiting> waiting_;
  std::size_t waiting_bytes_ = 0;
  struct WaitingBeat {
    RelayHeader header{};
    RelayBeat beat{};
    std::uint64_t at_ns = 0;
  };
  std::optional<WaitingBeat> waiting_beat_;
  std::uint64_t sessions_row_ = ~std::uint64_t{0};  // as of the last look
  bool was_connected_ = false;
  std::string stale_;
  std::uint64_t foreign_due_ns_ = 0;
  std::uint64_t malformed_ = 0;
  std::uint64_t foreign_ = 0;
  UniqueFd wake_;
  mutable std::mutex flush_mutex_;
  Sequence flush_wanted_ = 0;
};

}  // namespace lapwing
