// Who is connected to the control server: accepting, admission, limits, refusals and drops. What is
// said is the server's business (server.cc).
//
// Thread safety: one thread. Owns the listening socket, its name, the epoll and every client's
// socket.
//
// Invariants
//  1. A session that ends is closed at once but erased only by erase_ended(), so a reference stays
//     valid for as long as a frame of it is being handled.
//  2. An id is never reused: an event or an answer for a session that has ended finds nobody.
//  3. A turn does a bounded amount of work; what is left keeps epoll_fd() readable.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "bus/control/drop_log.h"
#include "bus/control/session.h"
#include "bus/control/socket.h"
#include "lapwing/error.h"

namespace lapwing {

class ControlSessions {
 public:
  // Errors: those of listen_control; kSystem without epoll.
  static absl::StatusOr<std::unique_ptr<ControlSessions>> listen(const std::string& path,
                                                                 std::optional<unsigned> group,
                                                                 DropLog::Sink log);
  ~ControlSessions() { close(); }
  ControlSessions(const ControlSessions&) = delete;
  ControlSessions& operator=(const ControlSessions&) = delete;

  int epoll_fd() const { return epoll_.get(); }
  bool closed() const { return !listener_.valid(); }
  // Removes the socket's name, if it is still ours, and closes every session.
  void close();

  struct Readiness {
    bool readable;
    bool writable;
  };
  using Serve = std::function<void(ControlSession& session, Readiness readiness)>;
  // Accepts who waits, hands the sessions that are ready to `serve`, refuses who owes a Hello for
  // too long. Returns the time of the next deadline, UINT64_MAX if there is none.
  std::uint64_t turn(std::uint64_t now_ns, const Serve& serve);

  // The session, unless it has ended.
  ControlSession* find(SessionId id);
  // The first subscriber with an id of at least `from`; null: none.
  const ControlSession* next_subscriber(SessionId from) const;
  SessionId next_id() const { return next_id_; }
  // Of the bus, or root: the kernel's word, not the client's.
  static bool is_owner(const PeerCredentials& peer);

  void greet(ControlSession& session, const HelloFrame& hello);
  bool admit_frame(ControlSession& session) { return session.admit_frame(now_ns_); }
  // Sends or queues a frame; drops a client that reads too little.
  void post(ControlSession& session, std::span<const std::byte> frame);
  // Makes epoll look for writability exactly while the session wants to write.
  void watch(ControlSession& session);
  // Tells the client why, as far as its socket takes it, and ends it.
  void drop(ControlSession& session, DropReason reason, Errc code, const std::string& why);
  void end(ControlSession& session);
  // Forgets the sessions that have ended; returns their ids.
  std::vector<SessionId> erase_ended();

  std::size_t subscriber_count() const { return subscriber_count_; }
  std::size_t parking_count() const { return parking_count_; }
  const DropLog& drops() const { return drops_; }

 private:
  struct Handshake {
    SessionId session;
    std::uint64_t deadline_ns;
  };

  ControlSessions(const std::string& path, std::optional<unsigned> group, DropLog::Sink log)
      : path_(path), group_(group), drops_(std::move(log)) {}
  absl::Status open();
  void accept_clients();
  void admit(UniqueFd fd);
  bool allowed(int fd, const PeerCredentials& peer) const;
  std::size_t count_of_user(uid_t uid) const;
  void refuse(int fd, const PeerCredentials& peer, DropReason reason, Errc code,
              const std::string& why);
  void pause_accepting(int error);
  void resume_accepting();
  void expire_handshakes();
  std::uint64_t next_deadline() const;

  std::string path_;
  std::optional<unsigned> group_;
  DropLog drops_;
  UniqueFd epoll_;
  UniqueFd listener_;  // invalid once closed
  dev_t name_device_ = 0;
  ino_t name_inode_ = 0;

  std::map<SessionId, ControlSession> sessions_;
  SessionId next_id_ = 1;
  std::vector<SessionId> ended_;      // to be erased
  std::deque<Handshake> handshakes_;  // who owes a Hello, the longest first
  std::size_t subscriber_count_ = 0;
  std::size_t parking_count_ = 0;
  std::uint64_t now_ns_ = 0;           // of the current or last turn
  std::uint64_t accept_again_ns_ = 0;  // 0: accepting
};

}  // namespace lapwing
