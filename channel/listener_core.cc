#include "channel/listener_core.h"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <span>
#include <utility>

#include "absl/strings/str_cat.h"
#include "channel/descriptors.h"
#include "lapwing/error.h"
#include "os/deadline.h"
#include "os/frame_socket.h"
#include "os/kernel.h"
#include "os/listen_lock.h"
#include "os/printable.h"
#include "os/system_error.h"
#include "proto/channel_frames.h"
#include "proto/text_field.h"

namespace lapwing {
namespace {

bool is_listening(int fd) {
  int listening = 0;
  socklen_t size = sizeof listening;
  return getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listening, &size) == 0 && listening == 1;
}

// Waits for one frame with its descriptors. kTimedOut, kPeerGone, kProtocol.
absl::Status await_frame(int fd, std::uint64_t deadline_ns, const std::string& peer, Packet& packet,
                         std::vector<UniqueFd>& descriptors) {
  switch (await_with_descriptors(fd, packet, descriptors, deadline_ns, Carried::kSockets)) {
    case ReceiveOutcome::kFrame:
      return absl::OkStatus();
    case ReceiveOutcome::kClosed:
      return make_error(Errc::kPeerGone, absl::StrCat(peer, " left in the middle of a take-over"));
    case ReceiveOutcome::kViolation:
      return make_error(Errc::kProtocol,
                        absl::StrCat(peer, " sent a packet that is no frame of a channel"));
    case ReceiveOutcome::kWouldBlock:
      break;
  }
  return make_error(Errc::kTimedOut, absl::StrCat(peer, " did not answer in time"));
}

absl::Status not_expected(const PeerCredentials& peer, const std::string& path) {
  return make_error(Errc::kNotPermitted,
                    absl::StrCat("user ", peer.uid, " is not expected on ", path));
}

absl::Status refused_to_hand_over(const Packet& packet, const std::string& listener) {
  const bool says_why = packet.as<FrameHeader>().type == FrameType::kRefused;
  return make_error(Errc::kRefused,
                    absl::StrCat(listener, " refused to hand over: ",
                                 says_why ? printable(get_text(packet.as<RefusedFrame>().message))
                                          : "it does not say why"));
}

std::string name_of_peer(const PeerCredentials& peer) {
  return peer_text(static_cast<std::uint32_t>(peer.pid), peer.uid);
}

// The code says to the peer that it was too slow, and may try again.
absl::Status silent_status(const PeerCredentials& peer) {
  return make_error(Errc::kTimedOut,
                    absl::StrCat(name_of_peer(peer), " connected and did not say hello"));
}

absl::Status left_status(const PeerCredentials& peer) {
  return make_error(Errc::kPeerGone,
                    absl::StrCat(name_of_peer(peer), " connected, and left without a word"));
}

absl::Status handed_over_status(const std::string& path) {
  return make_error(Errc::kClosed,
                    absl::StrCat(path, " was handed over to a new process, which serves it now"));
}

}  // namespace

ListenerCore::ListenerCore(std::string path, UniqueFd fd, Watch watch,
                           std::optional<uid_t> expected_peer_uid)
    : path_(std::move(path)),
      fd_(std::move(fd)),
      watch_(std::move(watch)),
      expected_peer_uid_(expected_peer_uid) {
  if (auto name = NamedFile::at(path_); name.ok()) name_ = *std::move(name);
}

ListenerCore::ListenerCore(ListenerCore&&) noexcept = default;

ListenerCore::~ListenerCore() {
  leave_owner();
  while (hand_over_ && go_on_handing_over().ok() && hand_over_) {
    wait_readable(hand_over_->fd(), kPauseNs);
  }
  if (handed_over_) leave_to_other();
  if (!fd_.valid()) return;
  remove_name();
  close_listening(std::move(fd_));
}

