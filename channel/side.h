// One side of a channel, from open to close: both memory files, the socket between them, waiting,
// and how the channel ended. Producer, consumer and duplex are built on it.
//
// Thread safety: one thread at a time. A call that overlaps a sleeping one returns kMisuse. Owns
// memory and socket, and closes them in its destructor. A forked child does not use them.
//
// Invariants
//  1. end() is kOk until the channel has ended for this side. Memory stays mapped, so everything
//     that a killed producer had committed can still be read.
//  2. No wait exceeds its deadline, and none depends on a wake-up: a sleep ends after at
//     most kChannelSleepNsMax.
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

// How an end waits in a wait set, by kind of end. `bytes`: the size of a message to send.
struct EndWait {
  // Polls like the end's own waits. Has no effect that the end's holder can see.
  Errc (*look)(ChannelEnd& end, std::size_t bytes);
  // The time (CLOCK_MONOTONIC) at which `look` returns a different result without an event.
  std::uint64_t (*look_by_ns)(const ChannelEnd& end);
  PaddedWord ChannelWords::* waits;  // the tally of such waits
};

// The look_by_ns of an end whose result does not depend on the time.
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

  // The status of the last operation that failed.
  const absl::Status& status() const { return in_child() ? fork_.error() : status_; }
  ChannelCounters counters() const;

  // True in a forked child of the process that made it, where every operation returns kForked.
  bool in_child() const { return fork_.in_child(); }
  void on_child() noexcept;

  // Ends the current wait, or the next one. May be called from any thread and from a signal
  // handler.
  void interrupt() {
    interrupted_.raise();
    signal_eventfd(wake_up_.get());
  }

  // Calls `look` until it returns anything but kWouldBlock, the deadline passes (nothing_by()), or
  // the other side has ended and everything it sent has been seen. `waits` counts such waits.
  template <typename Look>
  Errc wait(const Look& look, std::uint64_t deadline_ns, PaddedWord& waits) {
    const Errc now = look();
    return now == Errc::kWouldBlock ? wait_on(look, deadline_ns, waits) : now;
  }
  // Like wait(), if `look` has just returned kWouldBlock.
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

  // Called before a wait for room, by a side that has sent `messages` so far. If they are a run of
  // messages since the last such wait, it returns a few microseconds later. Otherwise each poll for
  // room would take the cache line with the consumer's position away from the consumer, and find
  // room for few messages.
  void let_consumer_ahead(std::uint64_t messages);

  // A poll that stops before it has seen everything reports that. Then no call sleeps because of
  // its result, or treats it as the end of what a killed peer had sent.
  void look_left_more(bool more) { more_to_see_ = more; }
  // For an event loop: announces that this side sleeps, and polls once more. True if nothing has
  // arrived; fd() then becomes readable as soon as something may have arrived. False if `look`
  // would succeed or has not seen everything, or the channel has ended.
  bool prepare_to_poll(absl::FunctionRef<Errc()> look);

  // For a wait set, which watches the descriptor. The kind of wait does not change while this side
  // is in the set.
  void set_wait(const EndWait& wait, std::size_t bytes) {
    if (owner() != nullptr) return;
    set_wait_ = &wait;
    set_wait_bytes_ = bytes;
  }
  bool is_ready() override;
  std::optional<WakeUp> prepare_wait() override;
  void finish_wait() override;
  int wake_fd() const override { return fd(); }

  // Takes the wake-ups waiting at the socket, and detects whether the other side has ended. For an
  // event loop whose descriptor has become readable.
  void look_at_socket() { take_peer_state(link_.look()); }

  // Ends the channel for this side, and notifies the other side. Ok if it had already ended.
  void close();
  Errc corrupt(const std::string& what);
  // The result for every sender if the peer's position is invalid.
  Errc released_too_much(const FrameWriter& writer);
  // Notes the error of a call. The channel continues.
  Errc misuse(absl::Status why) {
    refuse(std::move(why));
    return Errc::kMisuse;
  }
  // Like misuse(), but returns the code of the error.
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
  std::uint32_t calls_kept_ = 0;  // calls_until_clock_ before the sleep
  const EndWait* set_wait_ = nullptr;
  std::size_t set_wait_bytes_ = 0;
  absl::Status why_ended_;
  absl::Status status_;
  InterruptFlag interrupted_;
  UniqueFd wake_up_;  // readable after interrupt()
  ForkWatch fork_;
};

}  // namespace lapwing
