// Asks for what a mirror lacks, and takes the answers: records, sessions, the bus and its files.
//
// Records are asked for in any number of asks, everything else one ask at a time. An ask without an
// answer is repeated, after pauses that grow.
//
// A machine without a clock: times are nanoseconds of any clock that does not go backwards.
//
// Thread safety: one thread.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "relay/in/asks.h"
#include "relay/in/file_parts.h"
#include "relay/in/mirror_feed.h"
#include "relay/in/origin_sessions.h"
#include "relay/message.h"
#include "relay/transport.h"

namespace lapwing {

class AskDesk {
 public:
  // Of one ask for records. 64 of them fill half of the inbox.
  static constexpr std::uint64_t kAskBytesMax = kRelayInboxBytesMax / 2 / Asks::kInFlightMax;
  static constexpr std::uint64_t kFilePartBytes = std::uint64_t{192} << 10;
  static constexpr std::uint64_t kPauseNsMin = 50'000'000;
  static constexpr std::uint64_t kPauseNsMax = 2'000'000'000;

  // Keeps the references. `on_checkpoint` gets the file that a start from a checkpoint fetched.
  AskDesk(MirrorFeed& feed, OriginSessions& sessions,
          std::function<void(std::string_view)> on_checkpoint)
      : feed_(feed), sessions_(sessions), on_checkpoint_(std::move(on_checkpoint)) {}

  void want_sessions() { wants_sessions_ = true; }
  bool wants_sessions() const { return wants_sessions_; }
  // Of the journal that is written now.
  void want_flush(Sequence through);

  // Sends what is due. Errors: those of the transport.
  absl::Status send(RelayTransport& transport, std::uint64_t now_ns);

  // The ask of an answer, which must have been parsed; null if it is not in flight.
  const RelayAsk* find(RelayAskId id) const { return asks_.find(id); }
  // Messages of an answer. Records are not handled here. Errors: kReset for foreign sessions.
  absl::Status take(RelayAskId id, const RelayMessage& message, std::uint64_t now_ns);

  // Asks that have waited too long are repeated.
  void expire(std::uint64_t now_ns);
  void connection_lost(std::uint64_t now_ns);
  std::optional<std::uint64_t> next_due_ns() const;
  std::uint64_t sent() const { return sent_; }

 private:
  // A kind of ask of which one is in flight at a time.
  struct Single {
    bool in_flight = false;
    std::uint64_t due_ns = 0;
    std::uint32_t failures = 0;
  };

  Single& single(RelayRequest request) { return singles_[static_cast<std::size_t>(request)]; }
  // Ends asks for records of an earlier session.
  void follow_feed();
  std::optional<RelayAsk> wanted(RelayRequest request);
  std::optional<RelayAsk> wanted_file(RelayAsk ask);
  absl::Status send_records(RelayTransport& transport, std::uint64_t now_ns);
  absl::Status send_one(RelayTransport& transport, RelayAsk ask, std::uint64_t now_ns);
  absl::Status end(const Asks::Finished& finished, const RelayMessage& message,
                   std::uint64_t now_ns);
  absl::Status end_sessions(const RelayMessage& message, std::uint64_t now_ns);
  void end_file(const RelayMessage& message, std::uint64_t now_ns);
  void note_checkpoint();
  void finish_file();
  void again(RelayRequest request, std::uint64_t now_ns);
  void done(RelayRequest request, std::uint64_t now_ns);
  void unanswered(const RelayAsk& ask, std::uint64_t now_ns);

  MirrorFeed& feed_;
  OriginSessions& sessions_;
  const std::function<void(std::string_view)> on_checkpoint_;
  Asks asks_;
  std::array<Single, 6> singles_;  // by RelayRequest
  RelayBuffer buffer_;
  std::uint64_t generation_ = 0;  // of the feed
  bool wants_sessions_ = true;
  SessionGathering gathering_;
  std::optional<FileParts> parts_;
  std::optional<std::uint64_t> checkpoint_checksum_;  // of the one whose first part has come
  Id128 flush_journal_;
  Sequence flush_through_ = 0;  // 0: nothing is to be made durable
  std::uint64_t sent_ = 0;
};

}  // namespace lapwing
