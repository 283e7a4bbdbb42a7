#include "bus/channel/listener.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <span>
#include <utility>

#include "absl/strings/str_cat.h"
#include "bus/channel/descriptors.h"
#include "bus/control_socket.h"
#include "bus/kernel.h"
#include "bus/listen_lock.h"
#include "proto/channel_frames.h"
#include "proto/error.h"

namespace lapwing {
namespace {

bool is_listening(int fd) {
  int listening = 0;
  socklen_t size = sizeof listening;
  return getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listening, &size) == 0 && listening == 1;
}

// The type of the first frame that waits on `fd`, which stays there with its descriptors.
struct Peeked {
  enum class Kind { kNothing, kFrame, kNoFrame } kind;
  FrameType type;

  bool is_take_over() const { return kind == Kind::kFrame && type == FrameType::kTakeOver; }
};
Peeked peek_frame(int fd) {
  FrameHeader header{};
  const ssize_t got = recv(fd, &header, sizeof header, MSG_DONTWAIT | MSG_PEEK);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return {Peeked::Kind::kNothing, {}};
  if (got != sizeof header) return {Peeked::Kind::kNoFrame, {}};
  return {Peeked::Kind::kFrame, header.type};
}

// Waits for one frame with its descriptors. kTimedOut, kPeerGone, kProtocol.
absl::Status await_frame(int fd, std::uint64_t deadline_ns, const std::string& peer, Packet& packet,
                         std::vector<UniqueFd>& descriptors) {
  switch (await_with_descriptors(fd, packet, descriptors, deadline_ns)) {
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

// Waits for the successor to say that it has everything. Once this side has given up, the successor
// cannot say so any more: the two never both believe that they are the one that listens.
absl::Status await_taken_over(int fd, std::uint64_t deadline_ns, const std::string& name) {
  Packet packet;
  std::vector<UniqueFd> descriptors;
  absl::Status got = await_frame(fd, deadline_ns, name, packet, descriptors);
  if (errc_of(got) == Errc::kTimedOut) {
    shutdown(fd, SHUT_RD);
    if (await_frame(fd, deadline_ns, name, packet, descriptors).ok()) got = absl::OkStatus();
  }
  if (!got.ok() || packet.as<FrameHeader>().type == FrameType::kTakenOver) return got;
  return make_error(Errc::kProtocol, absl::StrCat(name, " did not say that it has the socket"));
}

absl::Status handed_over_status(const std::string& path) {
  return make_error(Errc::kClosed,
                    absl::StrCat(path, " was handed over to a new process, which serves it now"));
}

}  // namespace

ChannelListener::ChannelListener(std::string path, UniqueFd fd,
                                 std::optional<uid_t> expected_peer_uid)
    : path_(std::move(path)), fd_(std::move(fd)), expected_peer_uid_(expected_peer_uid) {
  struct stat found{};
  if (lstat(path_.c_str(), &found) == 0) {
    device_ = found.st_dev;
    inode_ = found.st_ino;
  }
}

ChannelListener::ChannelListener(ChannelListener&&) noexcept = default;

ChannelListener::~ChannelListener() {
  if (fd_.valid() && !handed_over_) remove_name();
}

absl::StatusOr<ChannelListener> ChannelListener::listen(const std::string& path,
                                                        std::optional<uid_t> expected_peer_uid) {
  const absl::StatusOr<ListenLock> lock = ListenLock::take(path, kChannelSocket);
  if (!lock.ok()) return lock.status();
  // Whoever is not expected is refused by its credentials; the mode is there so that others do not
  // even get that far where nobody else is expected.
  const bool others = expected_peer_uid && *expected_peer_uid != geteuid();
  absl::StatusOr<UniqueFd> fd = listen_local(path, others ? 0666 : 0600, {}, kChannelSocket);
  if (!fd.ok()) return fd.status();
  return ChannelListener(path, std::move(*fd), expected_peer_uid);
}

absl::StatusOr<ChannelListener> ChannelListener::take_over(const std::string& path,
                                                           std::uint64_t deadline_ns,
                                                           std::optional<uid_t> expected_peer_uid) {
  const absl::StatusOr<UniqueFd> fd = connect_local(path, deadline_ns, kChannelSocket);
  if (!fd.ok()) return fd.status();
  const absl::StatusOr<PeerCredentials> old = peer_credentials(fd->get());
  if (!old.ok()) return old.status();
  if (!is_expected_user(old->uid, std::nullopt)) return not_expected(*old, path);
  auto ask = make_frame<TakeOverFrame>(FrameType::kTakeOver);
  ask.abi_version = kAbiVersion;
  send_frame(fd->get(), ask);

  const std::string listener = absl::StrCat("the listener on ", path);
  Packet packet;
  std::vector<UniqueFd> descriptors;
  absl::Status got = await_frame(fd->get(), deadline_ns, listener, packet, descriptors);
  if (!got.ok()) return got;
  const FrameType type = packet.as<FrameHeader>().type;
  if (type == FrameType::kRefused) return refused_to_hand_over(packet, listener);
  if (type != FrameType::kHandedOver || descriptors.empty() ||
      descriptors.size() != 1 + packet.as<HandedOverFrame>().waiting ||
      !is_listening(descriptors.front().get())) {
    return make_error(Errc::kProtocol, absl::StrCat(listener, " did not hand its socket over"));
  }
  ChannelListener next(path, std::move(descriptors.front()), expected_peer_uid);
  for (std::size_t i = 1; i < descriptors.size(); ++i) {
    const absl::StatusOr<PeerCredentials> peer = peer_credentials(descriptors[i].get());
    if (!peer.ok()) continue;  // it is no socket: not a peer
    next.waiting_.push_back({std::move(descriptors[i]), *peer, monotonic_ns()});
  }
  const auto taken = make_frame<TakenOverFrame>(FrameType::kTakenOver);
  if (send_frame(fd->get(), taken) == SendOutcome::kSent) return next;
  // It hears nothing more. If it has given this side up, it says so before it hangs up; if it says
  // nothing it has died, and nobody but this side has the socket.
  got = await_frame(fd->get(), deadline_ns, listener, packet, descriptors);
  if (errc_of(got) == Errc::kPeerGone) return next;
  next.handed_over_ = true;  // the old one goes on, and the name is not ours
  if (!got.ok()) return got;
  return refused_to_hand_over(packet, listener);
}

absl::StatusOr<std::unique_ptr<ChannelSession>> ChannelListener::accept(
    ChannelRole role, const ChannelOptions& options, std::uint64_t deadline_ns) {
  for (;;) {
    drop_silent();  // first: it may be their descriptors that are missing
    if (absl::Status status = take_in(); !status.ok()) return status;
    if (absl::Status status = hand_over_if_asked(); !status.ok()) return status;
    auto session = serve_next(role, options);
    if (!session.ok() || *session != nullptr) return session;
    if (monotonic_ns() >= deadline_ns) {
      return make_error(Errc::kTimedOut, absl::StrCat("nobody connected to ", path_, " in time"));
    }
    wait_for_anything(deadline_ns);
  }
}

absl::Status ChannelListener::tend() {
  drop_silent();
  if (absl::Status status = take_in(); !status.ok()) return status;
  return hand_over_if_asked();
}

// Accepts whoever has connected, as far as there is room for them to wait here, and not more at a
// time, or those who are turned away could keep it busy for ever.
absl::Status ChannelListener::take_in() {
  if (handed_over_) return handed_over_status(path_);
  for (std::size_t i = 0; i < kPeersWaitingMax && waiting_.size() < kPeersWaitingMax; ++i) {
    UniqueFd fd(accept4(fd_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!fd.valid()) {
      if (errno == EAGAIN) break;
      if (errno == EINTR || errno == ECONNABORTED) continue;
      if (errno != EMFILE && errno != ENFILE) {
        return make_system_error(errno, absl::StrCat("accepting on ", path_));
      }
      return make_error(Errc::kLimit,
                        absl::StrCat("no descriptor is left to accept on ", path_,
                                     "; raise the limit (ulimit -n) and accept again"));
    }
    const absl::StatusOr<PeerCredentials> peer = peer_credentials(fd.get());
    if (!peer.ok()) continue;
    // Its own user may come as a successor, also where another one is expected as a peer.
    if (is_expected_user(peer->uid, expected_peer_uid_) ||
        is_expected_user(peer->uid, std::nullopt)) {
      waiting_.push_back({std::move(fd), *peer, monotonic_ns()});
    } else {
      turn_away(fd.get(), not_expected(*peer, path_));
    }
  }
  return absl::OkStatus();
}

absl::Status ChannelListener::hand_over_if_asked() {
  for (std::size_t i = 0; i < waiting_.size(); ++i) {
    if (!peek_frame(waiting_[i].fd.get()).is_take_over()) continue;
    const Waiting successor = std::move(waiting_[i]);
    waiting_.erase(waiting_.begin() + static_cast<std::ptrdiff_t>(i));
    const absl::Status status = hand_over(successor);
    if (status.ok()) return handed_over_status(path_);
    turn_away(successor.fd.get(), status);
    return absl::OkStatus();  // the listener goes on; `waiting_` has changed
  }
  return absl::OkStatus();
}

// Until the successor says that it has everything, this side keeps it too: whichever of the two
// dies, the other still listens.
absl::Status ChannelListener::hand_over(const Waiting& successor) {
  const int fd = successor.fd.get();
  const std::string name =
      peer_text(static_cast<std::uint32_t>(successor.peer.pid), successor.peer.uid);
  Packet packet;
  std::vector<UniqueFd> descriptors;
  const std::uint64_t deadline_ns = monotonic_ns() + kHandshakeNs;
  absl::Status got = await_frame(fd, deadline_ns, name, packet, descriptors);
  if (!got.ok()) return got;
  if (!is_expected_user(successor.peer.uid, std::nullopt) ||
      packet.as<TakeOverFrame>().abi_version != kAbiVersion) {
    return make_error(Errc::kRefused,
                      "only a process of the same user, or of root, and of the same ABI version "
                      "can take the socket over");
  }
  std::vector<int> handed = {fd_.get()};
  for (const Waiting& waiting : waiting_) handed.push_back(waiting.fd.get());
  auto frame = make_frame<HandedOverFrame>(FrameType::kHandedOver);
  frame.waiting = static_cast<std::uint32_t>(waiting_.size());
  if (send_with_descriptors(fd, std::as_bytes(std::span(&frame, 1)), handed) !=
      SendOutcome::kSent) {
    return make_error(Errc::kPeerGone, absl::StrCat(name, " left before it had the socket"));
  }
  got = await_taken_over(fd, deadline_ns, name);
  if (!got.ok()) return got;
  handed_over_ = true;
  waiting_.clear();
  fd_.reset();
  return absl::OkStatus();
}

// The first that has said hello and can be served; nullptr if nobody has.
absl::StatusOr<std::unique_ptr<ChannelSession>> ChannelListener::serve_next(
    ChannelRole role, const ChannelOptions& options) {
  for (std::size_t i = 0; i < waiting_.size();) {
    const Peeked peeked = peek_frame(waiting_[i].fd.get());
    // A successor that asks only now is heard in the next round.
    if (peeked.kind == Peeked::Kind::kNothing || peeked.is_take_over()) {
      ++i;
      continue;
    }
    Waiting next = std::move(waiting_[i]);
    waiting_.erase(waiting_.begin() + static_cast<std::ptrdiff_t>(i));
    if (!is_expected_user(next.peer.uid, expected_peer_uid_)) {
      turn_away(next.fd.get(), not_expected(next.peer, path_));
      continue;
    }
    auto session = answer_hello(std::move(next.fd), next.peer, path_, role, options);
    if (session.ok() || !is_peers_fault(session.status())) return session;
    note_refusal(session.status());
  }
  return std::unique_ptr<ChannelSession>();
}

void ChannelListener::drop_silent() {
  const std::uint64_t now = monotonic_ns();
  std::erase_if(waiting_, [&](const Waiting& waiting) {
    const Peeked peeked = peek_frame(waiting.fd.get());
    if (peeked.kind == Peeked::Kind::kFrame) return false;
    if (peeked.kind == Peeked::Kind::kNothing && now - waiting.since_ns < kHandshakeNs)
      return false;
    turn_away(waiting.fd.get(),
              make_error(Errc::kProtocol,
                         absl::StrCat(peer_text(static_cast<std::uint32_t>(waiting.peer.pid),
                                                waiting.peer.uid),
                                      " connected and did not say hello")));
    return true;
  });
}

void ChannelListener::turn_away(int fd, const absl::Status& why) {
  refuse(fd, why);
  note_refusal(why);
}

void ChannelListener::note_refusal(const absl::Status& why) {
  ++refused_;
  last_refusal_ = why;
}

void ChannelListener::wait_for_anything(std::uint64_t deadline_ns) const {
  std::array<pollfd, 1 + kPeersWaitingMax> entries;
  std::size_t count = 0;
  std::uint64_t until_ns = std::min(deadline_ns, monotonic_ns() + kChannelSleepNsMax);
  for (const Waiting& waiting : waiting_) {
    entries[count++] = {waiting.fd.get(), POLLIN, 0};
    until_ns = std::min(until_ns, waiting.since_ns + kHandshakeNs);
  }
  if (waiting_.size() < kPeersWaitingMax) entries[count++] = {fd_.get(), POLLIN, 0};
  wait_any_readable(std::span(entries.data(), count), until_ns);
}

void ChannelListener::remove_name() {
  const absl::StatusOr<ListenLock> lock = ListenLock::take(path_, kChannelSocket);
  struct stat found{};
  if (lock.ok() && lstat(path_.c_str(), &found) == 0 && found.st_dev == device_ &&
      found.st_ino == inode_) {
    unlink(path_.c_str());
  }
}

}  // namespace lapwing
