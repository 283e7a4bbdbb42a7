#include "lapwing/listener.h"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "channel/descriptors.h"
#include "channel/hand_over.h"
#include "channel/handshake.h"
#include "channel/side.h"
#include "lapwing/error.h"
#include "os/deadline.h"
#include "os/foreign_socket.h"
#include "os/fork.h"
#include "os/frame_socket.h"
#include "os/kernel.h"
#include "os/listen_lock.h"
#include "os/named_file.h"
#include "os/printable.h"
#include "os/system_error.h"
#include "os/thread_words.h"
#include "os/unique_fd.h"
#include "os/wait_source.h"
#include "os/watch.h"
#include "proto/channel_frames.h"
#include "proto/text_field.h"

namespace lapwing {
namespace {

constexpr char kToListen[] = "to listen for channels";

bool is_listening(int fd) {
  int listening = 0;
  socklen_t size = sizeof listening;
  return getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listening, &size) == 0 && listening == 1;
}

// Waits for one frame with its descriptors. Errors: kTimedOut, kPeerGone, kProtocol.
absl::Status await_frame(int fd, std::uint64_t deadline_ns, const std::string& peer, Packet& packet,
                         std::vector<UniqueFd>& descriptors) {
  switch (await_with_descriptors(fd, packet, descriptors, deadline_ns, Carried::kSockets)) {
    case ReceiveOutcome::kFrame:
      return absl::OkStatus();
    case ReceiveOutcome::kClosed:
      return make_error(Errc::kPeerGone, absl::StrCat(peer, " disconnected during a take-over"));
    case ReceiveOutcome::kViolation:
      return make_error(Errc::kProtocol,
                        absl::StrCat(peer, " sent a packet that is not a channel frame"));
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
                                          : "it gave no reason"));
}

std::string name_of_peer(const PeerCredentials& peer) {
  return peer_text(static_cast<std::uint32_t>(peer.pid), peer.uid);
}

// kTimedOut informs the peer that it was too slow and may try again.
absl::Status silent_status(const PeerCredentials& peer) {
  return make_error(Errc::kTimedOut,
                    absl::StrCat(name_of_peer(peer), " connected but did not send its hello"));
}

absl::Status left_status(const PeerCredentials& peer) {
  return make_error(
      Errc::kPeerGone,
      absl::StrCat(name_of_peer(peer), " connected, and disconnected without sending anything"));
}

absl::Status handed_over_status(const std::string& path) {
  return make_error(Errc::kClosed,
                    absl::StrCat(path, " was handed over to a new process, which serves it now"));
}

}  // namespace

// The peers that have connected but have not been served yet, and the hand-over to a successor.
//
// Ownership: the socket and, until it is handed over, its name.
struct ChannelListener::State final : WaitSource {
  // Connected, but not served yet: none of its data has been received.
  struct Waiting {
    ForeignSocket fd;
    PeerCredentials peer;
    std::uint64_t since_ns;
    bool has_spoken = false;  // or disconnected, as of the last peek
    bool watched = false;
  };
  struct Peeked {
    enum Kind { kNothing, kFrame, kNoFrame, kEnd } kind;
    FrameType type;

    bool is_take_over() const { return kind == kFrame && type == FrameType::kTakeOver; }
  };
  enum class Caller { kAccepts, kTends };  // which function fd() wakes

  State(const std::string& at, UniqueFd listening, Watch fresh, std::optional<uid_t> expected);
  ~State();

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

  // In a wait set, only its descriptor is watched.
  bool is_ready() override { return handed_over || made.in_child(); }
  std::optional<WakeUp> prepare_wait() override { return WakeUp(); }
  void finish_wait() override {}
  int wake_fd() const override { return watch ? watch->fd() : -1; }

