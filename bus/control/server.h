// The publisher's end of the control socket: sessions, their limits, and what each client reported.
//
// Thread safety: one thread (the service thread). Owns the listening socket and every client's.
// The server answers Hello, ListSubscribers and Report by itself; Flush and Prune go to the
// ServerHooks, and their answers come back through answer_flushes() and answer_prune().
//
// Limits (here and in proto/control_frames.h): clients, frame rate, handshake time, queued frames,
// work per turn. Who breaks one is refused or dropped, told why if the socket takes it, counted
// with the reason and logged; the log itself is limited. No client can block the thread or starve
// another.
//
// The owner calls answer_flushes() whenever durable or the journal's condition has changed, and
// after every turn while flushes_waiting(): durable may have moved since the welcome hook looked.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "bus/control/drop_log.h"
#include "bus/control/socket.h"
#include "lapwing/error.h"
#include "proto/control_frames.h"
#include "proto/ring_layout.h"

namespace lapwing {

inline constexpr std::size_t kFlushesWaitingMax = 8;  // of one client, then it is dropped

struct ServerOptions {
  std::string path;               // of the socket
  std::optional<unsigned> group;  // gid whose members may connect, besides the owner and root
};

// All are required. They are called by turn() and answer_prune(), in the server's thread, and may
// answer at once.
struct ServerHooks {
  // The Welcome frame as of now, durable read before head.
  std::function<WelcomeFrame()> welcome;
  // A client wants everything up to `through` durable; answered later by answer_flushes.
  std::function<void(Sequence through)> flush_wanted;
  // The owner or root wants whole segments below this pruned; answered later by answer_prune.
  std::function<void(Sequence below)> prune_wanted;
  // What happened to a client, for the log.
  std::function<void(const std::string& line)> log;
};

class ControlServer {
 public:
  // Errors: those of listen_control; kSystem without epoll.
  static absl::StatusOr<std::unique_ptr<ControlServer>> start(ServerOptions options,
                                                              ServerHooks hooks);
  ~ControlServer();

  int epoll_fd() const;  // readable when turn() has work
  // Accepts, reads, answers, expires; never blocks. Returns the monotonic time of the next deadline
  // it wants a turn for (UINT64_MAX: none).
  std::uint64_t turn(std::uint64_t now_ns);

  // Completes every flush at or below `durable`; fails the others unless the journal is good.
  void answer_flushes(Sequence durable, JournalCondition journal);
  // Answers the prune that prune_wanted announced; another one is announced only after that.
  void answer_prune(Sequence oldest, Errc result);
  bool flushes_waiting() const;
  bool prune_waiting() const;

  std::size_t subscriber_count() const;  // role kSubscriber, after Hello
  std::size_t parking_count() const;     // of those that said they may park
  std::uint64_t dropped(DropReason reason) const;
  std::vector<SubscriberInfoFrame> subscribers() const;

  // Removes the socket's name, if it is still ours, and closes every session. Idempotent.
  void close();

 private:
  struct State;
  explicit ControlServer(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace lapwing