absl::StatusOr<ListenerCore> ListenerCore::listen(const std::string& path,
                                                  std::optional<uid_t> expected_peer_uid) {
  const absl::StatusOr<ListenLock> lock = ListenLock::take(path, kChannelSocket);
  if (!lock.ok()) return lock.status();
  absl::StatusOr<Watch> watch = Watch::make();
  if (!watch.ok()) return watch.status();
  // Whoever is not expected is refused by its credentials; the mode is there so that others do not
  // even get that far where nobody else is expected.
  const bool others = expected_peer_uid && *expected_peer_uid != geteuid();
  absl::StatusOr<UniqueFd> fd = listen_local(path, others ? 0666 : 0600, {}, kChannelSocket);
  if (!fd.ok()) return fd.status();
  ListenerCore listener(path, std::move(*fd), *std::move(watch), expected_peer_uid);
  listener.arm(Caller::kAccepts);
  return listener;
}

absl::StatusOr<ListenerCore> ListenerCore::take_over(const std::string& path, Deadline deadline,
                                                     std::optional<uid_t> expected_peer_uid) {
  absl::StatusOr<Watch> watch = Watch::make();
  if (!watch.ok()) return watch.status();
  const absl::StatusOr<UniqueFd> fd = connect_local(path, deadline.monotonic_ns(), kChannelSocket);
  if (!fd.ok()) return fd.status();
  const absl::StatusOr<PeerCredentials> old = peer_credentials(fd->get());
  if (!old.ok()) return old.status();
  if (!is_expected_user(old->uid, std::nullopt)) return not_expected(*old, path);
  auto ask = make_frame<TakeOverFrame>(FrameType::kTakeOver);
  ask.abi_version = kChannelAbiVersion;
  send_frame(fd->get(), ask);

  const std::string listener = absl::StrCat("the listener on ", path);
  Packet packet;
  std::vector<UniqueFd> descriptors;
  absl::Status got = await_frame(fd->get(), deadline.monotonic_ns(), listener, packet, descriptors);
  if (!got.ok()) return got;
  const FrameType type = packet.as<FrameHeader>().type;
  if (type == FrameType::kRefused) return refused_to_hand_over(packet, listener);
  if (type != FrameType::kHandedOver || descriptors.empty() ||
      descriptors.size() != 1 + packet.as<HandedOverFrame>().waiting ||
      !is_listening(descriptors.front().get())) {
    return make_error(Errc::kProtocol, absl::StrCat(listener, " did not hand its socket over"));
  }
  ListenerCore next(path, std::move(descriptors.front()), *std::move(watch), expected_peer_uid);
  for (std::size_t i = 1; i < descriptors.size(); ++i) {
    const absl::StatusOr<PeerCredentials> peer = peer_credentials(descriptors[i].get());
    if (!peer.ok()) continue;  // it is no socket: not a peer
    next.waiting_.push_back({ForeignSocket(std::move(descriptors[i])), *peer, monotonic_ns()});
  }
  next.arm(Caller::kAccepts);
  const auto taken = make_frame<TakenOverFrame>(FrameType::kTakenOver);
  if (send_frame(fd->get(), taken) == SendOutcome::kSent) return next;
  // It hears nothing more. If it has given this side up, it says so before it hangs up; if it says
  // nothing it has died, and nobody but this side has the socket.
  got = await_frame(fd->get(), deadline.monotonic_ns(), listener, packet, descriptors);
  if (errc_of(got) == Errc::kPeerGone) return next;
  next.handed_over_ = true;  // the old one goes on, and the name is not ours
  if (!got.ok()) return got;
  return refused_to_hand_over(packet, listener);
}