  const std::string path;
  UniqueFd listening_fd;
  std::optional<Watch> watch;  // nullopt after a hand-over
  const std::optional<uid_t> expected_peer_uid;
  std::optional<NamedFile> name;
  std::vector<Waiting> peers;  // at most kPeersWaitingMax, in connection order
  std::optional<HandOver> hand_over;
  bool listening_watched = false;
  bool successor_watched = false;
  std::uint64_t pauses_until_ns = 0;  // no descriptor is available for a new peer
  bool handed_over = false;
  std::uint64_t refused = 0;
  absl::Status last_refusal;
  const ForkMark made;
  InterruptFlag interrupted;
  UniqueFd wake_up = make_eventfd().value_or(UniqueFd());  // readable after interrupt()
};

ChannelListener::State::State(const std::string& at, UniqueFd listening, Watch fresh,
                              std::optional<uid_t> expected)
    : path(at),
      listening_fd(std::move(listening)),
      watch(std::move(fresh)),
      expected_peer_uid(expected) {
  if (auto named = NamedFile::at(path); named.ok()) name = *std::move(named);
}

ChannelListener::State::~State() {
  leave_owner();
  while (hand_over && go_on_handing_over().ok() && hand_over) {
    wait_readable(hand_over->fd(), kPauseNs);
  }
  if (handed_over) leave_to_other();
  if (!listening_fd.valid()) return;
  remove_name();
  close_listening(std::move(listening_fd));
}

// nullptr: no peer can be served now.
absl::StatusOr<std::unique_ptr<ChannelSide>> ChannelListener::State::accept_now(
    ChannelRole role, const ChannelOptions& options) {
  if (absl::Status status = look_around(); !status.ok()) return status;
  if (hand_over) return std::unique_ptr<ChannelSide>();
  return serve_next(role, options);
}

// While the socket is being handed over, no peer is accepted, served or dropped, because the
// successor also has the sockets of the waiting peers.
absl::Status ChannelListener::State::look_around() {
  if (handed_over) return handed_over_status(path);
  if (!hand_over) {
    drop_silent();  // first, because it may free descriptors
    if (absl::Status status = take_in(); !status.ok()) return status;
    begin_to_hand_over();
  }
  return go_on_handing_over();
}

