// The listener itself (lapwing/listener.h is its public face): who has connected and not yet been
// served, and the hand-over to a successor.
//
// Thread safety: one thread at a time. Owns the socket and, until it is handed over, its name.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "channel/hand_over.h"
#include "channel/handshake.h"
#include "channel/watch.h"
#include "lapwing/listener.h"
#include "os/foreign_socket.h"
#include "os/fork.h"
#include "os/kernel.h"
#include "os/named_file.h"
#include "os/unique_fd.h"
#include "os/wait_source.h"
#include "proto/thread_words.h"

namespace lapwing {

// How long fd() leaves alone what failed for want of descriptors or memory.
inline constexpr std::uint64_t kPauseNs = 100'000'000;

class ListenerCore final : public WaitSource {
 public:
  // Makes the socket at `path`. Only this process's user and root may connect (mode 0600), or only
  // `expected_peer_uid` if it is given. Errors: kInUse (somebody listens there; see take_over),
  // kNotALapwingFile (a file, link or directory is there) and kNotPermitted (another user's
  // socket), all of which leave it untouched; kNotFound, kPathTooLong, kSystem.
  static absl::StatusOr<ListenerCore> listen(const std::string& path,
                                             std::optional<uid_t> expected_peer_uid = std::nullopt);

  // Becomes the listener in the place of the one that listens on `path` now, as soon as that one
  // calls accept() or tend(). It goes on serving the peer that it has. Whichever of the two dies
  // on the way, the other one listens. Errors: kNoBus and kPeerGone (nobody listens there: use
  // listen()), kTimedOut, kRefused, kNotPermitted, kProtocol.
  static absl::StatusOr<ListenerCore> take_over(
      const std::string& path, Deadline deadline,
      std::optional<uid_t> expected_peer_uid = std::nullopt);

  ListenerCore(ListenerCore&&) noexcept;
  ListenerCore& operator=(ListenerCore&&) = delete;
  // Removes the socket's name, unless it was handed over. Waits for a successor that is just taking
  // it over, for kHandshakeNs at most.
  ~ListenerCore();

  const std::string& path() const { return path_; }
  const ForkMark& made() const { return made_; }

  // The next peer, for which this side is `role`; ChannelProducer::accept and its siblings call it.
  // Peers that are not expected or do not keep to the protocol are refused, counted, and the next
  // one is served. With a deadline that has passed it serves whoever can be served now. It blocks
  // beyond its deadline only to make this side's memory. Errors: kTimedOut, or kWouldBlock with
  // Deadline::now(); kInterrupted, kClosed (handed over), kLimit (no descriptors), kSystem, and those
  // of OwnMemory.
  absl::StatusOr<std::unique_ptr<ChannelSide>> accept(ChannelRole role,
                                                      const ChannelOptions& options,
                                                      Deadline deadline);

  // Whether accept() can serve anybody with these options: kInvalidArgument.
  absl::Status check_expected(const ChannelOptions& options) const;

  // What accept() does besides serving, for while a peer is served: drops the silent, lets a
  // successor take over. To be called when fd() is readable. Never blocks. kClosed once handed
  // over; else as accept().
  absl::Status tend();
  // Readable when the call that was made last, accept() or tend(), has something to do; to go from
  // tend() to accept(), call accept() before the next poll. -1 once handed over.
  int fd() const { return watch_ && !made_.in_child() ? watch_->fd() : -1; }

  // In a wait set it is waited for by fd() alone.
  bool is_ready() override { return handed_over_ || made_.in_child(); }
  std::optional<WakeUp> prepare_wait() override { return WakeUp(); }
  void finish_wait() override {}
  int wake_fd() const override { return fd(); }

  bool handed_over() const { return handed_over_; }
  std::uint64_t refused() const { return refused_; }  // peers, whatever the reason
  const absl::Status& last_refusal() const { return last_refusal_; }

  void interrupt() {
    interrupted_->raise();
    signal_eventfd(wake_up_.get());
  }

 private:
  // Connected, and not yet served: nothing of what it sent has been taken.
  struct Waiting {
    ForeignSocket fd;
    PeerCredentials peer;
    std::uint64_t since_ns;
    bool has_spoken = false;  // or left, as of the last peek
    bool watched = false;
  };
  struct Peeked {
    enum Kind { kNothing, kFrame, kNoFrame, kEnd } kind;
    FrameType type;

    bool is_take_over() const { return kind == kFrame && type == FrameType::kTakeOver; }
  };
  enum class Caller { kAccepts, kTends };  // whom fd() is to wake

  ListenerCore(std::string path, UniqueFd fd, Watch watch, std::optional<uid_t> expected_peer_uid);
  absl::StatusOr<std::unique_ptr<ChannelSide>> accept_now(ChannelRole role,
                                                          const ChannelOptions& options);
  absl::Status look_around();
  absl::Status take_in();
  bool make_room();
  void begin_to_hand_over();
  absl::Status go_on_handing_over();
  void leave_to_other();
  absl::StatusOr<std::unique_ptr<ChannelSide>> serve_next(ChannelRole role,
                                                          const ChannelOptions& options);
  void drop_silent();
  static Peeked peek(Waiting& waiting);
  Waiting take(std::size_t index);
  void turn_away(int fd, const absl::Status& why);
  void note_refusal(const absl::Status& why);
  void arm(Caller caller);
  std::uint64_t watch_waiting(Caller caller, bool& has_room);
  bool set_watched(int fd, bool& watched, bool wanted);
  void remove_name();

  std::string path_;
  UniqueFd fd_;
  std::optional<Watch> watch_;
  std::optional<uid_t> expected_peer_uid_;
  std::optional<NamedFile> name_;
  std::vector<Waiting> waiting_;  // at most kPeersWaitingMax, in the order of connecting
  std::optional<HandOver> hand_over_;
  bool listening_watched_ = false;
  bool successor_watched_ = false;
  std::uint64_t pauses_until_ns_ = 0;  // no descriptor is left for who connects
  bool handed_over_ = false;
  std::uint64_t refused_ = 0;
  absl::Status last_refusal_;
  ForkMark made_;
  std::unique_ptr<InterruptFlag> interrupted_ = std::make_unique<InterruptFlag>();
  UniqueFd wake_up_ = make_eventfd().value_or(UniqueFd());  // readable after interrupt()
};

}  // namespace lapwing
