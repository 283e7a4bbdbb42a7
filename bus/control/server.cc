#include "bus/control/server.h"

#include <sys/epoll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "absl/strings/str_cat.h"
#include "bus/control/admission.h"
#include "os/kernel.h"
#include "os/process_state.h"
#include "os/system_error.h"
#include "proto/ring_layout.h"
#include "proto/text_field.h"

namespace lapwing {
namespace {

// The work of one turn. epoll hands out ready sockets in rotation, so a client that always has more
// to send waits for all others in between.
constexpr int kEventsPerTurn = 16;
constexpr int kAcceptsPerTurn = 4;

// Room in the kernel for frames that a client does not read: 1,024 such clients cost the publisher
// 64 MiB (the kernel doubles the figure), instead of 208 MiB by default.
constexpr int kSendBufferBytes = 32 * 1024;

RefusedFrame refused_frame(Errc code, const std::string& why) {
  RefusedFrame frame = make_frame<RefusedFrame>(FrameType::kRefused);
  frame.error = static_cast<std::uint32_t>(code);
  frame.abi_version = kAbiVersion;
  set_text(frame.message, why);
  return frame;
}

bool set_interest(int epoll, int operation, int fd, std::uint32_t events, ConnectionId id) {
  epoll_event event{};
  event.events = events;
  event.data.u64 = id;
  return epoll_ctl(epoll, operation, fd, &event) == 0;
}

void note_missing(MissingSubscribers& missing, EventLog& events, std::uint64_t now_ns) {
  for (const SubscriberInfoFrame& subscriber : missing.take_overdue(now_ns)) {
    EventInfoFrame event = event_of_missing(BusEventKind::kMissing, subscriber);
    const ProcessState state = state_of(process_of(subscriber, own_namespaces()));
    if (state != ProcessState::kUnknown) set_text(event.text, name_of(state));
    events.add(event);
  }
}

}  // namespace

absl::StatusOr<std::unique_ptr<ControlServer>> ControlServer::start(
    const ServerOptions& options, ControlledPublisher& publisher) {
  std::unique_ptr<ControlServer> server(new ControlServer(options, publisher));
  if (absl::Status status = server->open(options.path); !status.ok()) return status;
  return server;
}

ControlServer::ControlServer(const ServerOptions& options, ControlledPublisher& publisher)
    : group_(options.group),
      publisher_(&publisher),
      missing_(options.expected, wall_ns()),
      drops_([&publisher](const LogEntry& entry) { publisher.log(entry); }) {
  for (const EventInfoFrame& event : options.events) events_.add(event);
}

absl::Status ControlServer::open(const std::string& path) {
  epoll_ = UniqueFd::opened_by([] { return epoll_create1(EPOLL_CLOEXEC); });
  if (!epoll_.valid()) return make_system_error(errno, "making the control socket's epoll");
  return listener_.open(path, group_, epoll_.get());
}

void ControlServer::close() {
  if (listener_.closed()) return;
  listener_.close();
  for (auto& [id, connection] : connections_.all()) end(connection);
  handshakes_.clear();
  erase_ended();
}

std::uint64_t ControlServer::turn(std::uint64_t now_ns) {
  if (listener_.closed()) return UINT64_MAX;
  now_ns_ = now_ns;
  in_turn_ = true;
  listener_.resume_if_due(now_ns);
  epoll_event events[kEventsPerTurn];
  const int ready = epoll_wait(epoll_.get(), events, kEventsPerTurn, 0);
  for (int i = 0; i < ready; ++i) {
    const epoll_event event = events[i];
    if (event.data.u64 == kListenerTag) {
      accept_clients();
    } else if (ControlConnection* const connection = connections_.find(event.data.u64)) {
      if ((event.events & EPOLLOUT) != 0) connection->write_frames();
      // A hang-up or an error is detected by reading.
      const bool readable = (event.events & ~std::uint32_t{EPOLLOUT}) != 0;
      if (readable && !connection->ended()) connection->read_frames();
      watch(*connection);
    }
  }
  expire_handshakes();
  note_missing(missing_, events_, now_ns);
  drops_.catch_up(now_ns);
  in_turn_ = false;
  erase_ended();
  return next_deadline();
}

void ControlServer::answer_flushes(Sequence durable, JournalCondition journal) {
  if (flushes_waiting_ == 0) return;
  for (auto& [id, connection] : connections_.all()) {
    flushes_waiting_ -= connection.answer_flushes(durable, journal);
  }
  if (!in_turn_) erase_ended();
}

void ControlServer::answer_prune(Sequence oldest, Errc result) {
  if (prunes_.empty()) return;
  if (ControlConnection* const connection = connections_.find(prunes_.front().connection)) {
    connection->answer_prune(oldest, result);
  }
  prunes_.pop_front();
  if (!prunes_.empty()) publisher_->prune_wanted(prunes_.front().below);
  if (!in_turn_) erase_ended();
}

std::vector<SubscriberInfoFrame> ControlServer::subscribers() const {
  std::vector<SubscriberInfoFrame> infos;
  for (const ControlConnection* next = connections_.next_subscriber(0); next != nullptr;
       next = connections_.next_subscriber(next->id() + 1)) {
    infos.push_back(next->client().info(now_ns_));
  }
  return infos;
}

void ControlServer::accept_clients() {
  for (int i = 0; i < kAcceptsPerTurn; ++i) {
    UniqueFd fd = listener_.accept();
    if (fd.valid()) {
      admit(ForeignSocket(std::move(fd)));
    } else if (errno == EAGAIN) {
      return;
    } else if (errno != EINTR && errno != ECONNABORTED) {
      return pause_accepting(errno);
    }
  }
}

void ControlServer::admit(ForeignSocket fd) {
  const absl::StatusOr<PeerCredentials> peer = peer_credentials(fd.get());
  if (!peer.ok()) return;  // the client has already gone
  if (const std::optional<Refusal> refusal =
          refusal_of_peer(fd.get(), *peer, group_, connections_)) {
    send_frame(fd.get(), refused_frame(refusal->error, refusal->why));
    EventInfoFrame client = make_frame<EventInfoFrame>(FrameType::kEventInfo);
    client.pid = static_cast<std::uint32_t>(peer->pid);
    client.uid = peer->uid;
    return note_drop(client, refusal->reason, absl::StrCat("pid ", peer->pid, ", user ", peer->uid),
                     refusal->why);
  }
  setsockopt(fd.get(), SOL_SOCKET, SO_SNDBUF, &kSendBufferBytes, sizeof kSendBufferBytes);
  if (!set_interest(epoll_.get(), EPOLL_CTL_ADD, fd.get(), EPOLLIN, connections_.next_id())) {
    return pause_accepting(errno);
  }
  const ConnectionId id = connections_.add(std::move(fd), *peer, *this, *publisher_);
  handshakes_.push_back({id, now_ns_ + kHandshakeNs});
}

void ControlServer::note_drop(EventInfoFrame client, DropReason reason, const std::string& who,
                              const std::string& why) {
  drops_.add(reason, who, why, now_ns_);
  client.kind = is_refusal(reason) ? BusEventKind::kRefused : BusEventKind::kDropped;
  client.reason = reason;
  set_text(client.text, why);
  events_.add(client);
}

void ControlServer::pause_accepting(int error) {
  listener_.pause(now_ns_);
  EventInfoFrame any_client = make_frame<EventInfoFrame>(FrameType::kEventInfo);
  any_client.sys_errno = error;
  note_drop(any_client, DropReason::kOutOfDescriptors, "all new clients for a moment",
            absl::StrCat(make_system_error(error, "accepting a client").message(),
                         "; raise the publisher's limit on open files"));
}

void ControlServer::expire_handshakes() {
  for (; !handshakes_.empty(); handshakes_.pop_front()) {
    ControlConnection* const connection = connections_.find(handshakes_.front().connection);
    if (connection == nullptr || connection->client().greeted()) continue;
    if (now_ns_ < handshakes_.front().deadline_ns) return;
    drop(*connection, DropReason::kHandshakeTimeout, Errc::kTimedOut,
         absl::StrCat("no Hello within ", kHandshakeNs / 1'000'000, " ms"));
  }
}

std::uint64_t ControlServer::next_deadline() const {
  const std::uint64_t handshake_ns =
      handshakes_.empty() ? UINT64_MAX : handshakes_.front().deadline_ns;
  return std::min(
      {drops_.deadline_ns(), missing_.deadline_ns(), listener_.deadline_ns(), handshake_ns});
}

void ControlServer::count_losses(const Losses& losses) {
  reported_.gaps += losses.gaps;
  reported_.lost += losses.lost;
}

void ControlServer::want_flush(Sequence through) {
  ++flushes_waiting_;
  publisher_->flush_wanted(through);
}

void ControlServer::want_prune(ConnectionId id, Sequence below) {
  prunes_.push_back({id, below});
  if (prunes_.size() == 1) publisher_->prune_wanted(below);
}

void ControlServer::watch(ControlConnection& connection) {
  if (connection.ended() || connection.wants_writable() == connection.watched_for_writing) return;
  connection.watched_for_writing = connection.wants_writable();
  const std::uint32_t events = connection.watched_for_writing ? EPOLLIN | EPOLLOUT : EPOLLIN;
  set_interest(epoll_.get(), EPOLL_CTL_MOD, connection.fd(), events, connection.id());
}

void ControlServer::drop(ControlConnection& connection, DropReason reason, Errc code,
                         const std::string& why) {
  send_frame(connection.fd(), refused_frame(code, why));
  const ClientProfile& client = connection.client();
  note_drop(client.event(BusEventKind::kDropped), reason, client.description(), why);
  end(connection);
}

void ControlServer::end(ControlConnection& connection) {
  if (connection.ended()) return;
  const ClientProfile& client = connection.client();
  if (client.attached()) events_.add(client.event(BusEventKind::kDetached));
  flushes_waiting_ -= connection.flushes_waiting();
  // Closing does not remove it from epoll while another process holds the socket.
  epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, connection.fd(), nullptr);
  connections_.end(connection);
}

// The first prune stays even if its client is gone. It has been announced, and its answer will be
// discarded.
void ControlServer::erase_ended() {
  for (const ConnectionId id : connections_.erase_ended()) {
    if (prunes_.empty()) continue;
    const auto is_its = [id](const WaitingPrune& prune) { return prune.connection == id; };
    prunes_.erase(std::remove_if(prunes_.begin() + 1, prunes_.end(), is_its), prunes_.end());
  }
}

}  // namespace lapwing