absl::StatusOr<std::unique_ptr<ChannelSide>> ListenerCore::accept(ChannelRole role,
                                                                  const ChannelOptions& options,
                                                                  Deadline deadline) {
  if (made_.in_child()) return forked_error("listener");
  if (absl::Status expected = check_expected(options); !expected.ok()) return expected;
  for (;;) {
    auto side = accept_now(role, options);
    arm(Caller::kAccepts);
    if (!side.ok() || *side != nullptr) return side;
    const std::uint64_t now = monotonic_ns();
    if (now >= deadline.monotonic_ns()) {
      return make_error(nothing_by(deadline),
                        absl::StrCat("nobody connected to ", path_, " in time"));
    }
    if (interrupted_->take()) {
      return make_error(Errc::kInterrupted, "interrupt() ended the wait for a peer");
    }
    pollfd entries[] = {{fd(), POLLIN, 0}, {wake_up_.get(), POLLIN, 0}};
    wait_any_readable(entries, std::min(deadline.monotonic_ns(), now + kChannelSleepNsMax));
    // Whether or not the flag was seen already: a raise comes before its signal.
    if (entries[1].revents != 0) drain_eventfd(wake_up_.get());
  }
}

absl::Status ListenerCore::check_expected(const ChannelOptions& options) const {
  if (!options.expected_peer_uid || options.expected_peer_uid == expected_peer_uid_) {
    return absl::OkStatus();
  }
  return make_error(Errc::kInvalidArgument,
                    "expected_peer_uid of the channel's options is not the expected_peer_uid that "
                    "the listener was opened with, by which it accepts; open it with that user");
}

// nullptr: there is nobody to be served now.
absl::StatusOr<std::unique_ptr<ChannelSide>> ListenerCore::accept_now(
    ChannelRole role, const ChannelOptions& options) {
  if (absl::Status status = look_around(); !status.ok()) return status;
  if (hand_over_) return std::unique_ptr<ChannelSide>();
  return serve_next(role, options);
}

absl::Status ListenerCore::tend() {
  if (made_.in_child()) return forked_error("listener");
  absl::Status status = look_around();
  arm(Caller::kTends);
  return status;
}

// Nobody is taken in, served or dropped while the socket is being handed over: the successor has
// the sockets of those who wait, too.
absl::Status ListenerCore::look_around() {
  if (handed_over_) return handed_over_status(path_);
  if (!hand_over_) {
    drop_silent();  // first: it may be their descriptors that are missing
    if (absl::Status status = take_in(); !status.ok()) return status;
    begin_to_hand_over();
  }
  return go_on_handing_over();
}

// Accepts whoever has connected, as far as there is room for them to wait here, and not more at a
// time, or those who are turned away could keep it busy for ever.
absl::Status ListenerCore::take_in() {
  if (closing_apart() >= kClosingApartMax) {
    pauses_until_ns_ =
        monotonic_ns() + kPauseNs;  // or the waiting connections would keep fd() readable
    return absl::OkStatus();
  }
  for (std::size_t i = 0; i < kPeersWaitingMax && make_room(); ++i) {
    UniqueFd fd = UniqueFd::opened_by(
        [&] { return accept4(fd_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK); });
    if (!fd.valid()) {
      if (errno == EAGAIN) break;
      if (errno == EINTR || errno == ECONNABORTED) continue;
      if (errno != EMFILE && errno != ENFILE) {
        return make_system_error(errno, absl::StrCat("accepting on ", path_));
      }
      pauses_until_ns_ = monotonic_ns() + kPauseNs;
      return make_error(Errc::kLimit,
                        absl::StrCat("no descriptor is left to accept on ", path_,
                                     "; raise the limit (ulimit -n) and accept again"));
    }
    ForeignSocket socket(std::move(fd));
    const absl::StatusOr<PeerCredentials> peer = peer_credentials(socket.get());
    if (!peer.ok()) continue;
    // Its own user may come as a successor, also where another one is expected as a peer.
    if (is_expected_user(peer->uid, expected_peer_uid_) ||
        is_expected_user(peer->uid, std::nullopt)) {
      waiting_.push_back({std::move(socket), *peer, monotonic_ns()});
    } else {
      turn_away(socket.get(), not_expected(*peer, path_));
    }
  }
  return absl::OkStatus();
}

