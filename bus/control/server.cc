#include "bus/control/server.h"

#include <algorithm>
#include <deque>
#include <span>
#include <utility>

#include "absl/strings/str_cat.h"
#include "bus/control/session.h"
#include "bus/control/sessions.h"

namespace lapwing {
namespace {

constexpr int kFramesPerTurn = 4;       // read from one client
constexpr int kListFramesPerTurn = 64;  // sent to one client

struct WaitingFlush {
  SessionId session;
  std::uint64_t tag;
  Sequence through;
};

struct WaitingPrune {
  SessionId session;
  Sequence below;
};

}  // namespace

struct ControlServer::State {
  void serve(ControlSession& session, ControlSessions::Readiness readiness);
  void write_frames(ControlSession& session);
  void read_frames(ControlSession& session);
  void handle(ControlSession& session, const Packet& packet);

  void on_hello(ControlSession& session, const HelloFrame& hello);
  void on_flush(ControlSession& session, const FlushFrame& flush);
  void on_report(ControlSession& session, const ReportFrame& report);
  void on_list(ControlSession& session);
  void on_prune(ControlSession& session, const PruneFrame& prune);

  void answer_flush(ControlSession& session, const WaitingFlush& flush, Sequence durable,
                    JournalCondition journal);
  void answer_prune(ControlSession& session, Sequence oldest, Errc result);
  void stream_list(ControlSession& session);
  EndOfListFrame end_of_list(const ListCursor& cursor) const;

  template <typename Frame>
  void post(ControlSession& session, const Frame& frame) {
    sessions->post(session, std::as_bytes(std::span(&frame, 1)));
  }
  void violation(ControlSession& session, const std::string& why) {
    sessions->drop(session, DropReason::kBadFrame, Errc::kProtocol, why);
  }
  void forget_ended();

