#include "channel/side.h"

#include <sched.h>

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "lapwing/error.h"
#include "os/kernel.h"
#include "os/waiter.h"

namespace lapwing {

static_assert(kSpinTurns == kBackoffSpins / kSpinsPerClock);

ChannelSide::ChannelSide(Link link, OwnMemory own, PeerMemory peer, ChannelBarrier barrier,
                         const ChannelOptions& options, std::string peer_name)
    : ChannelCore(own.words(), peer.words(), barrier, options.wait),
      link_(std::move(link)),
      own_(std::move(own)),
      peer_(std::move(peer)),
      peer_name_(std::move(peer_name)),
      wake_up_(make_eventfd().value_or(UniqueFd())),
      fork_(*this, "end of a channel") {}

// Writes only single words, because another thread of the parent may have been anywhere in a call.
void ChannelSide::on_child() noexcept {
  end_ = Errc::kForked;
  more_to_see_ = false;
  waiting_ = false;
  calls_until_clock_ = kCallsPerClock;
}

ChannelSide::~ChannelSide() {
  leave_owner();
  close();
}

ChannelCounters ChannelSide::counters() const {
  ChannelCounters counters;
  if (in_child()) return counters;
  counters.messages_sent = load_tally(own_words_.sent.messages);
  counters.messages_received = load_tally(own_words_.received.messages);
  counters.messages_released = load_tally(peer_words_.received.messages);
  counters.full_waits = load_tally(own_words_.full_waits.value);
  counters.empty_waits = load_tally(own_words_.empty_waits.value);
  counters.sleeps = load_tally(own_words_.sleeps.value);
  counters.wakes = load_tally(own_words_.wakes.value);
  return counters;
}

Errc ChannelCore::ended() {
  auto& side = static_cast<ChannelSide&>(*this);
  if (end_ != Errc::kForked) side.status_ = side.why_ended_;
  return end_;
}

// Continues a wait after each round of spinning, or instead of spinning.
Errc ChannelSide::wait_longer(absl::FunctionRef<Errc()> look, std::uint64_t deadline_ns) {
  const std::uint64_t now = monotonic_ns();
  if (now - looked_ns_ >= kPeerLookNs) {
    looked_ns_ = now;
    take_peer_state(link_.look());
  }
  if (end_ != Errc::kOk) {
    const Errc left = look();  // what the other side did before it ended
    if (left != Errc::kWouldBlock) return left;
    if (!more_to_see_) return ended();
  }
  if (interrupted_.take()) return Errc::kInterrupted;
  if (now >= deadline_ns) return Errc::kTimedOut;
  if (more_to_see_) return look();
  if (strategy_ == WaitStrategy::kBackoff) ++turns_;
  if (spins_now() != 0) return Errc::kWouldBlock;
  if (strategy_ == WaitStrategy::kBackoff && turns_ < kSpinTurns + kBackoffYields) {
    sched_yield();
    return look();
  }
  return park(look, std::min(deadline_ns, now + kChannelSleepNsMax));
}

void ChannelSide::let_consumer_ahead(std::uint64_t messages) {
  // During a pause, a consumer takes about five messages, so a full channel stays mostly full.
  constexpr std::uint64_t kLinesPerPause = 32;
  constexpr std::uint64_t kPausesMax = 512;
  const std::uint64_t run = messages - std::exchange(full_at_, messages);
  if (run < kRunMin || strategy_ == WaitStrategy::kPark) return;
  const std::uint64_t lines = own_.header().capacity / kFrameAlign;
  fall_behind(std::min(lines / kLinesPerPause, kPausesMax));
}

// T1 to T4 (lapwing/detail/channel_words.h).
Errc ChannelSide::park(absl::FunctionRef<Errc()> look, std::uint64_t until_ns) {
  raise_ticket();            // T1, T2
  const Errc seen = look();  // T3
  if (seen == Errc::kWouldBlock && !more_to_see_) {
    count_one(own_words_.sleeps);
    const std::uint64_t now = monotonic_ns();
    if (now < until_ns) await_peer(until_ns - now);  // T4
  }
  lower_ticket();
  if (seen != Errc::kWouldBlock) return seen;
  take_peer_state(link_.look());  // takes the packet as well
  return look();
}

void ChannelSide::raise_ticket() {
  // The next odd number. An event loop leaves the previous one unchanged.
  ticket_ += ticket_sleeps(ticket_) ? Word{2} : Word{1};
  store_ticket(own_words_, ticket_);  // T1
  if (barrier_ == ChannelBarrier::kMembarrier) {
    membarrier_global();  // T2
  } else {
    full_fence();  // T2
  }
}

void ChannelSide::lower_ticket() {
  store_ticket(own_words_, ++ticket_);
}

bool ChannelSide::prepare_to_poll(absl::FunctionRef<Errc()> look) {
  if (ticket_sleeps(ticket_)) lower_ticket();
  take_peer_state(link_.look());  // takes packets from earlier sleeps
  if (end_ != Errc::kOk) return false;
  raise_ticket();
  if (look() == Errc::kWouldBlock && !more_to_see_) {
    count_one(own_words_.sleeps);
    return true;
  }
  lower_ticket();
  return false;
}

// If the kernel has no memory for the packet, the ticket stays unanswered, and the next operation
// tries again.
void ChannelCore::answer(Word ticket) {
  auto& side = static_cast<ChannelSide&>(*this);
  switch (side.link_.wake()) {
    case SendOutcome::kSent:
      answered_ = ticket;
      return count_one(own_words_.wakes);
    case SendOutcome::kWouldBlock:
      return;
    case SendOutcome::kClosed:
      answered_ = ticket;
      return side.take_peer_state(Link::Peer::kGone);
  }
}

Errc ChannelCore::look_at_peer() {
  auto& side = static_cast<ChannelSide&>(*this);
  if (waiting_) {
    calls_until_clock_ = 1;
    return Errc::kMisuse;
  }
  calls_until_clock_ = kCallsPerClock;
  const std::uint64_t now = monotonic_ns();
  if (now - side.looked_ns_ < kPeerLookNs) return Errc::kOk;
  side.looked_ns_ = now;
  side.take_peer_state(side.link_.look());
  return Errc::kOk;
}

// Sleeps until a packet or an interrupt arrives.
void ChannelSide::await_peer(std::uint64_t timeout_ns) {
  keep_others_out();
  // Even if the flag was already seen, because a raise precedes its signal.
  if (link_.await(wake_up_.get(), timeout_ns)) drain_eventfd(wake_up_.get());
  let_others_in();
}

// Makes every overlapping call check waiting_.
void ChannelSide::keep_others_out() {
  waiting_ = true;
  calls_kept_ = std::exchange(calls_until_clock_, 1);
}

void ChannelSide::let_others_in() {
  calls_until_clock_ = calls_kept_;
  waiting_ = false;
}

bool ChannelSide::is_ready() {
  return enter() != Errc::kOk || look_for_set() != Errc::kWouldBlock;
}

std::optional<WakeUp> ChannelSide::prepare_wait() {
  if (!prepare_to_poll([&] { return look_for_set(); })) return std::nullopt;
  count_one(own_words_.*set_wait_->waits);
  keep_others_out();
  const std::uint64_t now = monotonic_ns();
  return WakeUp{.wake_by_ns = std::min(now + kChannelSleepNsMax, set_wait_->look_by_ns(*holder_))};
}

void ChannelSide::finish_wait() {
  lower_ticket();
  let_others_in();
}

void ChannelSide::take_peer_state(Link::Peer peer) {
  if (peer == Link::Peer::kThere || end_ != Errc::kOk) return;
  if (peer == Link::Peer::kViolation) {
    corrupt("it sent a packet that is not valid on a channel's socket");
    return;
  }
  switch (load_channel_state(peer_words_)) {
    case ChannelState::kClosed:
      return finish(Errc::kClosed,
                    make_error(Errc::kClosed, absl::StrCat(peer_name_, " closed the channel")));
    case ChannelState::kCorrupt:
      return finish(
          Errc::kPeerGone,
          make_error(Errc::kPeerGone,
                     absl::StrCat(
                         peer_name_,
                         " closed the channel because this side wrote invalid data; see its log")));
    default:
      return finish(
          Errc::kPeerGone,
          make_error(Errc::kPeerGone, absl::StrCat(peer_name_,
                                                   " ended without closing the channel; "
                                                   "connect or accept again for a new one")));
  }
}

void ChannelSide::finish(Errc end, absl::Status why) {
  end_ = end;
  why_ended_ = std::move(why);
}

void ChannelSide::close() {
  if (in_child() || link_.fd() < 0) return;
  store_channel_state(own_words_, ChannelState::kClosed);
  link_.close();
  if (end_ == Errc::kOk) {
    finish(Errc::kMisuse,
           make_error(Errc::kClosed, "this end of the channel was closed by its own close()"));
  }
}

Errc ChannelSide::corrupt(const std::string& what) {
  store_channel_state(own_words_, ChannelState::kCorrupt);
  link_.close();
  finish(Errc::kCorrupt,
         make_error(Errc::kCorrupt, absl::StrCat("the channel to ", peer_name_,
                                                 " is corrupt and was closed: ", what,
                                                 "; restart that process, and find the cause")));
  return ended();
}

Errc ChannelSide::released_too_much(const FrameWriter& writer) {
  return corrupt(absl::StrCat("it reports that it has released bytes up to ", writer.received(),
                              ", but it was sent bytes up to ", writer.position()));
}

void DeleteChannelSide::operator()(ChannelCore* core) const {
  auto* const side = static_cast<ChannelSide*>(core);
  if (side->in_child()) {
    leave_to_parent(side);
  } else {
    delete side;
  }
}

}  // namespace lapwing
