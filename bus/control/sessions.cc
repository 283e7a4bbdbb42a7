#include "bus/control/sessions.h"

#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "absl/strings/str_cat.h"
#include "os/system_error.h"
#include "proto/ring_layout.h"
#include "proto/text_field.h"

namespace lapwing {
namespace {

// The work of one turn. epoll hands out ready sockets in rotation, so a client that always has more
// to say waits for all others in between.
constexpr int kEventsPerTurn = 16;
constexpr int kAcceptsPerTurn = 4;

// Descriptors that clients leave to the rest of the process: a publisher that cannot open its next
// segment would lose its journal.
constexpr std::size_t kDescriptorsReserved = 256;
constexpr std::size_t kClientsAlways = 16;  // however few descriptors there are

// A member of the group gets this part of the clients' limit, so that none can lock out the others.
constexpr std::size_t kUserParts = 2;

// Room in the kernel for frames that a client does not read: 1,024 such clients cost the publisher
// 64 MiB (the kernel doubles the figure), not the default's 208 MiB.
constexpr int kSendBufferBytes = 32 * 1024;

constexpr SessionId kListenerId = 0;  // as epoll's data; sessions start at 1

std::size_t clients_max() {
  rlimit descriptors{};
  if (getrlimit(RLIMIT_NOFILE, &descriptors) != 0) return kClientsMax;
  if (descriptors.rlim_cur >= kClientsMax + kDescriptorsReserved) return kClientsMax;
  if (descriptors.rlim_cur <= kClientsAlways + kDescriptorsReserved) return kClientsAlways;
  return descriptors.rlim_cur - kDescriptorsReserved;
}

RefusedFrame refused_frame(Errc code, const std::string& why) {
  RefusedFrame frame = make_frame<RefusedFrame>(FrameType::kRefused);
  frame.error = static_cast<std::uint32_t>(code);
  frame.abi_version = kAbiVersion;
  set_text(frame.message, why);
  return frame;
}

bool set_interest(int epoll, int operation, int fd, std::uint32_t events, SessionId id) {
  epoll_event event{};
  event.events = events;
  event.data.u64 = id;
  return epoll_ctl(epoll, operation, fd, &event) == 0;
}

}  // namespace

absl::StatusOr<std::unique_ptr<ControlSessions>> ControlSessions::listen(
    const std::string& path, std::optional<unsigned> group, DropLog::Sink log) {
  std::unique_ptr<ControlSessions> sessions(new ControlSessions(path, group, std::move(log)));
  if (absl::Status status = sessions->open(); !status.ok()) return status;
  return sessions;
}

absl::Status ControlSessions::open() {
  epoll_.reset(epoll_create1(EPOLL_CLOEXEC));
  if (!epoll_.valid()) return make_system_error(errno, "making the control socket's epoll");
  absl::StatusOr<UniqueFd> listener = listen_control(path_, group_ ? 0660 : 0600, group_);
  if (!listener.ok()) return listener.status();
  listener_ = *std::move(listener);
  struct stat name{};
  if (lstat(path_.c_str(), &name) != 0) {
    return make_system_error(errno, absl::StrCat("looking at the control socket ", path_));
  }
  name_device_ = name.st_dev;
  name_inode_ = name.st_ino;
  if (!set_interest(epoll_.get(), EPOLL_CTL_ADD, listener_.get(), EPOLLIN, kListenerId)) {
    return make_system_error(errno, absl::StrCat("watching the control socket ", path_));
  }
  return absl::OkStatus();
}

void ControlSessions::close() {
  if (closed()) return;
  struct stat name{};
  // The name goes first, so that nobody finds one that nobody listens on.
  if (lstat(path_.c_str(), &name) == 0 && name.st_dev == name_device_ &&
      name.st_ino == name_inode_) {
    unlink(path_.c_str());
  }
  shutdown(listener_.get(), SHUT_RDWR);  // also for a forked child that holds it
  listener_.reset();
  for (auto& [id, session] : sessions_) end(session);
  handshakes_.clear();
}

std::uint64_t ControlSessions::turn(std::uint64_t now_ns, const Serve& serve) {
  now_ns_ = now_ns;
  resume_accepting();
  epoll_event events[kEventsPerTurn];
  const int ready = epoll_wait(epoll_.get(), events, kEventsPerTurn, 0);
  for (int i = 0; i < ready; ++i) {
    const epoll_event event = events[i];
    if (event.data.u64 == kListenerId) {
      accept_clients();
    } else if (ControlSession* const session = find(event.data.u64)) {
      // A hang-up or an error shows in reading.
      serve(*session,
            {(event.events & ~std::uint32_t{EPOLLOUT}) != 0, (event.events & EPOLLOUT) != 0});
    }
  }
  expire_handshakes();
  drops_.catch_up(now_ns);
  return next_deadline();
}

void ControlSessions::accept_clients() {
  for (int i = 0; i < kAcceptsPerTurn; ++i) {
    UniqueFd fd(accept4(listener_.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (fd.valid()) {
      admit(std::move(fd));
    } else if (errno == EAGAIN) {
      return;
    } else if (errno != EINTR && errno != ECONNABORTED) {
      return pause_accepting(errno);
    }
  }
}

void ControlSessions::admit(UniqueFd fd) {
  const absl::StatusOr<PeerCredentials> peer = peer_credentials(fd.get());
  if (!peer.ok()) return;  // nobody to refuse
  if (!allowed(fd.get(), *peer)) {
    return refuse(fd.get(), *peer, DropReason::kPeerNotAllowed, Errc::kNotPermitted,
                  "only the bus's owner, root and members of the bus's group may connect");
  }
  if (const std::size_t limit = clients_max(); sessions_.size() >= limit) {
    return refuse(
        fd.get(), *peer, DropReason::kTooManyClients, Errc::kLimit,
        absl::StrCat("the publisher has ", limit, " clients, its limit (at most ", kClientsMax,
                     ", and ", kDescriptorsReserved, " less than its limit on open files)"));
  }
  if (const std::size_t limit = clients_max() / kUserParts;
      !is_owner(*peer) && count_of_user(peer->uid) >= limit) {
    return refuse(fd.get(), *peer, DropReason::kTooManyClients, Errc::kLimit,
                  absl::StrCat("user ", peer->uid, " has ", limit,
                               " clients already, the limit for a user other than the bus's owner "
                               "and root"));
  }
  setsockopt(fd.get(), SOL_SOCKET, SO_SNDBUF, &kSendBufferBytes, sizeof kSendBufferBytes);
  if (!set_interest(epoll_.get(), EPOLL_CTL_ADD, fd.get(), EPOLLIN, next_id_)) {
    return pause_accepting(errno);
  }
  const SessionId id = next_id_++;
  sessions_.try_emplace(id, id, std::move(fd), *peer);
  handshakes_.push_back({id, now_ns_ + kHandshakeNs});
}

bool ControlSessions::allowed(int fd, const PeerCredentials& peer) const {
  if (is_owner(peer)) return true;
  return group_ && peer_in_group(fd, peer, *group_);
}

bool ControlSessions::is_owner(const PeerCredentials& peer) {
  return peer.uid == geteuid() || peer.uid == 0;
}

std::size_t ControlSessions::count_of_user(uid_t uid) const {
  return static_cast<std::size_t>(std::ranges::count_if(
      sessions_, [uid](const auto& entry) { return entry.second.peer().uid == uid; }));
}

void ControlSessions::refuse(int fd, const PeerCredentials& peer, DropReason reason, Errc code,
                             const std::string& why) {
  send_frame(fd, refused_frame(code, why));
  drops_.add(reason, absl::StrCat("pid ", peer.pid, ", user ", peer.uid), why, now_ns_);
}

// Until a descriptor is free the listener stays readable; watching it would burn a core.
void ControlSessions::pause_accepting(int error) {
  set_interest(epoll_.get(), EPOLL_CTL_MOD, listener_.get(), 0, kListenerId);
  accept_again_ns_ = now_ns_ + kAcceptPauseNs;
  drops_.add(DropReason::kOutOfDescriptors, "for a moment whoever connects",
             absl::StrCat(make_system_error(error, "accepting a client").message(),
                          "; raise the publisher's limit on open files"),
             now_ns_);
}

void ControlSessions::resume_accepting() {
  if (accept_again_ns_ == 0 || now_ns_ < accept_again_ns_) return;
  accept_again_ns_ = 0;
  set_interest(epoll_.get(), EPOLL_CTL_MOD, listener_.get(), EPOLLIN, kListenerId);
}

void ControlSessions::expire_handshakes() {
  for (; !handshakes_.empty(); handshakes_.pop_front()) {
    ControlSession* const session = find(handshakes_.front().session);
    if (session == nullptr || session->greeted()) continue;
    if (now_ns_ < handshakes_.front().deadline_ns) return;
    drop(*session, DropReason::kHandshakeTimeout, Errc::kTimedOut,
         absl::StrCat("no Hello within ", kHandshakeNs / 1'000'000, " ms"));
  }
}

std::uint64_t ControlSessions::next_deadline() const {
  std::uint64_t deadline = drops_.deadline_ns();
  if (!handshakes_.empty()) deadline = std::min(deadline, handshakes_.front().deadline_ns);
  if (accept_again_ns_ != 0) deadline = std::min(deadline, accept_again_ns_);
  return deadline;
}

ControlSession* ControlSessions::find(SessionId id) {
  const auto found = sessions_.find(id);
  return found == sessions_.end() || found->second.ended() ? nullptr : &found->second;
}

const ControlSession* ControlSessions::next_subscriber(SessionId from) const {
  for (auto it = sessions_.lower_bound(from); it != sessions_.end(); ++it) {
    if (it->second.is_subscriber() && !it->second.ended()) return &it->second;
  }
  return nullptr;
}

void ControlSessions::greet(ControlSession& session, const HelloFrame& hello) {
  session.greet(hello);
  if (!session.is_subscriber()) return;
  ++subscriber_count_;
  if (session.may_park()) ++parking_count_;
}

void ControlSessions::post(ControlSession& session, std::span<const std::byte> frame) {
  switch (session.post(frame)) {
    case ControlSession::Post::kDone:
      return watch(session);
    case ControlSession::Post::kClosed:
      return end(session);
    case ControlSession::Post::kQueueFull:
      return drop(session, DropReason::kQueueFull, Errc::kLimit,
                  absl::StrCat("more than ", kFramesQueuedMax, " answers were not read"));
  }
}

void ControlSessions::watch(ControlSession& session) {
  if (session.ended() || session.wants_writable() == session.watched_for_writing) return;
  session.watched_for_writing = session.wants_writable();
  const std::uint32_t events = session.watched_for_writing ? EPOLLIN | EPOLLOUT : EPOLLIN;
  set_interest(epoll_.get(), EPOLL_CTL_MOD, session.fd(), events, session.id());
}

void ControlSessions::drop(ControlSession& session, DropReason reason, Errc code,
                           const std::string& why) {
  send_frame(session.fd(), refused_frame(code, why));
  drops_.add(reason, session.description(), why, now_ns_);
  end(session);
}

void ControlSessions::end(ControlSession& session) {
  if (session.ended()) return;
  if (session.is_subscriber()) {
    --subscriber_count_;
    if (session.may_park()) --parking_count_;
  }
  // Closing alone would not do it while a forked child holds the descriptor.
  epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, session.fd(), nullptr);
  session.close();
  ended_.push_back(session.id());
}

std::vector<SessionId> ControlSessions::erase_ended() {
  for (const SessionId id : ended_) sessions_.erase(id);
  return std::exchange(ended_, {});
}

}  // namespace lapwing
