#include "bus/control/server.h"

#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "absl/strings/str_cat.h"
#include "os/kernel.h"
#include "os/process_state.h"
#include "os/system_error.h"
#include "proto/ring_layout.h"
#include "proto/text_field.h"

namespace lapwing {
namespace {

// The work of one turn. epoll returns ready sockets in rotation, so a client that always has more
// frames waits for all others in between.
constexpr int kEventsPerTurn = 16;
constexpr int kAcceptsPerTurn = 4;

// Descriptors reserved for the rest of the process: a publisher that cannot open its next segment
// would lose its journal.
constexpr std::size_t kDescriptorsReserved = 256;
constexpr std::size_t kClientsAlways = 16;  // even if descriptors are scarce

// Each member of the group gets at most this fraction (1/kUserParts) of the client limit, so that a
// member cannot lock out the others.
constexpr std::size_t kUserParts = 2;

// Kernel buffer for frames that a client does not read. 1,024 such clients cost the publisher 64
// MiB (the kernel doubles this value) instead of 208 MiB with the default.
constexpr int kSendBufferBytes = 32 * 1024;

constexpr ConnectionId kListenerId = 0;  // as epoll's data; connections start at 1

std::size_t clients_max() {
  rlimit descriptors{};
  if (getrlimit(RLIMIT_NOFILE, &descriptors) != 0) return kClientsMax;
  if (descriptors.rlim_cur >= kClientsMax + kDescriptorsReserved) return kClientsMax;
  if (descriptors.rlim_cur <= kClientsAlways + kDescriptorsReserved) return kClientsAlways;
  return descriptors.rlim_cur - kDescriptorsReserved;
}

std::string limit_reached() {
  return absl::StrCat("the publisher has ", clients_max(), " clients, its limit (at most ",
                      kClientsMax, ", and ", kDescriptorsReserved,
                      " less than its limit on open files)");
}

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

}  // namespace

absl::StatusOr<std::unique_ptr<ControlServer>> ControlServer::start(
    const ServerOptions& options, ControlledPublisher& publisher) {
  std::unique_ptr<ControlServer> server(new ControlServer(options, publisher));
  if (absl::Status status = server->open(); !status.ok()) return status;
  return server;
}

ControlServer::ControlServer(const ServerOptions& options, ControlledPublisher& publisher)
    : options_(options),
      publisher_(&publisher),
      missing_(options.expected, wall_ns()),
      drops_([&publisher](const LogEntry& entry) { publisher.log(entry); }) {
  for (const EventInfoFrame& event : options.events) events_.add(event);
}

absl::Status ControlServer::open() {
  epoll_ = UniqueFd::opened_by([] { return epoll_create1(EPOLL_CLOEXEC); });
  if (!epoll_.valid()) return make_system_error(errno, "making the control socket's epoll");
  absl::StatusOr<UniqueFd> listener =
      listen_control(options_.path, options_.group ? 0660 : 0600, options_.group);
  if (!listener.ok()) return listener.status();
  listener_ = *std::move(listener);
  absl::StatusOr<NamedFile> name = NamedFile::at(options_.path);
  if (!name.ok()) return name.status();
  name_ = *std::move(name);
  if (!set_interest(epoll_.get(), EPOLL_CTL_ADD, listener_.get(), EPOLLIN, kListenerId)) {
    return make_system_error(errno, absl::StrCat("watching the control socket ", options_.path));
  }
  return absl::OkStatus();
}

void ControlServer::close() {
  if (closed()) return;
  // Remove the name first, so that a client never finds a name on which no process listens.
  if (name_) name_->unlink().IgnoreError();
  // Also ends it for a child that holds the socket: see ControlConnection::close().
  close_listening(std::move(listener_));
  for (auto& [id, connection] : connections_) end(connection);
  handshakes_.clear();
  erase_ended();
}

std::uint64_t ControlServer::turn(std::uint64_t now_ns) {
  if (closed()) return UINT64_MAX;
  now_ns_ = now_ns;
  in_turn_ = true;
  resume_accepting();
  epoll_event events[kEventsPerTurn];
  const int ready = epoll_wait(epoll_.get(), events, kEventsPerTurn, 0);
  for (int i = 0; i < ready; ++i) {
    const epoll_event event = events[i];
    if (event.data.u64 == kListenerId) {
      accept_clients();
    } else if (ControlConnection* const connection = find(event.data.u64)) {
      if ((event.events & EPOLLOUT) != 0) connection->write_frames();
      // Reading reports a hang-up or an error.
      const bool readable = (event.events & ~std::uint32_t{EPOLLOUT}) != 0;
      if (readable && !connection->ended()) connection->read_frames();
      watch(*connection);
    }
  }
  expire_handshakes();
  note_missing();
  drops_.catch_up(now_ns);
  in_turn_ = false;
  erase_ended();
  return next_deadline();
}

void ControlServer::answer_flushes(Sequence durable, JournalCondition journal) {
  if (flushes_waiting_ == 0) return;
  for (auto& [id, connection] : connections_) {
    flushes_waiting_ -= connection.answer_flushes(durable, journal);
  }
  if (!in_turn_) erase_ended();
}

void ControlServer::answer_prune(Sequence oldest, Errc result) {
  if (prunes_.empty()) return;
  if (ControlConnection* const connection = find(prunes_.front().connection)) {
    connection->answer_prune(oldest, result);
  }
  prunes_.pop_front();
  if (!prunes_.empty()) publisher_->prune_wanted(prunes_.front().below);
  if (!in_turn_) erase_ended();
}

std::vector<SubscriberInfoFrame> ControlServer::subscribers() const {
  std::vector<SubscriberInfoFrame> infos;
  for (const auto& [id, connection] : connections_) {
    if (connection.is_subscriber() && !connection.ended()) infos.push_back(connection.info());
  }
  return infos;
}

void ControlServer::accept_clients() {
  for (int i = 0; i < kAcceptsPerTurn; ++i) {
    UniqueFd fd = UniqueFd::opened_by(
        [&] { return accept4(listener_.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC); });
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
  if (!peer.ok()) return;  // the peer has already disconnected
  if (!allowed(fd.get(), *peer)) {
    return refuse(fd.get(), *peer, DropReason::kPeerNotAllowed, Errc::kNotPermitted,
                  "only the bus's owner, root and members of the bus's group may connect");
  }
  // The role of a client of the owner or root is unknown before its Hello: see why_no_place().
  if (is_owner(*peer) ? connections_.size() >= clients_max() + kQuestionsMax
                      : client_count() >= clients_max()) {
    return refuse(fd.get(), *peer, DropReason::kTooManyClients, Errc::kLimit, limit_reached());
  }
  if (const std::size_t limit = clients_max() / kUserParts;
      !is_owner(*peer) && count_of_user(peer->uid) + closing_apart() >= limit) {
    return refuse(fd.get(), *peer, DropReason::kTooManyClients, Errc::kLimit,
                  absl::StrCat("user ", peer->uid, " has ", limit,
                               " clients already, the limit for a user other than the bus's owner "
                               "and root"));
  }
  setsockopt(fd.get(), SOL_SOCKET, SO_SNDBUF, &kSendBufferBytes, sizeof kSendBufferBytes);
  if (!set_interest(epoll_.get(), EPOLL_CTL_ADD, fd.get(), EPOLLIN, next_id_)) {
    return pause_accepting(errno);
  }
  const ConnectionId id = next_id_++;
  connections_.try_emplace(id, id, std::move(fd), *peer, *this, *publisher_);
  handshakes_.push_back({id, now_ns_ + kHandshakeNs});
}

bool ControlServer::allowed(int fd, const PeerCredentials& peer) const {
  if (is_owner(peer)) return true;
  return options_.group && peer_in_group(fd, peer, *options_.group);
}

bool ControlServer::is_owner(const PeerCredentials& peer) {
  return peer.uid == geteuid() || peer.uid == 0;
}

std::size_t ControlServer::client_count() const {
  return static_cast<std::size_t>(std::ranges::count_if(connections_, [](const auto& entry) {
    const ControlConnection& connection = entry.second;
    return !connection.ended() && (connection.is_subscriber() || !is_owner(connection.peer()));
  }));
}

std::string ControlServer::why_no_place() const {
  return client_count() > clients_max() ? limit_reached() : "";
}

std::size_t ControlServer::count_of_user(uid_t uid) const {
  return static_cast<std::size_t>(std::ranges::count_if(
      connections_, [uid](const auto& entry) { return entry.second.peer().uid == uid; }));
}

void ControlServer::refuse(int fd, const PeerCredentials& peer, DropReason reason, Errc code,
                           const std::string& why) {
  send_frame(fd, refused_frame(code, why));
  EventInfoFrame client = make_frame<EventInfoFrame>(FrameType::kEventInfo);
  client.pid = static_cast<std::uint32_t>(peer.pid);
  client.uid = peer.uid;
  note_drop(client, reason, absl::StrCat("pid ", peer.pid, ", user ", peer.uid), why);
}

void ControlServer::note_drop(EventInfoFrame client, DropReason reason, const std::string& who,
                              const std::string& why) {
  drops_.add(reason, who, why, now_ns_);
  client.kind = is_refusal(reason) ? BusEventKind::kRefused : BusEventKind::kDropped;
  client.reason = reason;
  set_text(client.text, why);
  events_.add(client);
}

// The listener stays readable until a descriptor is free. Watching it would keep a core busy.
void ControlServer::pause_accepting(int error) {
  set_interest(epoll_.get(), EPOLL_CTL_MOD, listener_.get(), 0, kListenerId);
  accept_again_ns_ = now_ns_ + kAcceptPauseNs;
  EventInfoFrame nobody = make_frame<EventInfoFrame>(FrameType::kEventInfo);
  nobody.sys_errno = error;
  note_drop(nobody, DropReason::kOutOfDescriptors, "all new clients for a moment",
            absl::StrCat(make_system_error(error, "accepting a client").message(),
                         "; raise the publisher's limit on open files"));
}

void ControlServer::resume_accepting() {
  if (accept_again_ns_ == 0 || now_ns_ < accept_again_ns_) return;
  accept_again_ns_ = 0;
  set_interest(epoll_.get(), EPOLL_CTL_MOD, listener_.get(), EPOLLIN, kListenerId);
}

void ControlServer::expire_handshakes() {
  for (; !handshakes_.empty(); handshakes_.pop_front()) {
    ControlConnection* const connection = find(handshakes_.front().connection);
    if (connection == nullptr || connection->greeted()) continue;
    if (now_ns_ < handshakes_.front().deadline_ns) return;
    drop(*connection, DropReason::kHandshakeTimeout, Errc::kTimedOut,
         absl::StrCat("no Hello within ", kHandshakeNs / 1'000'000, " ms"));
  }
}

std::uint64_t ControlServer::next_deadline() const {
  std::uint64_t deadline = std::min(drops_.deadline_ns(), missing_.deadline_ns());
  if (!handshakes_.empty()) deadline = std::min(deadline, handshakes_.front().deadline_ns);
  if (accept_again_ns_ != 0) deadline = std::min(deadline, accept_again_ns_);
  return deadline;
}

ControlConnection* ControlServer::find(ConnectionId id) {
  const auto found = connections_.find(id);
  return found == connections_.end() || found->second.ended() ? nullptr : &found->second;
}

const ControlConnection* ControlServer::next_subscriber(ConnectionId from) const {
  for (auto it = connections_.lower_bound(from); it != connections_.end(); ++it) {
    if (it->second.is_subscriber() && !it->second.ended()) return &it->second;
  }
  return nullptr;
}

void ControlServer::count_subscriber(const ControlConnection& connection) {
  if (!connection.is_subscriber()) return;
  ++subscriber_count_;
  if (connection.may_park()) ++parking_count_;
}

void ControlServer::count_losses(std::uint64_t gaps, std::uint64_t lost) {
  gaps_reported_ += gaps;
  lost_reported_ += lost;
}

void ControlServer::note_missing() {
  for (const SubscriberInfoFrame& subscriber : missing_.take_overdue(now_ns_)) {
    EventInfoFrame event = event_of_missing(BusEventKind::kMissing, subscriber);
    const ProcessState state = state_of(process_of(subscriber, own_namespaces()));
    if (state != ProcessState::kUnknown) set_text(event.text, name_of(state));
    events_.add(event);
  }
}

std::size_t ControlServer::forget(bool all, const std::string& name,
                                  const ControlConnection& asker) {
  const std::vector<SubscriberInfoFrame> forgotten =
      all ? missing_.forget_all() : missing_.forget(name);
  for (const SubscriberInfoFrame& subscriber : forgotten) {
    EventInfoFrame event = event_of_missing(BusEventKind::kForgotten, subscriber);
    set_text(event.text, asker.description());
    events_.add(event);
  }
  return forgotten.size();
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
  note_drop(connection.event(BusEventKind::kDropped), reason, connection.description(), why);
  end(connection);
}

void ControlServer::end(ControlConnection& connection) {
  if (connection.ended()) return;
  if (connection.is_subscriber()) {
    --subscriber_count_;
    if (connection.may_park()) --parking_count_;
  }
  if (connection.attached()) events_.add(connection.event(BusEventKind::kDetached));
  flushes_waiting_ -= connection.flushes_waiting();
  // Closing alone does not remove it from epoll while another process holds the socket.
  epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, connection.fd(), nullptr);
  connection.close();
  ended_.push_back(connection.id());
}

// The first prune remains even if its client has disconnected, because it was announced. Its answer
// is discarded.
void ControlServer::erase_ended() {
  for (const ConnectionId id : std::exchange(ended_, {})) {
    connections_.erase(id);
    if (prunes_.empty()) continue;
    const auto is_its = [id](const WaitingPrune& prune) { return prune.connection == id; };
    prunes_.erase(std::remove_if(prunes_.begin() + 1, prunes_.end(), is_its), prunes_.end());
  }
}

}  // namespace lapwing
