// Sends a bus to its mirrors: the decisions of RelayOut, without threads, clocks or waits.
//
// There are two lanes. In step, only the log lane runs: each message is appended to the stream, which
// also delivers it to everyone who listens. When the end of the stream is in doubt, the log lane's
// feed becomes that of the live lane, so that records go out without a pause. The log lane opens a
// new feed behind the stream's end, and when it has caught up, the live lane ends.
//
//              connect ──> tail ──> catching up ──> in step
//                           ^                          │ wrong last, no ack, stalled
//                           └───────── doubt <─────────┘
//   live lane:  (opened if this lasts)  runs            off
//
// Thread safety: one thread. Never waits, except for tail() and open_stream() of the transport.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "relay/out/beats.h"
#include "relay/out/lane.h"
#include "relay/out/log_sender.h"
#include "relay/out/out_messages.h"
#include "relay/out/redial.h"
#include "relay/out/relay_out_options.h"
#include "relay/out/standby.h"
#include "relay/out/tail_search.h"
#include "relay/transport.h"

namespace lapwing {

// Takes an ask to be answered over that connection. False: too many are waiting.
using AskSink = std::function<bool(const std::shared_ptr<RelayTransport>& transport,
                                   std::string_view reply_to, std::span<const std::byte> ask)>;

class OutMachine {
 public:
  // If the stream cannot be followed for this long, records go out on `live`.
  static constexpr std::uint64_t kLiveAfterNs = 100'000'000;
  static constexpr std::uint64_t kTailNsMax = 500'000'000;  // a tail() or open_stream() waits
  static constexpr std::uint64_t kStandbyTailNs = 250'000'000;
  // After a close: how long the stream may take to store the rest.
  static constexpr std::uint64_t kFinishNsMax = 30'000'000'000;
  // Records messages that one turn sends at most.
  static constexpr int kMessagesPerTurn = 16;

  struct Turn {
    bool has_more = false;      // call again at once
    std::uint64_t next_ns = 0;  // otherwise when something is ready, or at this time
  };

  // `seed`: of the chance in pauses between connections.
  OutMachine(RelayOutOptions options, OutMessages messages, RelayConnect connect, AskSink asks,
             std::uint64_t seed);

  // Does what can be done now. Errors are final: another bus's stream or one of another
  // configuration (kInvalidArgument), and those of the bus.
  absl::StatusOr<Turn> turn(std::uint64_t now_ns, std::uint64_t wall_ns);
  // With until_closed: everything is sent and stored.
  bool is_done() const { return is_done_; }

  const RelayOutCounts& counts() const { return counts_; }
  Standby::Role role() const { return standby_.role(); }
  bool is_in_step() const { return log_.is_open() && is_caught_up_; }
  // What to wait on: the transport, and the subscribers of the lanes.
  RelayTransport* transport() { return transport_.get(); }
  // The stream has acknowledged everything.
  bool is_stored() const { return sender_.is_following() && sender_.in_flight() == 0; }
  // False while the stream takes no more, so that new records need not wake anybody.
  bool wants_records(const Lane& lane) const {
    return &lane != &log_ || sender_.has_room(kRelayMessageBytesMax);
  }
  Lane& log_lane() { return log_; }
  Lane& live_lane() { return live_; }

 private:
  struct Clock {
    std::uint64_t now_ns = 0;
    std::uint64_t wall_ns = 0;
  };

  // connection (out_machine.cc)
  void connect();
  void lose(const absl::Status& why);
  void take_acks();
  void take_inbox();
  void take_ask(const RelayArrival& arrival);
  void take_beat(const RelayArrival& arrival);
  void watch_other();
  void step_back();
  // the end of the stream (out_tail.cc)
  absl::Status follow_stream();
  absl::Status open_stream();
  absl::Status take_tail(const RelayTail& tail);
  absl::Status check_tail(const RelayHeader& header) const;
  void take_stored(const RelayArrival& arrival);
  absl::Status begin_search(const RelayTail& tail);
  void fail_search();
  absl::Status resume_after(const StoredPosition& end);
  absl::Status resume_anew(bool has_lost);
  absl::Status open_log(Start start);
  Start start_after(const StoredPosition& position);
  Start first_start();
  void doubt(const std::string& why);
  // lanes (out_lanes.cc)
  absl::Status step_lanes();
  absl::Status step_lane(Lane& lane, int messages_max);
  absl::Status open_live();
  absl::Status leave_stalled_log();
  bool has_caught_up();
  bool needs_notices(const Lane& lane, const FedRecords& records) const;
  absl::Status prepare_notices(Lane& lane, const Id128& session_id);
  absl::Status emit(Lane& lane, std::span<const std::byte> message);
  absl::Status emit_records(Lane& lane);
  void note_sent(const FedRecords& records);
  absl::Status step_beats();
  void step_end();
  void note(LogLevel level, const std::string& message) const;

  const RelayOutOptions options_;
  OutMessages messages_;
  RelayConnect connect_;
  AskSink asks_;
  Clock clock_;

  std::shared_ptr<RelayTransport> transport_;
  Redial redial_;
  LogSender sender_;
  Standby standby_;
  Beats beats_;
  std::optional<TailSearch> search_;
  std::uint64_t search_ends_ns_ = 0;
  // The first record of a stream that had none.
  std::optional<StoredPosition> begun_;
  bool has_stream_ = false;
  std::uint64_t next_standby_tail_ns_ = 0;
  std::uint64_t seen_tail_ = 0;

  Lane log_;
  Lane live_;
  RelayBuffer notice_buffer_;
  bool is_caught_up_ = false;
  std::uint64_t behind_since_ns_ = 0;
  std::optional<StoredPosition> sent_;
  std::size_t sent_session_ = 0;  // its position among the sessions
  std::uint64_t closed_at_ns_ = 0;
  bool has_more_ = false;
  bool is_done_ = false;
  absl::Status fatal_;
  RelayOutCounts counts_;
};

}  // namespace lapwing