// Whether one more may wait here. The one that has been silent for longest goes if somebody else
// has connected: those who say nothing do not keep others out.
bool ListenerCore::make_room() {
  if (waiting_.size() < kPeersWaitingMax) return true;
  const std::uint64_t now = monotonic_ns();
  for (std::size_t i = 0; i < waiting_.size(); ++i) {
    if (now - waiting_[i].since_ns < kSilenceNsMin || peek(waiting_[i]).kind != Peeked::kNothing) {
      continue;
    }
    pollfd listening{fd_.get(), POLLIN, 0};
    if (poll(&listening, 1, 0) <= 0) return false;
    const Waiting silent = take(i);
    turn_away(silent.fd.get(), silent_status(silent.peer));
    return true;
  }
  return false;
}

void ListenerCore::begin_to_hand_over() {
  for (std::size_t i = 0; i < waiting_.size(); ++i) {
    if (!peek(waiting_[i]).is_take_over()) continue;
    Waiting successor = take(i);
    std::vector<int> others;
    for (const Waiting& waiting : waiting_) others.push_back(waiting.fd.get());
    HandOver hand_over(std::move(successor.fd), successor.peer, monotonic_ns() + kHandshakeNs);
    if (absl::Status begun = hand_over.begin(fd_.get(), others); !begun.ok()) {
      return turn_away(hand_over.fd(), begun);
    }
    hand_over_ = std::move(hand_over);
    return;
  }
}

absl::Status ListenerCore::go_on_handing_over() {
  if (!hand_over_) return absl::OkStatus();
  const absl::StatusOr<bool> done = hand_over_->look();
  if (done.ok() && !*done) return absl::OkStatus();
  if (!done.ok()) {
    turn_away(hand_over_->fd(), done.status());
    set_watched(hand_over_->fd(), successor_watched_, false);
    hand_over_.reset();
    return absl::OkStatus();  // the listener goes on
  }
  hand_over_.reset();
  handed_over_ = true;
  watch_.reset();  // before the sockets, of which the successor has copies
  leave_to_other();
  return handed_over_status(path_);
}

// Closes the sockets that another process has, too, without shutting them down.
void ListenerCore::leave_to_other() {
  for (Waiting& waiting : waiting_) waiting.fd.release();
  waiting_.clear();
  fd_.reset();
}

// The first that has said hello and can be served; nullptr if nobody has.
absl::StatusOr<std::unique_ptr<ChannelSide>> ListenerCore::serve_next(
    ChannelRole role, const ChannelOptions& options) {
  for (std::size_t i = 0; i < waiting_.size();) {
    const Peeked peeked = peek(waiting_[i]);
    // A successor that asks only now is heard in the next round.
    if (peeked.kind == Peeked::kNothing || peeked.is_take_over()) {
      ++i;
      continue;
    }
    Waiting next = take(i);
    if (!is_expected_user(next.peer.uid, expected_peer_uid_)) {
      turn_away(next.fd.get(), not_expected(next.peer, path_));
      continue;
    }
    auto side = answer_hello(std::move(next.fd), next.peer, path_, role, options);
    if (side.ok() || !is_peers_fault(side.status())) return side;
    note_refusal(side.status());
  }
  return std::unique_ptr<ChannelSide>();
}

void ListenerCore::drop_silent() {
  for (std::size_t i = 0; i < waiting_.size();) {
    const Peeked peeked = peek(waiting_[i]);
    const bool is_late = monotonic_ns() - waiting_[i].since_ns >= kHandshakeNs;
    if (peeked.kind == Peeked::kFrame || (peeked.kind == Peeked::kNothing && !is_late)) {
      ++i;
      continue;
    }
    const Waiting gone = take(i);
    const bool left = peeked.kind == Peeked::kEnd;
    turn_away(gone.fd.get(), left ? left_status(gone.peer) : silent_status(gone.peer));
  }
}

