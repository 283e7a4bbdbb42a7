#include "bus/control_server.h"

#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <deque>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "bus/control_session.h"
#include "bus/kernel.h"
#include "bus/rate_window.h"

namespace lapwing {
namespace {

// The work of one turn; what is left makes epoll_fd readable again. epoll hands out ready sockets
// in rotation, so a client that always has more to say waits for all others in between.
constexpr int kEventsPerTurn = 16;
constexpr int kFramesPerEvent = 4;
constexpr int kAcceptsPerEvent = 4;
constexpr int kListFramesPerEvent = 64;

// Room in the kernel for frames that a client does not read: 1,024 such clients cost the publisher
// 64 MiB (the kernel doubles the figure), not the default's 208 MiB.
constexpr int kSendBufferBytes = 32 * 1024;

constexpr std::uint64_t kNoDeadline = UINT64_MAX;
constexpr SessionId kListenerId = 0;  // as epoll's data; sessions start at 1

constexpr const char* kDropReasonNames[] = {
    "peer-not-allowed",   "too-many-clients", "handshake-timeout", "abi-mismatch",
    "out-of-descriptors", "bad-frame",        "too-many-frames",   "queue-full",
};
static_assert(std::size(kDropReasonNames) == static_cast<std::size_t>(DropReason::kCount));

struct WaitingFlush {
  SessionId session;
  std::uint64_t tag;
  Sequence through;
};

struct WaitingPrune {
  SessionId session;
  Sequence below;
};

bool is_refusal(DropReason reason) {
  return reason <= DropReason::kOutOfDescriptors;
}

RefusedFrame refusal(Errc code, const std::string& message) {
  RefusedFrame frame = make_frame<RefusedFrame>(FrameType::kRefused);
  frame.error = static_cast<std::uint32_t>(code);
  frame.abi_version = kAbiVersion;
  set_text(frame.message, message);
  return frame;
}

}  // namespace

const char* name_of(DropReason reason) {
  return reason < DropReason::kCount ? kDropReasonNames[static_cast<std::size_t>(reason)]
                                     : "unknown";
}

struct ControlServer::State {
  State(ServerOptions server_options, ServerHooks server_hooks)
      : options(std::move(server_options)), hooks(std::move(server_hooks)) {}

  // Clients come and go.
  void accept_clients();
  void admit(UniqueFd fd);
  bool allowed(int fd, const PeerCredentials& peer) const;
  void pause_accepting(int error);
  void resume_accepting();
  void refuse(const UniqueFd& fd, DropReason reason, Errc code, const std::string& message);
  void drop(ControlSession& session, DropReason reason, Errc code, const std::string& message);
  void end(ControlSession& session);
  void erase_ended();
  void expire_handshakes();

  // What they say and hear.
  void serve(SessionId id, std::uint32_t events);
  void read_frames(ControlSession& session);
  void handle(ControlSession& session, const Packet& packet);
  void on_hello(ControlSession& session, const HelloFrame& hello);
  void on_flush(ControlSession& session, const FlushFrame& flush);
  void on_report(ControlSession& session, const ReportFrame& report);
  void on_list(ControlSession& session);
  void on_prune(ControlSession& session, const PruneFrame& prune);
  void answer_flush(ControlSession& session, const WaitingFlush& flush, Sequence durable,
                    JournalCondition journal);
  void stream_list(ControlSession& session);
  EndOfListFrame end_of_list(std::uint64_t count) const;
  template <typename Frame>
  void post(ControlSession& session, const Frame& frame);
  void watch(ControlSession& session);

  ControlSession* find(SessionId id);
  void count(DropReason reason) { ++drops[static_cast<std::size_t>(reason)]; }
  void log(const std::string& line);
  void log_omissions();
  std::uint64_t next_deadline();

  ServerOptions options;
  ServerHooks hooks;
  UniqueFd epoll;
  UniqueFd listener;  // invalid once closed
  dev_t name_device = 0;
  ino_t name_inode = 0;

