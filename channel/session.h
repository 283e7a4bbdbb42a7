// One life of a channel as one side sees it: both memory files, the socket between them, waiting,
// and how it ended. Producer, consumer and duplex are built on it.
//
// Thread safety: one thread; debug builds check. Owns memory and socket; closes when it goes.
//
// Invariants
//  1. end() is kOk until the channel has ended for this side. Memory stays mapped, so what a dead
//     producer had committed can still be read.
//  2. No wait is longer than its deadline, and none needs a wake-up: a sleep ends after
//     kChannelSleepNsMax at the latest.
#pragma once

#include <cstdint>
#include <string>
#include <thread>
#include <utility>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "channel/link.h"
#include "channel/memory_file.h"
#include "lapwing/channel.h"
#include "proto/shared_words.h"

namespace lapwing {

inline constexpr std::uint64_t kChannelSleepNsMax = 1'000'000'000;
inline constexpr std::uint64_t kPeerLookNs = 1'000'000;  // how often who does not sleep looks
inline constexpr std::uint32_t kSpinsPerClock = 64;      // a clock costs as much as some looks
inline constexpr std::uint32_t kSpinTurns = kBackoffSpins / kSpinsPerClock;
inline constexpr std::uint32_t kCallsPerClock = 1024;  // of operations that do not wait

// One more of what `tally`, an own word, counts.
inline void count_one(PaddedWord& tally) {
  store_tally(tally, load_tally(tally.value) + 1);
}

class ChannelSession {
 public:
  ChannelSession(Link link, OwnMemory own, PeerMemory peer, ChannelBarrier barrier,
                 const ChannelOptions& options, std::string peer_name);
  ~ChannelSession();
  ChannelSession(const ChannelSession&) = delete;
  ChannelSession& operator=(const ChannelSession&) = delete;

  const OwnMemory& own() const { return own_; }
  ChannelWords& own_words() const { return own_words_; }
  const PeerMemory& peer() const { return peer_; }
  const std::string& peer_name() const { return peer_name_; }  // "pid 12 of user 1000"
  int fd() const { return link_.fd(); }

  ChannelResult end() const { return end_; }
  // Of the last operation that did not succeed.
  const absl::Status& status() const { return status_; }
  // The end as the answer to an operation.
  ChannelResult ended();
  ChannelCounters counters() const;

  // The first step of every operation: kOk, or why there is nothing to be done. Now and then looks
  // whether the other side is still there.
  [[gnu::always_inline]] ChannelResult enter() {
#ifndef NDEBUG
    if (!is_own_thread()) return misuse(wrong_thread());
#endif
    if (--calls_until_clock_ == 0) [[unlikely]]
      look_at_peer();
    if (end_ != ChannelResult::kOk) [[unlikely]]
      return ended();
    return ChannelResult::kOk;
  }

  // After something was made visible: wakes the other side if it sleeps.
  [[gnu::always_inline]] void wake_peer() {
    waker_barrier(barrier_);  // N2
    const Word ticket = load_ticket(peer_words_);
    if (ticket_sleeps(ticket) && ticket != answered_) [[unlikely]]
      answer(ticket);  // N3
  }

  // Calls `look` until it answers anything but kWouldBlock, the deadline passes, or the other side
  // has ended and nothing is left to be seen of it. `waits` is the tally of such waits.
  template <typename Look>
  ChannelResult wait(const Look& look, std::uint64_t deadline_ns, PaddedWord& waits) {
    const ChannelResult now = look();
    return now == ChannelResult::kWouldBlock ? wait_on(look, deadline_ns, waits) : now;
  }
  // The same where `look` has just answered kWouldBlock.
  template <typename Look>
  ChannelResult wait_on(const Look& look, std::uint64_t deadline_ns, PaddedWord& waits) {
    const ChannelResult soon = spin_first(look, waits);
    return soon == ChannelResult::kWouldBlock ? wait_further(look, deadline_ns) : soon;
  }
  // Its two parts, for whom the first must be fast. The first spins a little, if at all.
  template <typename Look>
  [[gnu::always_inline]] ChannelResult spin_first(const Look& look, PaddedWord& waits) {
    count_one(waits);
    turns_ = 0;
    return spin(look);
  }
  template <typename Look>
  ChannelResult wait_further(const Look& look, std::uint64_t deadline_ns) {
    for (;;) {
      const ChannelResult later = wait_longer(look, deadline_ns);
      if (later != ChannelResult::kWouldBlock) return later;
      const ChannelResult soon = spin(look);
      if (soon != ChannelResult::kWouldBlock) return soon;
    }
  }

  // A look that stops before it has seen everything says so: nobody sleeps on its answer, and
  // nobody takes it for the last word of a peer that has ended.
  void look_left_more(bool more) { more_to_see_ = more; }
  // What a look that found nothing means.
  ChannelResult nothing_there() {
    const bool ended_now = end_ != ChannelResult::kOk && !more_to_see_;
    return ended_now ? ended() : ChannelResult::kWouldBlock;
  }

  // For an event loop: says that this side sleeps and looks once more. True: nothing has come, and
  // fd() becomes readable as soon as something may have. False: `look` would succeed, has not seen
  // everything, or the channel has ended.
  bool prepare_to_poll(absl::FunctionRef<ChannelResult()> look);

  // Ends the channel for this side, and tells the other; ok if it had ended already.
  void close();
  ChannelResult corrupt(const std::string& what);
  // Notes what was wrong with a call; the channel goes on.
  ChannelResult misuse(absl::Status why) {
    status_ = std::move(why);
    return ChannelResult::kMisuse;
  }

 private:
  // Never two looks without a pause between them, which would slow the line down that both sides
  // look at.
  template <typename Look>
  [[gnu::always_inline]] ChannelResult spin(const Look& look) {
    for (std::uint32_t spins = spins_now(); spins > 0; --spins) {
      spin_pause();
      const ChannelResult seen = look();
      if (seen != ChannelResult::kWouldBlock) return seen;
    }
    return ChannelResult::kWouldBlock;
  }
  std::uint32_t spins_now() const {
    const bool spins = strategy_ == WaitStrategy::kBusy ||
                       (strategy_ == WaitStrategy::kBackoff && turns_ < kSpinTurns);
    return spins ? kSpinsPerClock : 0;
  }
  ChannelResult wait_longer(absl::FunctionRef<ChannelResult()> look, std::uint64_t deadline_ns);
  ChannelResult park(absl::FunctionRef<ChannelResult()> look, std::uint64_t until_ns);
  void raise_ticket();
  void lower_ticket();
  void answer(Word ticket);
  void look_at_peer();
  void take_peer_state(Link::Peer peer);
  void finish(ChannelResult end, absl::Status why);
  bool is_own_thread();
  static absl::Status wrong_thread();

  Link link_;
  OwnMemory own_;
  PeerMemory peer_;
  ChannelWords& own_words_;
  const ChannelWords& peer_words_;
  ChannelBarrier barrier_;
  WaitStrategy strategy_;
  std::string peer_name_;

  Word ticket_ = 0;    // own: even while awake
  Word answered_ = 0;  // the last of the peer's tickets that was answered
  std::uint32_t calls_until_clock_ = kCallsPerClock;
  std::uint32_t turns_ = 0;  // of waiting, in the wait that is under way
  std::uint64_t looked_ns_ = 0;
  bool more_to_see_ = false;  // by the last look
  ChannelResult end_ = ChannelResult::kOk;
  absl::Status why_ended_;
  absl::Status status_;
#ifndef NDEBUG
  std::thread::id thread_;
#endif
};

}  // namespace lapwing