void ListenerCore::turn_away(int fd, const absl::Status& why) {
  refuse(fd, why);
  note_refusal(why);
}

void ListenerCore::note_refusal(const absl::Status& why) {
  ++refused_;
  last_refusal_ = why;
}

// The type of the first frame that waits at a peer's socket; it stays there with its descriptors.
ListenerCore::Peeked ListenerCore::peek(Waiting& waiting) {
  FrameHeader header{};
  const ssize_t got = recv(waiting.fd.get(), &header, sizeof header, MSG_DONTWAIT | MSG_PEEK);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return {Peeked::kNothing, {}};
  waiting.has_spoken = true;
  if (got <= 0) return {Peeked::kEnd, {}};
  if (got != sizeof header) return {Peeked::kNoFrame, {}};
  return {Peeked::kFrame, header.type};
}

// Out of those who wait, and no longer watched.
ListenerCore::Waiting ListenerCore::take(std::size_t index) {
  Waiting taken = std::move(waiting_[index]);
  waiting_.erase(waiting_.begin() + static_cast<std::ptrdiff_t>(index));
  if (taken.watched) watch_->remove(taken.fd.get());
  return taken;
}

// fd() becomes readable when accept() or tend(), whichever was called last, has something to do,
// and at no other time, or an event loop would never sleep.
void ListenerCore::arm(Caller caller) {
  if (handed_over_) return;
  bool has_room = waiting_.size() < kPeersWaitingMax;
  std::uint64_t wakes_at_ns = watch_waiting(caller, has_room);
  const std::uint64_t now = monotonic_ns();
  const bool pauses = now < pauses_until_ns_;
  if (pauses) wakes_at_ns = std::min(wakes_at_ns, pauses_until_ns_);
  bool all_watched = set_watched(fd_.get(), listening_watched_, has_room && !pauses && !hand_over_);
  if (hand_over_) {
    all_watched = set_watched(hand_over_->fd(), successor_watched_, true);
    wakes_at_ns = hand_over_->deadline_ns();
  }
  if (!all_watched) wakes_at_ns = std::min(wakes_at_ns, now + kPauseNs);
  watch_->wake_at(wakes_at_ns == Deadline::never().monotonic_ns() ? 0 : wakes_at_ns);
}

// Returns when one of those who wait is to be looked at although it does nothing, and sets
// `has_room` if one of them may go so that somebody else can come. tend() serves nobody, so those
// who are only to be served are not watched for it.
std::uint64_t ListenerCore::watch_waiting(Caller caller, bool& has_room) {
  const std::uint64_t now = monotonic_ns();
  std::uint64_t wakes_at_ns = Deadline::never().monotonic_ns();
  for (Waiting& waiting : waiting_) {
    const bool wanted = !hand_over_ && !(caller == Caller::kTends && waiting.has_spoken);
    if (!set_watched(waiting.fd.get(), waiting.watched, wanted)) {
      wakes_at_ns = std::min(wakes_at_ns, now + kPauseNs);
    }
    if (waiting.has_spoken) continue;
    wakes_at_ns = std::min(wakes_at_ns, waiting.since_ns + kHandshakeNs);
    if (has_room) continue;
    has_room = now - waiting.since_ns >= kSilenceNsMin;
    if (!has_room) wakes_at_ns = std::min(wakes_at_ns, waiting.since_ns + kSilenceNsMin);
  }
  return wakes_at_ns;
}

// Whether it is watched if it is to be.
bool ListenerCore::set_watched(int fd, bool& watched, bool wanted) {
  if (watched && !wanted) watch_->remove(fd);
  watched = wanted && (watched || watch_->add(fd));
  return watched == wanted;
}

void ListenerCore::remove_name() {
  const absl::StatusOr<ListenLock> lock = ListenLock::take(path_, kChannelSocket);
  if (lock.ok() && name_) name_->unlink().IgnoreError();
}

}  // namespace lapwing