  std::map<SessionId, ControlSession> sessions;
  SessionId next_id = kListenerId + 1;
  std::vector<SessionId> ended;      // closed, to be erased when nobody holds a reference
  std::deque<SessionId> handshakes;  // who owes a Hello, the longest first
  std::vector<WaitingFlush> flushes;
  std::deque<WaitingPrune> prunes;  // the first has been announced
  std::size_t subscribers = 0;
  std::size_t parking = 0;
  std::array<std::uint64_t, static_cast<std::size_t>(DropReason::kCount)> drops{};

  std::uint64_t now_ns = 0;           // of the current or last turn
  std::uint64_t accept_again_ns = 0;  // 0: accepting
  bool in_turn = false;
  RateWindow log_lines{kLogLinesPerSecondMax};
  std::uint64_t lines_omitted = 0;
};

// ---- Clients come and go ------------------------------------------------------------------------

void ControlServer::State::accept_clients() {
  for (int i = 0; i < kAcceptsPerEvent; ++i) {
    UniqueFd fd(accept4(listener.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (fd.valid()) {
      admit(std::move(fd));
    } else if (errno == EAGAIN) {
      return;
    } else if (errno != EINTR && errno != ECONNABORTED) {
      return pause_accepting(errno);
    }
  }
}

void ControlServer::State::admit(UniqueFd fd) {
  const absl::StatusOr<PeerCredentials> peer = peer_credentials(fd.get());
  if (!peer.ok() || !allowed(fd.get(), *peer)) {
    return refuse(fd, DropReason::kPeerNotAllowed, Errc::kNotPermitted,
                  "only the bus's owner, root and members of the bus's group may connect");
  }
  if (sessions.size() >= kClientsMax) {
    return refuse(fd, DropReason::kTooManyClients, Errc::kLimit,
                  absl::StrCat("this publisher already has ", kClientsMax, " clients, its limit"));
  }
  setsockopt(fd.get(), SOL_SOCKET, SO_SNDBUF, &kSendBufferBytes, sizeof kSendBufferBytes);
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.u64 = next_id;
  if (epoll_ctl(epoll.get(), EPOLL_CTL_ADD, fd.get(), &event) != 0) return pause_accepting(errno);
  const SessionId id = next_id++;
  sessions.try_emplace(id, id, std::move(fd), *peer, now_ns);
  handshakes.push_back(id);
}

bool ControlServer::State::allowed(int fd, const PeerCredentials& peer) const {
  if (peer.uid == geteuid() || peer.uid == 0) return true;
  return options.group && peer_in_group(fd, peer, *options.group);
}

// Until a descriptor is free the listener stays readable; watching it would burn a core.
void ControlServer::State::pause_accepting(int error) {
  epoll_event event{};
  event.data.u64 = kListenerId;
  epoll_ctl(epoll.get(), EPOLL_CTL_MOD, listener.get(), &event);
  accept_again_ns = now_ns + kAcceptPauseNs;
  count(DropReason::kOutOfDescriptors);
  log(absl::StrCat("control socket: ", make_system_error(error, "accepting a client").message(),
                   "; new clients wait; raise the limit on open files (ulimit -n)"));
}

void ControlServer::State::resume_accepting() {
  if (accept_again_ns == 0 || now_ns < accept_again_ns) return;
  accept_again_ns = 0;
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.u64 = kListenerId;
  epoll_ctl(epoll.get(), EPOLL_CTL_MOD, listener.get(), &event);
}

void ControlServer::State::refuse(const UniqueFd& fd, DropReason reason, Errc code,
                                  const std::string& message) {
  count(reason);
  send_frame(fd.get(), refusal(code, message));
  const absl::StatusOr<PeerCredentials> peer = peer_credentials(fd.get());
  const std::string who =
      peer.ok() ? absl::StrCat("pid ", peer->pid, ", user ", peer->uid) : "an unknown peer";
  log(absl::StrCat("control socket: refused ", who, " (", name_of(reason), "): ", message));
}

void ControlServer::State::drop(ControlSession& session, DropReason reason, Errc code,
                                const std::string& message) {
  count(reason);
  send_frame(session.fd(), refusal(code, message));
  log(absl::StrCat("control socket: ", is_refusal(reason) ? "refused " : "dropped ",
                   session.description(), " (", name_of(reason), "): ", message));
  end(session);
}

void ControlServer::State::end(ControlSession& session) {
  if (session.ended()) return;
  if (session.is_subscriber()) {
    --subscribers;
    if (session.may_park()) --parking;
  }
  const SessionId id = session.id();
  std::erase_if(flushes, [id](const WaitingFlush& flush) { return flush.session == id; });
  // The first prune has been announced: its answer will come and finds nobody.
  if (!prunes.empty()) {
    prunes.erase(std::remove_if(prunes.begin() + 1, prunes.end(),
                                [id](const WaitingPrune& prune) { return prune.session == id; }),
                 prunes.end());
  }
  session.end();
  ended.push_back(id);
}

void ControlServer::State::erase_ended() {
  for (const SessionId id : ended) sessions.erase(id);
  ended.clear();
}

void ControlServer::State::expire_handshakes() {
  while (!handshakes.empty()) {
    ControlSession* const session = find(handshakes.front());
    if (session != nullptr && !session->greeted()) {
      if (now_ns < session->connected_ns() + kHandshakeNs) return;
      drop(*session, DropReason::kHandshakeTimeout, Errc::kTimedOut,
           absl::StrCat("no Hello within ", kHandshakeNs / 1'000'000, " ms"));
    }
    handshakes.pop_front();
  }
}

// ---- What they say and hear ---------------------------------------------------------------------

void ControlServer::State::serve(SessionId id, std::uint32_t events) {
  ControlSession* const session = find(id);
  if (session == nullptr) return;
  if ((events & EPOLLOUT) != 0) {
    if (!session->send_queued()) return end(*session);
    if (session->queue_empty() && session->list) stream_list(*session);
  }
  if ((events & ~std::uint32_t{EPOLLOUT}) != 0) read_frames(*session);
  watch(*session);
}

void ControlServer::State::read_frames(ControlSession& session) {
  Packet packet;
  for (int i = 0; i < kFramesPerEvent && !session.ended(); ++i) {
    switch (receive_frame(session.fd(), packet)) {
      case ReceiveOutcome::kWouldBlock:
        return;
      case ReceiveOutcome::kClosed:
        return end(session);
      case ReceiveOutcome::kViolation:
        return drop(session, DropReason::kBadFrame, Errc::kProtocol,
                    "a packet is not a frame of the control protocol");
      case ReceiveOutcome::kFrame:
        break;
    }
    if (!session.admit_frame(now_ns)) {
      return drop(session, DropReason::kTooManyFrames, Errc::kLimit,
                  absl::StrCat("more than ", kFramesPerSecondMax, " frames in a second"));
    }
    handle(session, packet);
  }
}

void ControlServer::State::handle(ControlSession& session, const Packet& packet) {
  const FrameType type = packet.as<FrameHeader>().type;
  if (session.greeted() == (type == FrameType::kHello)) {
    return drop(session, DropReason::kBadFrame, Errc::kProtocol,
                session.greeted() ? "a second Hello" : "the first frame is not a Hello");
  }
  switch (type) {
    case FrameType::kHello:
      return on_hello(session, packet.as<HelloFrame>());
    case FrameType::kFlush:
      return on_flush(session, packet.as<FlushFrame>());
    case FrameType::kReport:
      return on_report(session, packet.as<ReportFrame>());
    case FrameType::kListSubscribers:
      return on_list(session);
    case FrameType::kPrune:
      return on_prune(session, packet.as<PruneFrame>());
    default:
      return drop(session, DropReason::kBadFrame, Errc::kProtocol,
                  absl::StrCat("frame type ", static_cast<int>(type), " is for publishers"));
  }
}

void ControlServer::State::on_hello(ControlSession& session, const HelloFrame& hello) {
  if (hello.abi_version != kAbiVersion) {
    return drop(
        session, DropReason::kAbiMismatch, Errc::kAbiMismatch,
        absl::StrCat("the publisher speaks ABI version ", kAbiVersion, ", the client version ",
                     hello.abi_version, "; install the same release of Lapwing on both sides"));
  }
  if (hello.role != ClientRole::kSubscriber && hello.role != ClientRole::kTool) {
    return drop(session, DropReason::kBadFrame, Errc::kProtocol, "a Hello with an unknown role");
  }
  session.greet(hello);
  if (session.is_subscriber()) {
    ++subscribers;
    if (session.may_park()) ++parking;
  }
  WelcomeFrame welcome = hooks.welcome();
  welcome.header = make_frame<WelcomeFrame>(FrameType::kWelcome).header;
  post(session, welcome);
}

void ControlServer::State::on_flush(ControlSession& session, const FlushFrame& flush) {
  const WelcomeFrame now = hooks.welcome();
  const WaitingFlush waiting{session.id(), flush.tag, std::min(flush.through, now.head)};
  const JournalCondition journal{static_cast<JournalState>(now.journal_state), now.journal_errno};
  if (waiting.through <= now.durable || journal.state != JournalState::kGood) {
    return answer_flush(session, waiting, now.durable, journal);
  }
  if (session.flushes_waiting == kFlushesWaitingMax) {
    return drop(session, DropReason::kTooManyFrames, Errc::kLimit,
                absl::StrCat("more than ", kFlushesWaitingMax, " flushes waiting"));
  }
  ++session.flushes_waiting;
  flushes.push_back(waiting);
  hooks.flush_wanted(waiting.through);
}

void ControlServer::State::on_report(ControlSession& session, const ReportFrame& report) {
  if (report.state < ClientState::kJoining || report.state > ClientState::kStopped) {
    return drop(session, DropReason::kBadFrame, Errc::kProtocol, "a Report with an unknown state");
  }
  session.take_report(report);
}

void ControlServer::State::on_list(ControlSession& session) {
  if (session.list) {
    return drop(session, DropReason::kBadFrame, Errc::kProtocol,
                "the list was asked for again before its end");
  }
  session.list = ListCursor{0, next_id, 0};  // sent when the socket is found writable
}

void ControlServer::State::on_prune(ControlSession& session, const PruneFrame& prune) {
  if (session.peer().uid != geteuid() && session.peer().uid != 0) {
    PrunedFrame answer = make_frame<PrunedFrame>(FrameType::kPruned);
    answer.error = static_cast<std::uint32_t>(Errc::kNotPermitted);
    return post(session, answer);
  }
  if (session.prune_waiting) {
    return drop(session, DropReason::kBadFrame, Errc::kProtocol,
                "a second Prune before the first was answered");
  }
  session.prune_waiting = true;
  prunes.push_back({session.id(), prune.below});
  if (prunes.size() == 1) hooks.prune_wanted(prune.below);
}

void ControlServer::State::answer_flush(ControlSession& session, const WaitingFlush& flush,
                                        Sequence durable, JournalCondition journal) {
  if (flush.through <= durable) {
    FlushedFrame answer = make_frame<FlushedFrame>(FrameType::kFlushed);
    answer.tag = flush.tag;
    answer.durable = durable;
    return post(session, answer);
  }
  FlushFailedFrame answer = make_frame<FlushFailedFrame>(FrameType::kFlushFailed);
  answer.tag = flush.tag;
  answer.durable = durable;
  answer.journal_state = static_cast<std::uint32_t>(journal.state);
  answer.sys_errno = journal.sys_errno;
  post(session, answer);
}

void ControlServer::State::stream_list(ControlSession& session) {
  ListCursor& cursor = *session.list;
  for (int i = 0; i < kListFramesPerEvent; ++i) {
    auto next = sessions.lower_bound(cursor.next);
    while (next != sessions.end() && (next->second.ended() || !next->second.is_subscriber()))
      ++next;
    const bool at_end = next == sessions.end() || next->first >= cursor.end;
    const SendOutcome outcome = at_end ? send_frame(session.fd(), end_of_list(cursor.count))
                                       : send_frame(session.fd(), next->second.info());
    if (outcome == SendOutcome::kClosed) return end(session);
    if (outcome == SendOutcome::kWouldBlock) return;
    if (at_end) return session.list.reset();
    cursor.next = next->first + 1;
    ++cursor.count;
  }
}

EndOfListFrame ControlServer::State::end_of_list(std::uint64_t count) const {
  EndOfListFrame frame = make_frame<EndOfListFrame>(FrameType::kEndOfList);
  frame.count = count;
  for (std::size_t i = 0; i < drops.size(); ++i) {
    (is_refusal(static_cast<DropReason>(i)) ? frame.refused : frame.dropped) += drops[i];
  }
  return frame;
}

template <typename Frame>
void ControlServer::State::post(ControlSession& session, const Frame& frame) {
  switch (session.post(std::as_bytes(std::span(&frame, 1)))) {
    case ControlSession::Post::kDone:
      return watch(session);
    case ControlSession::Post::kClosed:
      return end(session);
    case ControlSession::Post::kQueueFull:
      return drop(session, DropReason::kQueueFull, Errc::kLimit,
                  absl::StrCat("more than ", kFramesQueuedMax, " answers were not read"));
  }
}

// Asks epoll for writability exactly while the session waits for it.
void ControlServer::State::watch(ControlSession& session) {
  if (session.ended() || session.wants_writable() == session.watched_for_writing) return;
  session.watched_for_writing = session.wants_writable();
  epoll_event event{};
  event.events = session.watched_for_writing ? EPOLLIN | EPOLLOUT : EPOLLIN;
  event.data.u64 = session.id();
  epoll_ctl(epoll.get(), EPOLL_CTL_MOD, session.fd(), &event);
}

// ---- Housekeeping -------------------------------------------------------------------------------

// The session, unless it has ended.
ControlSession* ControlServer::State::find(SessionId id) {
  const auto found = sessions.find(id);
  return found == sessions.end() || found->second.ended() ? nullptr : &found->second;
}

void ControlServer::State::log(const std::string& line) {
  if (log_lines.admit(now_ns)) {
    hooks.log(line);
  } else {
    ++lines_omitted;
  }
}

void ControlServer::State::log_omissions() {
  if (lines_omitted == 0 || !log_lines.admit(now_ns)) return;
  hooks.log(absl::StrCat("control socket: ", lines_omitted, " more refusals and drops"));
  lines_omitted = 0;
}

std::uint64_t ControlServer::State::next_deadline() {
  std::uint64_t deadline = kNoDeadline;
  if (!handshakes.empty()) {
    const ControlSession* const session = find(handshakes.front());
    deadline = session == nullptr ? now_ns : session->connected_ns() + kHandshakeNs;
  }
  if (accept_again_ns != 0) deadline = std::min(deadline, accept_again_ns);
  if (lines_omitted != 0) deadline = std::min(deadline, log_lines.window_end_ns());
  return deadline;
}

// ---- The server ---------------------------------------------------------------------------------

ControlServer::ControlServer(std::unique_ptr<State> state) : state_(std::move(state)) {}

ControlServer::~ControlServer() {
  close();
}

absl::StatusOr<std::unique_ptr<ControlServer>> ControlServer::start(ServerOptions options,
                                                                    ServerHooks hooks) {
  auto state = std::make_unique<State>(std::move(options), std::move(hooks));
  state->epoll.reset(epoll_create1(EPOLL_CLOEXEC));
  if (!state->epoll.valid()) return make_system_error(errno, "making the control socket's epoll");
  const std::string& path = state->options.path;
  const mode_t mode = state->options.group ? 0660 : 0600;
  absl::StatusOr<UniqueFd> listener = listen_control(path, mode, state->options.group);
  if (!listener.ok()) return listener.status();
  state->listener = *std::move(listener);
  std::unique_ptr<ControlServer> server(new ControlServer(std::move(state)));
  State& s = *server->state_;
  struct stat name{};
  if (lstat(path.c_str(), &name) != 0) {
    return make_system_error(errno, absl::StrCat("looking at the control socket ", path));
  }
  s.name_device = name.st_dev;
  s.name_inode = name.st_ino;
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.u64 = kListenerId;
  if (epoll_ctl(s.epoll.get(), EPOLL_CTL_ADD, s.listener.get(), &event) != 0) {
    return make_system_error(errno, absl::StrCat("watching the control socket ", path));
  }
  return server;
}

int ControlServer::epoll_fd() const {
  return state_->epoll.get();
}

std::uint64_t ControlServer::turn(std::uint64_t now_ns) {
  State& s = *state_;
  if (!s.listener.valid()) return kNoDeadline;
  s.now_ns = now_ns;
  s.in_turn = true;
  s.resume_accepting();
  epoll_event events[kEventsPerTurn];
  const int ready = epoll_wait(s.epoll.get(), events, kEventsPerTurn, 0);
  for (int i = 0; i < ready; ++i) {
    if (events[i].data.u64 == kListenerId) {
      s.accept_clients();
    } else {
      s.serve(events[i].data.u64, events[i].events);
    }
  }
  s.expire_handshakes();
  s.log_omissions();
  s.erase_ended();
  s.in_turn = false;
  return s.next_deadline();
}

void ControlServer::answer_flushes(Sequence durable, JournalCondition journal) {
  State& s = *state_;
  std::vector<WaitingFlush> answered;
  std::erase_if(s.flushes, [&](const WaitingFlush& flush) {
    if (flush.through > durable && journal.state == JournalState::kGood) return false;
    answered.push_back(flush);
    return true;
  });
  for (const WaitingFlush& flush : answered) {
    ControlSession* const session = s.find(flush.session);
    if (session == nullptr) continue;  // dropped while an earlier answer went out
    --session->flushes_waiting;
    s.answer_flush(*session, flush, durable, journal);
  }
  if (!s.in_turn) s.erase_ended();
}

void ControlServer::answer_prune(Sequence oldest, Errc result) {
  State& s = *state_;
  if (s.prunes.empty()) return;
  ControlSession* const session = s.find(s.prunes.front().session);
  s.prunes.pop_front();
  if (session != nullptr) {
    session->prune_waiting = false;
    PrunedFrame answer = make_frame<PrunedFrame>(FrameType::kPruned);
    answer.oldest = oldest;
    answer.error = static_cast<std::uint32_t>(result);
    s.post(*session, answer);
  }
  if (!s.prunes.empty()) s.hooks.prune_wanted(s.prunes.front().below);
  if (!s.in_turn) s.erase_ended();
}

bool ControlServer::flushes_waiting() const {
  return !state_->flushes.empty();
}
std::size_t ControlServer::subscriber_count() const {
  return state_->subscribers;
}
std::size_t ControlServer::parking_count() const {
  return state_->parking;
}

std::uint64_t ControlServer::dropped(DropReason reason) const {
  return state_->drops[static_cast<std::size_t>(reason)];
}

std::vector<SubscriberInfoFrame> ControlServer::subscribers() const {
  std::vector<SubscriberInfoFrame> infos;
  for (const auto& [id, session] : state_->sessions) {
    if (session.is_subscriber() && !session.ended()) infos.push_back(session.info());
  }
  return infos;
}

void ControlServer::close() {
  State& s = *state_;
  if (!s.listener.valid()) return;
  struct stat name{};
  if (lstat(s.options.path.c_str(), &name) == 0 && name.st_dev == s.name_device &&
      name.st_ino == s.name_inode) {
    unlink(s.options.path.c_str());
  }
  s.listener.reset();
  for (auto& [id, session] : s.sessions) s.end(session);
  s.erase_ended();
  s.handshakes.clear();
  s.flushes.clear();
  s.prunes.clear();
}

}  // namespace lapwing
