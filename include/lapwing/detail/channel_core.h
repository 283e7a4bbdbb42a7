// The hot half of one side of a channel (channel/side.h is the other): what the
// operations of producer and consumer do when nothing is to be waited for. It stands here so that
// the caller's compiler sees it. Not for users.
//
// Thread safety: as the end of the channel that owns it.
#pragma once

#include <cstdint>
#include <memory>

#include "lapwing/detail/channel_words.h"
#include "lapwing/error.h"
#include "lapwing/waiting.h"

namespace lapwing {

inline constexpr std::uint32_t kSpinsPerClock = 64;    // a clock costs as much as some looks
inline constexpr std::uint32_t kSpinTurns = 31;        // of so many spins, before a wait sleeps
inline constexpr std::uint32_t kCallsPerClock = 1024;  // of operations that do not wait

// One more of what `tally`, an own word, counts.
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
  // The end as the answer to an operation.
  Errc ended();
  // The object that has this side, wherever it is moved to.
  void held_by(ChannelEnd* holder) { holder_ = holder; }

  // The first step of every operation: kOk, or why there is nothing to be done. Now and then looks
  // whether the other side is still there.
  [[gnu::always_inline]] Errc enter() {
    if (--calls_until_clock_ == 0) [[unlikely]] {
      if (const Errc looked = look_at_peer(); looked != Errc::kOk) return looked;
    }
    if (end_ != Errc::kOk) [[unlikely]]
      return ended();
    return Errc::kOk;
  }

  // After something was made visible: wakes the other side if it sleeps.
  [[gnu::always_inline]] void wake_peer() {
    waker_barrier(barrier_);  // N2
    const Word ticket = load_ticket(peer_words_);
    if (ticket_sleeps(ticket) && ticket != answered_) [[unlikely]]
      answer(ticket);  // N3
  }

  // The first part of a wait: spins a little, if at all. Calls `look` until it answers anything but
  // kWouldBlock. `waits` is the tally of such waits.
  template <typename Look>
  [[gnu::always_inline]] Errc spin_first(const Look& look, PaddedWord& waits) {
    count_one(waits);
    turns_ = 0;
    return spin(look);
  }

  // What a look that found nothing means.
  Errc nothing_there() {
    const bool ended_now = end_ != Errc::kOk && !more_to_see_;
    return ended_now ? ended() : Errc::kWouldBlock;
  }

 protected:
  ChannelCore(ChannelWords& own_words, const ChannelWords& peer_words, ChannelBarrier barrier,
              WaitStrategy strategy)
      : own_words_(own_words), peer_words_(peer_words), barrier_(barrier), strategy_(strategy) {}
  ~ChannelCore() = default;

  // Never two looks without a pause between them, which would slow the line down that both sides
  // look at.
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
  // What is rarer: channel/side.cc.
  Errc look_at_peer();  // kMisuse: another call waits
  void answer(Word ticket);

  ChannelWords& own_words_;
  const ChannelWords& peer_words_;
  ChannelBarrier barrier_;
  WaitStrategy strategy_;
  std::uint32_t calls_until_clock_ = kCallsPerClock;
  std::uint32_t turns_ = 0;   // of waiting, in the wait that is under way
  bool more_to_see_ = false;  // by the last look
  bool waiting_ = false;      // a call sleeps; calls_until_clock_ is 1, so every other finds it
  Errc end_ = Errc::kOk;
  Word ticket_ = 0;    // own: even while awake
  Word answered_ = 0;  // the last of the peer's tickets that was answered
  ChannelEnd* holder_ = nullptr;
};

// Deletes the whole side; not in a forked child.
struct DeleteChannelSide {
  void operator()(ChannelCore* core) const;
};
using ChannelHandle = std::unique_ptr<ChannelCore, DeleteChannelSide>;

}  // namespace lapwing