  ServerHooks hooks;
  std::unique_ptr<ControlSessions> sessions;
  std::vector<WaitingFlush> flushes;
  std::deque<WaitingPrune> prunes;  // the first has been announced
  bool in_turn = false;
};

void ControlServer::State::serve(ControlSession& session, ControlSessions::Readiness readiness) {
  if (readiness.writable) write_frames(session);
  if (readiness.readable && !session.ended()) read_frames(session);
  sessions->watch(session);
}

void ControlServer::State::write_frames(ControlSession& session) {
  if (!session.send_queued()) return sessions->end(session);
  if (session.queue_empty() && session.list) stream_list(session);
}

void ControlServer::State::read_frames(ControlSession& session) {
  Packet packet;
  for (int i = 0; i < kFramesPerTurn && !session.ended(); ++i) {
    switch (receive_frame(session.fd(), packet)) {
      case ReceiveOutcome::kWouldBlock:
        return;
      case ReceiveOutcome::kClosed:
        return sessions->end(session);
      case ReceiveOutcome::kViolation:
        return violation(session, "a packet is not a frame of the control protocol");
      case ReceiveOutcome::kFrame:
        break;
    }
    if (!sessions->admit_frame(session)) {
      return sessions->drop(session, DropReason::kTooManyFrames, Errc::kLimit,
                            absl::StrCat("more than ", kFramesPerSecondMax, " frames in a second"));
    }
    handle(session, packet);
  }
}

void ControlServer::State::handle(ControlSession& session, const Packet& packet) {
  const FrameType type = packet.as<FrameHeader>().type;
  if (session.greeted() == (type == FrameType::kHello)) {
    return violation(session,
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
      return violation(session, absl::StrCat("a frame of type ", static_cast<int>(type),
                                             " comes from publishers only"));
  }
}

void ControlServer::State::on_hello(ControlSession& session, const HelloFrame& hello) {
  if (hello.abi_version != kAbiVersion) {
    return sessions->drop(
        session, DropReason::kAbiMismatch, Errc::kAbiMismatch,
        absl::StrCat("the publisher speaks ABI version ", kAbiVersion, ", the client version ",
                     hello.abi_version, "; install the same release of Lapwing on both sides"));
  }
  if (hello.role != ClientRole::kSubscriber && hello.role != ClientRole::kTool) {
    return violation(session, "a Hello with an unknown role");
  }
  sessions->greet(session, hello);
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
    return sessions->drop(session, DropReason::kTooManyFrames, Errc::kLimit,
                          absl::StrCat("more than ", kFlushesWaitingMax, " flushes waiting"));
  }
  ++session.flushes_waiting;
  flushes.push_back(waiting);
  hooks.flush_wanted(waiting.through);
}

void ControlServer::State::on_report(ControlSession& session, const ReportFrame& report) {
  if (report.state < ClientState::kJoining || report.state > ClientState::kStopped) {
    return violation(session, "a Report with an unknown state");
  }
  session.take_report(report);
}

void ControlServer::State::on_list(ControlSession& session) {
  if (session.list) return violation(session, "the list was asked for again before its end");
  session.list = ListCursor{0, sessions->next_id(), 0};  // goes out when the socket is writable
}

void ControlServer::State::on_prune(ControlSession& session, const PruneFrame& prune) {
  if (!ControlSessions::is_owner(session.peer()))
    return answer_prune(session, 0, Errc::kNotPermitted);
  if (session.prune_waiting) {
    return violation(session, "a second Prune before the first was answered");
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

void ControlServer::State::answer_prune(ControlSession& session, Sequence oldest, Errc result) {
  PrunedFrame answer = make_frame<PrunedFrame>(FrameType::kPruned);
  answer.oldest = oldest;
  answer.error = static_cast<std::uint32_t>(result);
  post(session, answer);
}

// Past the queue: a list longer than the queue must not get the asker dropped.
void ControlServer::State::stream_list(ControlSession& session) {
  ListCursor& cursor = *session.list;
  for (int i = 0; i < kListFramesPerTurn; ++i) {
    const ControlSession* const next = sessions->next_subscriber(cursor.next);
    const bool at_end = next == nullptr || next->id() >= cursor.end;
    const SendOutcome outcome = at_end ? send_frame(session.fd(), end_of_list(cursor))
                                       : send_frame(session.fd(), next->info());
    if (outcome == SendOutcome::kClosed) return sessions->end(session);
    if (outcome == SendOutcome::kWouldBlock) return;
    if (at_end) return session.list.reset();
    cursor.next = next->id() + 1;
    ++cursor.count;
  }
}

EndOfListFrame ControlServer::State::end_of_list(const ListCursor& cursor) const {
  EndOfListFrame frame = make_frame<EndOfListFrame>(FrameType::kEndOfList);
  frame.count = cursor.count;
  frame.refused = sessions->drops().refused();
  frame.dropped = sessions->drops().dropped();
  return frame;
}

// What an ended session still waited for. The first prune stays: it has been announced, and its
// answer will find nobody.
void ControlServer::State::forget_ended() {
  for (const SessionId id : sessions->erase_ended()) {
    std::erase_if(flushes, [id](const WaitingFlush& flush) { return flush.session == id; });
    if (prunes.empty()) continue;
    const auto is_its = [id](const WaitingPrune& prune) { return prune.session == id; };
    prunes.erase(std::remove_if(prunes.begin() + 1, prunes.end(), is_its), prunes.end());
  }
}

ControlServer::ControlServer(std::unique_ptr<State> state) : state_(std::move(state)) {}

ControlServer::~ControlServer() = default;

absl::StatusOr<std::unique_ptr<ControlServer>> ControlServer::start(ServerOptions options,
                                                                    ServerHooks hooks) {
  auto sessions = ControlSessions::listen(options.path, options.group, hooks.log);
  if (!sessions.ok()) return sessions.status();
  auto state = std::make_unique<State>();
  state->hooks = std::move(hooks);
  state->sessions = *std::move(sessions);
  return std::unique_ptr<ControlServer>(new ControlServer(std::move(state)));
}

int ControlServer::epoll_fd() const {
  return state_->sessions->epoll_fd();
}

std::uint64_t ControlServer::turn(std::uint64_t now_ns) {
  State& s = *state_;
  if (s.sessions->closed()) return UINT64_MAX;
  s.in_turn = true;
  const std::uint64_t deadline_ns =
      s.sessions->turn(now_ns, [&s](ControlSession& session, ControlSessions::Readiness readiness) {
        s.serve(session, readiness);
      });
  s.in_turn = false;
  s.forget_ended();
  return deadline_ns;
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
    ControlSession* const session = s.sessions->find(flush.session);
    if (session == nullptr) continue;  // ended while an earlier answer went out
    --session->flushes_waiting;
    s.answer_flush(*session, flush, durable, journal);
  }
  if (!s.in_turn) s.forget_ended();
}

void ControlServer::answer_prune(Sequence oldest, Errc result) {
  State& s = *state_;
  if (s.prunes.empty()) return;
  if (ControlSession* const session = s.sessions->find(s.prunes.front().session)) {
    session->prune_waiting = false;
    s.answer_prune(*session, oldest, result);
  }
  s.prunes.pop_front();
  if (!s.prunes.empty()) s.hooks.prune_wanted(s.prunes.front().below);
  if (!s.in_turn) s.forget_ended();
}

bool ControlServer::flushes_waiting() const {
  return !state_->flushes.empty();
}

bool ControlServer::prune_waiting() const {
  return !state_->prunes.empty();
}

std::size_t ControlServer::subscriber_count() const {
  return state_->sessions->subscriber_count();
}

std::size_t ControlServer::parking_count() const {
  return state_->sessions->parking_count();
}

std::uint64_t ControlServer::dropped(DropReason reason) const {
  return state_->sessions->drops().count(reason);
}

std::vector<SubscriberInfoFrame> ControlServer::subscribers() const {
  std::vector<SubscriberInfoFrame> infos;
  const ControlSessions& sessions = *state_->sessions;
  for (const ControlSession* session = sessions.next_subscriber(0); session != nullptr;
       session = sessions.next_subscriber(session->id() + 1)) {
    infos.push_back(session->info());
  }
  return infos;
}

void ControlServer::close() {
  state_->sessions->close();
  state_->forget_ended();
}

}  // namespace lapwing
