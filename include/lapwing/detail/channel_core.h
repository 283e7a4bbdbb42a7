// The fast path of one side of a channel: producer and consumer operations that need not wait.
// It is in a header so that callers can inline it; channel/side.h contains the rest. Not for users.
//
// Thread safety: that of the channel end that owns it.
#pragma once

#include <cstdint>
#include <memory>

#include "lapwing/detail/channel_words.h"
#include "lapwing/error.h"
#include "lapwing/waiting.h"

namespace lapwing {

inline constexpr std::uint32_t kSpinsPerClock = 64;    // reading the clock costs several polls
inline constexpr std::uint32_t kSpinTurns = 31;        // turns of kSpinsPerClock before a sleep
inline constexpr std::uint32_t kCallsPerClock = 1024;  // operations that do not wait

// Increments `tally`, a word of this side.
inline void count_one(PaddedWord& tally) {
  store_tally(tally, load_tally(tally.value) + 1);
}

class ChannelEnd;

class ChannelCore {
 public:
  ChannelCore(const ChannelCore&) = delete;
  ChannelCore& operator=(const ChannelCore&) = delete;

  ChannelWords& own_words() const { return own_words_; }
  Errc end() const { return end_; }
  // The error of an operation on a side that has ended.
  Errc ended();
  // Sets the object that owns this side. Called again when that object is moved.
  void held_by(ChannelEnd* holder) { holder_ = holder; }

  // The first step of every operation: kOk, or the error that the operation returns. Once in
  // kCallsPerClock calls it checks whether the peer is still alive.
  [[gnu::always_inline]] Errc enter() {
    if (--calls_until_clock_ == 0) [[unlikely]] {
      if (const Errc looked = look_at_peer(); looked != Errc::kOk) return looked;
    }
    if (end_ != Errc::kOk) [[unlikely]]
      return ended();
    return Errc::kOk;
  }

  // Wakes the peer if it sleeps. Call it after a store that the peer may be waiting for.
  [[gnu::always_inline]] void wake_peer() {
    waker_barrier(barrier_);  // N2
    const Word ticket = load_ticket(peer_words_);
    if (ticket_sleeps(ticket) && ticket != answered_) [[unlikely]]
      answer(ticket);  // N3
  }

  // The first part of a wait. Depending on the strategy, it spins and calls `look` until `look`
  // returns a value other than kWouldBlock. `waits` counts these waits.
  template <typename Look>
  [[gnu::always_inline]] Errc spin_first(const Look& look, PaddedWord& waits) {
    count_one(waits);
    turns_ = 0;
    return spin(look);
  }

  // The result of a poll that found nothing.
  Errc nothing_there() {
    const bool ended_now = end_ != Errc::kOk && !more_to_see_;
    return ended_now ? ended() : Errc::kWouldBlock;
  }

 protected:
  ChannelCore(ChannelWords& own_words, const ChannelWords& peer_words, ChannelBarrier barrier,
              WaitStrategy strategy)
      : own_words_(own_words), peer_words_(peer_words), barrier_(barrier), strategy_(strategy) {}
  ~ChannelCore() = default;

  // Pauses before each poll, because polls without a pause slow down the line that both sides use.
  template <typename Look>
  [[gnu::always_inline]] Errc spin(const Look& look) {
    for (std::uint32_t spins = spins_now(); spins > 0; --spins) {
      spin_pause();
      const Errc seen = look();
      if (seen != Errc::kWouldBlock) return seen;
    }
    return Errc::kWouldBlock;
  }
  std::uint32_t spins_now() const {
    const bool spins = strategy_ == WaitStrategy::kBusy ||
                       (strategy_ == WaitStrategy::kBackoff && turns_ < kSpinTurns);
    return spins ? kSpinsPerClock : 0;
  }
  // Rare steps; defined in channel/side.cc.
  Errc look_at_peer();  // kMisuse: another call waits
  void answer(Word ticket);

  ChannelWords& own_words_;
  const ChannelWords& peer_words_;
  ChannelBarrier barrier_;
  WaitStrategy strategy_;
  std::uint32_t calls_until_clock_ = kCallsPerClock;
  std::uint32_t turns_ = 0;   // turns of the current wait
  bool more_to_see_ = false;  // the last poll found more
  bool waiting_ = false;      // a call sleeps; calls_until_clock_ is 1, so other calls detect it
  Errc end_ = Errc::kOk;
  Word ticket_ = 0;    // this side's ticket; even while awake
  Word answered_ = 0;  // the peer's last answered ticket
  ChannelEnd* holder_ = nullptr;
};

// Deletes the whole side. Does nothing in a forked child.
struct DeleteChannelSide {
  void operator()(ChannelCore* core) const;
};
using ChannelHandle = std::unique_ptr<ChannelCore, DeleteChannelSide>;

}  // namespace lapwing
