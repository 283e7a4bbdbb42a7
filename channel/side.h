// One life of a channel as one side sees it: both memory files, the socket between them, waiting,
// and how it ended. Producer, consumer and duplex are built on it.
//
// Thread safety: one thread at a time; a call that overlaps one that sleeps is answered with misuse.
// Owns memory and socket; closes when it goes. In a forked child it is left alone.
//
// Invariants
//  1. end() is kOk until the channel has ended for this side. Memory stays mapped, so what a dead
//     producer had committed can still be read.
//  2. No wait is longer than its deadline, and none needs a wake-up: a sleep ends after
//     kChannelSleepNsMax at the latest.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "channel/link.h"
#include "channel/memory_file.h"
#include "lapwing/channel.h"
#include "lapwing/detail/channel_core.h"
#include "lapwing/detail/frame_writer.h"
#include "lapwing/error.h"
#include "os/deadline.h"
#include "os/fork.h"
#include "os/kernel.h"
#include "os/thread_words.h"
#include "os/unique_fd.h"
#include "os/wait_source.h"

namespace lapwing {

inline constexpr std::uint64_t kChannelSleepNsMax = 1'000'000'000;
inline constexpr std::uint64_t kPeerLookNs = 1'000'000;  // poll interval while spinning

// What an end waits for in a wait set: one kind of end each. `bytes`: of a message to be sent.
struct EndWait {
  // As the looks of the end's own waits. Changes nothing that the end's holder sees.
  Errc (*look)(ChannelEnd& end, std::size_t bytes);
  // When `look` would answer something else with time alone (CLOCK_MONOTONIC).
  std::uint64_t (*look_by_ns)(const ChannelEnd& end);
  PaddedWord ChannelWords::* waits;  // the tally of such waits
};

// The look_by_ns of an end for which no time changes the answer.
inline std::uint64_t never_by_time(const ChannelEnd&) {
  return Deadline::never().monotonic_ns();
}

class ChannelSide final : public ChannelCore, public WaitSource {
 public:
  ChannelSide(Link link, OwnMemory own, PeerMemory peer, ChannelBarrier barrier,
              const ChannelOptions& options, std::string peer_name);
  ~ChannelSide();
  ChannelSide(const ChannelSide&) = delete;
  ChannelSide& operator=(const ChannelSide&) = delete;

  const OwnMemory& own() const { return own_; }
  const PeerMemory& peer() const { return peer_; }
  const std::string& peer_name() const { return peer_name_; }  // "pid 12 of user 1000"
  int fd() const { return link_.fd(); }

  // Of the last operation that did not succeed.
  const absl::Status& status() const { return in_child() ? fork_.error() : status_; }
  ChannelCounters counters() const;

  // A forked child of the process that made it: every operation ends with kForked.
  bool in_child() const { return fork_.in_child(); }
  void on_child() noexcept;

  // Ends the wait that is under way, or the next: from any thread, also from a signal handler.
  void interrupt() {
    interrupted_.raise();
    signal_eventfd(wake_up_.get());
  }

  // Calls `look` until it answers anything but kWouldBlock, the deadline passes (nothing_by()), or
  // the other side has ended and nothing is left to be seen of it. `waits` is the tally of such
  // waits.
  template <typename Look>
  Errc wait(const Look& look, std::uint64_t deadline_ns, PaddedWord& waits) {
    const Errc now = look();
    return now == Errc::kWouldBlock ? wait_on(look, deadline_ns, waits) : now;
  }
  // The same where `look` has just answered kWouldBlock.
  template <typename Look>
  Errc wait_on(const Look& look, std::uint64_t deadline_ns, PaddedWord& waits) {
    const Errc soon = spin_first(look, waits);
    return soon == Errc::kWouldBlock ? wait_further(look, deadline_ns) : soon;
  }
  // The second part of a wait, after spin_first().
  template <typename Look>
  Errc wait_further(const Look& look, std::uint64_t deadline_ns) {
    for (;;) {
      const Errc later = wait_longer(look, deadline_ns);
      if (later == Errc::kTimedOut) return nothing_by(Deadline::at_monotonic_ns(deadline_ns));
      if (later != Errc::kWouldBlock) return later;
      const Errc soon = spin(look);
      if (soon != Errc::kWouldBlock) return soon;
    }
  }

  // Before a wait for room, by a side that has sent `messages` so far. If they are a run of messages
  // since the last such wait, returns some microseconds later: each look for room takes the line of the
  // consumer's position away from it, and finds room for few messages.
  void let_consumer_ahead(std::uint64_t messages);

  // A poll that stops before it has seen everything reports that. Then no call sleeps on its answer,
  // or takes it for the end of what a dead peer had sent.
  void look_left_more(bool more) { more_to_see_ = more; }
  // For an event loop: says that this side sleeps and looks once more. True: nothing has come, and
  // fd() becomes readable as soon as something may have. False: `look` would succeed, has not seen
  // everything, or the channel has ended.
  bool prepare_to_poll(absl::FunctionRef<Errc()> look);

  // In a wait set, where it is waited for by its descriptor. What it waits for stays while it is
  // there.
  void set_wait(const EndWait& wait, std::size_t bytes) {
    if (owner() != nullptr) return;
    set_wait_ = &wait;
    set_wait_bytes_ = bytes;
  }
  bool is_ready() override;
  std::optional<WakeUp> prepare_wait() override;
  void finish_wait() override;
  int wake_fd() const override { return fd(); }

  // Takes the wake-ups that wait at the socket, and notices whether the other side has gone: for an
  // event loop whose descriptor has become readable.
  void look_at_socket() { take_peer_state(link_.look()); }

  // Ends the channel for this side, and tells the other; ok if it had ended already.
  void close();
  Errc corrupt(const std::string& what);
  // What every sender answers to a peer's position that cannot be.
  Errc released_too_much(const FrameWriter& writer);
  // Notes what was wrong with a call; the channel goes on.
  Errc misuse(absl::Status why) {
    refuse(std::move(why));
    return Errc::kMisuse;
  }
  // The same where the call is answered with the error that it is.
  Errc refuse(absl::Status why) {
    status_ = std::move(why);
    return errc_of(status_);
  }

 private:
  friend class ChannelCore;
  Errc wait_longer(absl::FunctionRef<Errc()> look, std::uint64_t deadline_ns);
  Errc park(absl::FunctionRef<Errc()> look, std::uint64_t until_ns);
  void raise_ticket();
  void lower_ticket();
  void take_peer_state(Link::Peer peer);
  void finish(Errc end, absl::Status why);
  void await_peer(std::uint64_t timeout_ns);
  void keep_others_out();
  void let_others_in();
  Errc look_for_set() { return set_wait_->look(*holder_, set_wait_bytes_); }

  Link link_;
  OwnMemory own_;
  PeerMemory peer_;
  std::string peer_name_;

  std::uint64_t looked_ns_ = 0;
  std::uint64_t full_at_ = 0;     // messages sent before the last wait for room
  std::uint32_t calls_kept_ = 0;  // calls_until_clock_ as it was before the sleep
  const EndWait* set_wait_ = nullptr;
  std::size_t set_wait_bytes_ = 0;
  absl::Status why_ended_;
  absl::Status status_;
  InterruptFlag interrupted_;
  UniqueFd wake_up_;  // readable after interrupt()
  ForkWatch fork_;
};

}  // namespace lapwing