// Accepts connected peers while there is room for them to wait here. The number per call is
// limited, so that refused peers cannot keep the listener busy forever.
absl::Status ChannelListener::State::take_in() {
  if (closing_apart() >= kClosingApartMax) {
    pauses_until_ns =
        monotonic_ns() + kPauseNs;  // or the waiting connections would keep fd() readable
    return absl::OkStatus();
  }
  for (std::size_t i = 0; i < kPeersWaitingMax && make_room(); ++i) {
    UniqueFd fd = UniqueFd::opened_by([&] {
      return accept4(listening_fd.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
    });
    if (!fd.valid()) {
      if (errno == EAGAIN) break;
      if (errno == EINTR || errno == ECONNABORTED) continue;
      if (errno != EMFILE && errno != ENFILE) {
        return make_system_error(errno, absl::StrCat("accepting on ", path));
      }
      pauses_until_ns = monotonic_ns() + kPauseNs;
      return make_error(Errc::kLimit,
                        absl::StrCat("no descriptor is left to accept on ", path,
                                     "; raise the limit (ulimit -n) and accept again"));
    }
    ForeignSocket socket(std::move(fd));
    const absl::StatusOr<PeerCredentials> peer = peer_credentials(socket.get());
    if (!peer.ok()) continue;
    // A successor runs as this user, even if the peers are expected from another one.
    if (is_expected_user(peer->uid, expected_peer_uid) ||
        is_expected_user(peer->uid, std::nullopt)) {
      peers.push_back({std::move(socket), *peer, monotonic_ns()});
    } else {
      turn_away(socket.get(), not_expected(*peer, path));
    }
  }
  return absl::OkStatus();
}

// Whether one more peer may wait here. If another peer has connected, drops the one that has been
// silent for longest, so that silent peers cannot keep others out.
bool ChannelListener::State::make_room() {
  if (peers.size() < kPeersWaitingMax) return true;
  const std::uint64_t now = monotonic_ns();
  for (std::size_t i = 0; i < peers.size(); ++i) {
    if (now - peers[i].since_ns < kSilenceNsMin || peek(peers[i]).kind != Peeked::kNothing) {
      continue;
    }
    pollfd listening{listening_fd.get(), POLLIN, 0};
    if (poll(&listening, 1, 0) <= 0) return false;
    const Waiting silent = take(i);
    turn_away(silent.fd.get(), silent_status(silent.peer));
    return true;
  }
  return false;
}

void ChannelListener::State::begin_to_hand_over() {
  for (std::size_t i = 0; i < peers.size(); ++i) {
    if (!peek(peers[i]).is_take_over()) continue;
    Waiting successor = take(i);
    std::vector<int> others;
    for (const Waiting& waiting : peers) others.push_back(waiting.fd.get());
    HandOver next(std::move(successor.fd), successor.peer, monotonic_ns() + kHandshakeNs);
    if (absl::Status begun = next.begin(listening_fd.get(), others); !begun.ok()) {
      return turn_away(next.fd(), begun);
    }
    hand_over = std::move(next);
    return;
  }
}

absl::Status ChannelListener::State::go_on_handing_over() {
  if (!hand_over) return absl::OkStatus();
  const absl::StatusOr<bool> done = hand_over->look();
  if (done.ok() && !*done) return absl::OkStatus();
  if (!done.ok()) {
    turn_away(hand_over->fd(), done.status());
    set_watched(hand_over->fd(), successor_watched, false);
    hand_over.reset();
    return absl::OkStatus();  // the listener continues
  }
  hand_over.reset();
  handed_over = true;
  watch.reset();  // before the sockets, because the successor has copies of them
  leave_to_other();
  return handed_over_status(path);
}

// Closes sockets that another process also has, without shutting them down.
void ChannelListener::State::leave_to_other() {
  for (Waiting& waiting : peers) waiting.fd.release();
  peers.clear();
  listening_fd.reset();
}

// Returns the first peer with a hello that can be served; nullptr if there is none.
absl::StatusOr<std::unique_ptr<ChannelSide>> ChannelListener::State::serve_next(
    ChannelRole role, const ChannelOptions& options) {
  for (std::size_t i = 0; i < peers.size();) {
    const Peeked peeked = peek(peers[i]);
    // The request of a new successor is handled on the next iteration.
    if (peeked.kind == Peeked::kNothing || peeked.is_take_over()) {
      ++i;
      continue;
    }
    Waiting next = take(i);
    if (!is_expected_user(next.peer.uid, expected_peer_uid)) {
      turn_away(next.fd.get(), not_expected(next.peer, path));
      continue;
    }
    auto side = answer_hello(std::move(next.fd), next.peer, path, role, options);
    if (side.ok() || !is_peers_fault(side.status())) return side;
    note_refusal(side.status());
  }
  return std::unique_ptr<ChannelSide>();
}

void ChannelListener::State::drop_silent() {
  for (std::size_t i = 0; i < peers.size();) {
    const Peeked peeked = peek(peers[i]);
    const bool is_late = monotonic_ns() - peers[i].since_ns >= kHandshakeNs;
    if (peeked.kind == Peeked::kFrame || (peeked.kind == Peeked::kNothing && !is_late)) {
      ++i;
      continue;
    }
    const Waiting gone = take(i);
    const bool left = peeked.kind == Peeked::kEnd;
    turn_away(gone.fd.get(), left ? left_status(gone.peer) : silent_status(gone.peer));
  }
}

void ChannelListener::State::turn_away(int fd, const absl::Status& why) {
  refuse(fd, why);
  note_refusal(why);
}

void ChannelListener::State::note_refusal(const absl::Status& why) {
  ++refused;
  last_refusal = why;
}

// Returns the type of the first frame waiting at a peer's socket. The frame stays there with its
// descriptors.
ChannelListener::State::Peeked ChannelListener::State::peek(Waiting& waiting) {
  FrameHeader header{};
  const ssize_t got = recv(waiting.fd.get(), &header, sizeof header, MSG_DONTWAIT | MSG_PEEK);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return {Peeked::kNothing, {}};
  waiting.has_spoken = true;
  if (got <= 0) return {Peeked::kEnd, {}};
  if (got != sizeof header) return {Peeked::kNoFrame, {}};
  return {Peeked::kFrame, header.type};
}

// Removes a peer from the waiting list, and stops watching it.
ChannelListener::State::Waiting ChannelListener::State::take(std::size_t index) {
  Waiting taken = std::move(peers[index]);
  peers.erase(peers.begin() + static_cast<std::ptrdiff_t>(index));
  if (taken.watched) watch->remove(taken.fd.get());
  return taken;
}

// Makes fd() readable when accept() or tend(), whichever was called last, has work to do, and at no
// other time. Otherwise an event loop would never sleep.
void ChannelListener::State::arm(Caller caller) {
  if (handed_over) return;
  bool has_room = peers.size() < kPeersWaitingMax;
  std::uint64_t wakes_at_ns = watch_waiting(caller, has_room);
  const std::uint64_t now = monotonic_ns();
  const bool pauses = now < pauses_until_ns;
  if (pauses) wakes_at_ns = std::min(wakes_at_ns, pauses_until_ns);
  bool all_watched =
      set_watched(listening_fd.get(), listening_watched, has_room && !pauses && !hand_over);
  if (hand_over) {
    all_watched = set_watched(hand_over->fd(), successor_watched, true);
    wakes_at_ns = hand_over->deadline_ns();
  }
  if (!all_watched) wakes_at_ns = std::min(wakes_at_ns, now + kPauseNs);
  watch->wake_at(wakes_at_ns == Deadline::never().monotonic_ns() ? 0 : wakes_at_ns);
}

// Returns the time at which a waiting peer must be checked even if it sends nothing. Sets
// `has_room` if one of them may be dropped for another. tend() serves no peer, so it does not watch
// peers that only wait to be served.
std::uint64_t ChannelListener::State::watch_waiting(Caller caller, bool& has_room) {
  const std::uint64_t now = monotonic_ns();
  std::uint64_t wakes_at_ns = Deadline::never().monotonic_ns();
  for (Waiting& waiting : peers) {
    const bool wanted = !hand_over && !(caller == Caller::kTends && waiting.has_spoken);
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

// Returns false if it should be watched but is not.
bool ChannelListener::State::set_watched(int fd, bool& watched, bool wanted) {
  if (watched && !wanted) watch->remove(fd);
  watched = wanted && (watched || watch->add(fd, EPOLLIN, 0) == 0);
  return watched == wanted;
}

void ChannelListener::State::remove_name() {
  const absl::StatusOr<ListenLock> lock = ListenLock::take(path, kChannelSocket);
  if (lock.ok() && name) name->unlink().IgnoreError();
}

// The listener.

ChannelListener::ChannelListener(StateHandle state) : state_(std::move(state)) {}
ChannelListener::ChannelListener(ChannelListener&&) noexcept = default;
ChannelListener& ChannelListener::operator=(ChannelListener&&) noexcept = default;
ChannelListener::~ChannelListener() = default;
void ChannelListener::DeleteState::operator()(State* state) const {
  delete_unless_forked(state, state->made);
}

absl::StatusOr<ChannelListener> ChannelListener::listen(const std::string& path,
                                                        std::optional<uid_t> expected_peer_uid) {
  const absl::StatusOr<ListenLock> lock = ListenLock::take(path, kChannelSocket);
  if (!lock.ok()) return lock.status();
  absl::StatusOr<Watch> watch = Watch::make_with_timer(kToListen);
  if (!watch.ok()) return watch.status();
  // Unexpected peers are refused by their credentials. If no other user is expected, the mode keeps
  // other users out before that.
  const bool others = expected_peer_uid && *expected_peer_uid != geteuid();
  absl::StatusOr<UniqueFd> fd = listen_local(path, others ? 0666 : 0600, {}, kChannelSocket);
  if (!fd.ok()) return fd.status();
  StateHandle state(new State(path, *std::move(fd), *std::move(watch), expected_peer_uid));
  state->arm(State::Caller::kAccepts);
  return ChannelListener(std::move(state));
}

absl::StatusOr<ChannelListener> ChannelListener::take_over(const std::string& path,
                                                           Deadline deadline,
                                                           std::optional<uid_t> expected_peer_uid) {
  absl::StatusOr<Watch> watch = Watch::make_with_timer(kToListen);
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
  StateHandle next(
      new State(path, std::move(descriptors.front()), *std::move(watch), expected_peer_uid));
  for (std::size_t i = 1; i < descriptors.size(); ++i) {
    const absl::StatusOr<PeerCredentials> peer = peer_credentials(descriptors[i].get());
    if (!peer.ok()) continue;  // not a socket, so not a peer
    next->peers.push_back({ForeignSocket(std::move(descriptors[i])), *peer, monotonic_ns()});
  }
  next->arm(State::Caller::kAccepts);
  const auto taken = make_frame<TakenOverFrame>(FrameType::kTakenOver);
  if (send_frame(fd->get(), taken) == SendOutcome::kSent) return ChannelListener(std::move(next));
  // The old listener receives nothing more. If it has abandoned the hand-over, it sends the reason
  // before it disconnects. If it sends nothing, it was killed, and only this side has the socket.
  got = await_frame(fd->get(), deadline.monotonic_ns(), listener, packet, descriptors);
  if (errc_of(got) == Errc::kPeerGone) return ChannelListener(std::move(next));
  next->handed_over = true;  // the old listener continues, and owns the name
  if (!got.ok()) return got;
  return refused_to_hand_over(packet, listener);
}

absl::StatusOr<std::unique_ptr<ChannelSide>> ChannelListener::accept(ChannelRole role,
                                                                     const ChannelOptions& options,
                                                                     Deadline deadline) {
  if (state_->made.in_child()) return forked_error("listener");
  if (absl::Status expected = check_expected(options); !expected.ok()) return expected;
  for (;;) {
    auto side = state_->accept_now(role, options);
    state_->arm(State::Caller::kAccepts);
    if (!side.ok() || *side != nullptr) return side;
    const std::uint64_t now = monotonic_ns();
    if (now >= deadline.monotonic_ns()) {
      return make_error(nothing_by(deadline),
                        absl::StrCat("no process connected to ", path(), " in time"));
    }
    if (state_->interrupted.take()) {
      return make_error(Errc::kInterrupted, "interrupt() ended the wait for a peer");
    }
    pollfd entries[] = {{fd(), POLLIN, 0}, {state_->wake_up.get(), POLLIN, 0}};
    wait_any_readable(entries, std::min(deadline.monotonic_ns(), now + kChannelSleepNsMax));
    // Even if the flag was already seen, because a raise precedes its signal.
    if (entries[1].revents != 0) drain_eventfd(state_->wake_up.get());
  }
}

absl::Status ChannelListener::check_expected(const ChannelOptions& options) const {
  if (!options.expected_peer_uid || options.expected_peer_uid == state_->expected_peer_uid) {
    return absl::OkStatus();
  }
  return make_error(Errc::kInvalidArgument,
                    "expected_peer_uid of the channel differs from the expected_peer_uid of its "
                    "listener, which accepts the connections. Open the listener with that user");
}

const std::string& ChannelListener::path() const {
  return state_->path;
}

absl::Status ChannelListener::tend() {
  if (state_->made.in_child()) return forked_error("listener");
  absl::Status status = state_->look_around();
  state_->arm(State::Caller::kTends);
  return status;
}

int ChannelListener::fd() const {
  return state_->wake_fd();
}

void ChannelListener::interrupt() noexcept {
  state_->interrupted.raise();
  signal_eventfd(state_->wake_up.get());
}

bool ChannelListener::handed_over() const {
  return state_->handed_over;
}

std::uint64_t ChannelListener::refused() const {
  return state_->refused;
}

const absl::Status& ChannelListener::last_refusal() const {
  return state_->last_refusal;
}

WaitSource* ChannelListener::wait_source() {
  return state_.get();
}

}  // namespace lapwing
