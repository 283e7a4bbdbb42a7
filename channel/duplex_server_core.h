// The server of many duplexes itself (lapwing/duplex_server.h is its public face): its clients, whose
// turn it is, and the sleep.
//
//   a pass   asks the awake clients in turn, beginning with the one whose turn it is
//   a poll   asks the sockets of those asleep and the listener (one system call), and the clock, for
//            clients whose sleep has lasted long enough
//
// A poll comes before every kServerPassesPerPoll-th pass, and before the last one before the server
// sleeps, yields, or gives nothing.
//
// A client is awake, asleep or gone. Before the server sleeps each awake client is armed, as an
// event loop arms a duplex, and is asleep from then on: its side wakes the server by its socket. It
// stays so, however often the server wakes for others, until its socket is readable, an operation
// uses its channel, or its time has come. So to wake and to sleep costs system calls for those
// clients alone that had something, and a pass costs nothing for those asleep.
//
// Invariants
//  1. A client asleep has been armed, and no operation has used its channel since.
//  2. Every client's socket is watched from when it is accepted until it is gone.
//  3. No client is asleep for longer than kChannelSleepNsMax, or beyond the deadline of a call to it.
//
// Thread safety: one thread at a time; a call that comes while another one waits is refused.
// interrupt() from any thread and from a signal handler.
// Ownership: the listener and the clients' channels. In a forked child nothing is touched.
#pragma once

#include <array>
#include <boost/intrusive/list.hpp>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "channel/duplex_core.h"
#include "channel/watch.h"
#include "lapwing/duplex_server.h"
#include "lapwing/listener.h"
#include "os/fork.h"
#include "os/unique_fd.h"
#include "os/wait_source.h"
#include "os/waiter.h"
#include "proto/busy_flag.h"
#include "proto/thread_words.h"

namespace lapwing {

inline constexpr std::uint32_t kServerPassesPerPoll = 64;

class DuplexServerCore final : public WaitSource {
 public:
  // Errors: kInvalidArgument, kLimit, kSystem.
  static absl::StatusOr<std::unique_ptr<DuplexServerCore>> make(ChannelListener listener,
                                                                const DuplexServerOptions& options);
  ~DuplexServerCore();

  const ForkWatch& made() const { return fork_; }

  Result<ServerEvent> wait(Deadline deadline);
  Errc try_reply(ClientId client, CallId call, std::span<const std::byte> payload,
                 std::uint32_t type);
  Errc try_reply_error(ClientId client, CallId call, std::uint32_t code, const std::string& text);
  Errc try_send(ClientId client, std::span<const std::byte> payload, std::uint32_t type);
  Result<CallId> try_start(ClientId client, std::span<const std::byte> payload, std::uint32_t type,
                           Deadline deadline);
  Errc cancel(ClientId client, CallId call);
  bool is_cancelled(ClientId client, CallId call);
  Errc drop(ClientId client);

  std::size_t clients() const;
  std::string peer(ClientId client) const;
  ChannelCounters counters(ClientId client) const;
  DuplexCounters duplex_counters(ClientId client) const;
  std::uint64_t refused() const { return listener_.refused(); }
  const absl::Status& last_refusal() const { return listener_.last_refusal(); }
  const absl::Status& status() const { return fork_.in_child() ? fork_.error() : status_; }

  bool arm();
  int fd() const { return fork_.in_child() ? -1 : watch_.fd(); }
  void interrupt() noexcept;

  // In a wait set.
  bool is_ready() override;
  std::optional<WakeUp> prepare_wait() override;
  void finish_wait() override;
  int wake_fd() const override { return fd(); }

 private:
  static constexpr std::uint64_t kNever = std::numeric_limits<std::uint64_t>::max();

  // What returned kWouldBlock. Each needs room, a message a credit besides, a call a place.
  enum Refused : std::size_t { kReplies, kMessages, kCalls };
  static constexpr std::size_t kRefusedKinds = 3;
  struct Client : boost::intrusive::list_base_hook<> {
    Client(ClientId named, ChannelHandle side, bool late_replies)
        : id(named), core(std::move(side), late_replies), fd(core.fd()) {}

    const ClientId id;
    DuplexCore core;
    const int fd;  // that is watched
    enum class State { kAwake, kAsleep, kGone } state = State::kAwake;
    bool is_new = true;
    std::array<std::optional<std::size_t>, kRefusedKinds> refused = {};  // the smallest, bytes
    std::uint64_t due_ns = 0;  // while asleep: when it wakes by itself
  };
  using Clients = boost::intrusive::list<Client>;

  DuplexServerCore(ChannelListener listener, const DuplexServerOptions& options, Watch watch,
                   UniqueFd wake_up);
  absl::Status watch_own();

  Client* find(ClientId id) const;
  // Of an operation on a client: `act` is given it, awake.
  template <typename Act>
  Errc use(ClientId id, const Act& act);
  // The result, noted where it is kWouldBlock.
  static Errc noted(Client& client, Errc result, Refused what, std::size_t bytes);
  void wake(Client& client);
  void retire(Client& client);
  void erase(ClientId id);
  void erase_gone();

  bool is_poll_due();
  void poll_all();
  void wake_due();
  void serve_listener();
  void accept();
  void note_listener(const absl::Status& status);

  static bool has_what_was_refused(Client& client);
  static bool has_event(Client& client);
  bool has_event();
  bool is_over() const { return handed_over_ && free_.size() == clients_.size(); }
  // kWouldBlock: there is none.
  Result<ServerEvent> take_next();
  Result<ServerEvent> take_from(Client& client);
  void end_turn();

  Result<ServerEvent> wait_alone(std::uint64_t deadline_ns);
  bool arm_all();
  void rest(std::uint64_t deadline_ns);

  const DuplexServerOptions options_;
  ChannelListener listener_;
  Watch watch_;
  Waiter waiter_;

  std::vector<std::unique_ptr<Client>> clients_;  // by place: a ClientId is a call_number()
  std::vector<std::uint32_t> free_;               // places
  std::uint64_t serial_ = 0;                      // of the client that came last
  ClientId gone_ = 0;                             // of which kGone was returned last
  Clients awake_;                                 // the first has its turn
  Clients asleep_;
  std::uint64_t asleep_due_ns_ = kNever;  // of those asleep, the earliest, or earlier
  std::uint32_t turn_left_;               // events
  std::uint32_t passes_left_ = 0;         // before the next poll
  bool listener_is_due_ = true;
  bool handed_over_ = false;
  bool hand_over_is_due_ = false;  // the event
  absl::Status failed_;            // to accept; not yet returned

  absl::Status status_;
  InterruptFlag interrupted_;
  UniqueFd wake_up_;  // readable after interrupt()
  BusyFlag waiting_;
  ForkWatch fork_{"server of duplexes"};
};

}  // namespace lapwing
