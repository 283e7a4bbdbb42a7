// A subscriber's upkeep: reports to its publisher, requests a client slot, watches the publisher,
// posts kLive and kBehind, and measures ages. It never blocks.
//
// Invariants
//  1. The cursor's `measured_from` is meter_.due(): the meter chooses the first record at or after
//     it.
//  2. A client slot is requested only while a session is attached without a socket.
//
// Thread safety: one thread. Borrows the options, the stream and the client options.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <utility>

#include "lapwing/detail/publish_clock.h"
#include "subscribers/age_meter.h"
#include "subscribers/liveness.h"
#include "subscribers/place_request.h"
#include "subscribers/reporter.h"
#include "subscribers/stream.h"

namespace lapwing {

class Upkeep {
 public:
  // `client`: the options for requesting a client slot.
  Upkeep(const SubscriberOptions& options, Stream& stream, const ClientOptions& client)
      : stream_(stream),
        cursor_(stream.cursor),
        client_(client),
        reporter_(options, stream),
        liveness_(options),
        meter_(options.measure_every) {}

  // A session is attached …
  void attach(std::uint64_t now_ns) {
    meter_.attach(stream_.records, stream_.attachment->session_first());
    cursor_.measured_from = meter_.due();
    reporter_.restart();
    place_request_.start(now_ns);
  }
  // … and left.
  void detach() { place_request_.stop(); }

  // Requires an attachment. Sends any reports that are due.
  void report(std::uint64_t now_ns) {
    if (stream_.attachment->control() == nullptr) ask_for_place(now_ns);
    ControlClient* const control = stream_.attachment->control();
    if (control == nullptr) return;
    reporter_.report(*control, now_ns);
    if (meter_.ages()) reporter_.report_ages(*control, now_ns, *meter_.ages());
  }
  // Reports at once that the subscriber stops at a gap.
  void report_stop() {
    ControlClient* const control = stream_.attachment->control();
    if (control != nullptr) reporter_.send(*control, ClientState::kStopped);
  }
  // Reports, and posts any change between live and behind. Returns true if an event was posted.
  bool run(std::uint64_t now_ns) {
    report(now_ns);
    return post_liveness(now_ns);
  }
  // Like run(), if nothing is left to read. Also checks whether the publisher is gone or silent.
  bool run_idle(std::uint64_t now_ns) {
    stream_.watch.look(*stream_.attachment, now_ns);
    if (run(now_ns)) return true;
    if (!stream_.watch.stale_due(*stream_.attachment, cursor_.ledger.taken(), now_ns)) return false;
    stream_.post(EventKind::kStale, cursor_.next - 1);
    return true;
  }

  // Call it when an event is delivered, which may mean that the subscriber is no longer live.
  void on_delivered(const Due& due) { liveness_.end_at(due.event); }
  // True if the next empty read may find the subscriber live.
  bool awaits_live() const { return liveness_.is_awaited(); }

  // Measures the records from `first` on, contiguous in `rows`, which are being delivered. Not
  // inlined, so callers need no registers for it.
  [[gnu::cold, gnu::noinline]] void measure(Sequence first, std::span<const std::byte> rows) {
    meter_.measure(first, rows, clock_.utc_ns());
    cursor_.measured_from = meter_.due();
  }
  const std::optional<Ages>& ages() const { return meter_.ages(); }

 private:
  void ask_for_place(std::uint64_t now_ns) {
    if (!stream_.attachment->has_publisher()) return;
    std::optional<ControlClient> control = place_request_.step(client_, now_ns);
    if (control && control->welcome().session_id == stream_.session_id) {
      stream_.attachment->take_place(*std::move(control));
    }
  }
  // Once the session is known to have ended, only its end may follow.
  bool post_liveness(std::uint64_t now_ns) {
    if (!liveness_.is_told() || !stream_.backlog.caught_up() || stream_.watch.ended()) return false;
    std::optional<Liveness::Change> change = liveness_.look(
        {cursor_.next, stream_.attachment->newest(), now_ns, cursor_.phase == Phase::kLive});
    if (!change) return false;
    stream_.post(change->kind, cursor_.next - 1, std::move(change->text));
    return true;
  }

  Stream& stream_;
  ReadCursor& cursor_;  // the stream's
  const ClientOptions& client_;
  Reporter reporter_;
  PlaceRequest place_request_;
  Liveness liveness_;
  AgeMeter meter_;
  detail::PublishClock clock_;
};

}  // namespace lapwing
