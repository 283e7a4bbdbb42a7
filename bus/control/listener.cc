#include "bus/control/listener.h"

#include <sys/epoll.h>
#include <sys/socket.h>

#include <cerrno>
#include <utility>

#include "absl/strings/str_cat.h"
#include "bus/control/socket.h"
#include "os/foreign_socket.h"
#include "os/system_error.h"
#include "proto/control_frames.h"

namespace lapwing {

absl::Status ControlListener::open(const std::string& path, std::optional<unsigned> group,
                                   int epoll) {
  absl::StatusOr<UniqueFd> socket = listen_control(path, group ? 0660 : 0600, group);
  if (!socket.ok()) return socket.status();
  socket_ = *std::move(socket);
  absl::StatusOr<NamedFile> name = NamedFile::at(path);
  if (!name.ok()) return name.status();
  name_ = *std::move(name);
  epoll_ = epoll;
  if (!watch(EPOLL_CTL_ADD, EPOLLIN)) {
    return make_system_error(errno, absl::StrCat("watching the control socket ", path));
  }
  return absl::OkStatus();
}

void ControlListener::close() {
  if (closed()) return;
  // Remove the name first, so that no client finds the name of a closed socket.
  if (name_) name_->unlink().IgnoreError();
  // Also ends the socket for other processes that hold it: ClientSocket::close().
  close_listening(std::move(socket_));
}

UniqueFd ControlListener::accept() {
  return UniqueFd::opened_by(
      [&] { return accept4(socket_.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC); });
}

// The listener stays readable until a descriptor is free; watching it would burn a core.
void ControlListener::pause(std::uint64_t now_ns) {
  watch(EPOLL_CTL_MOD, 0);
  resumes_at_ns_ = now_ns + kAcceptPauseNs;
}

void ControlListener::resume_if_due(std::uint64_t now_ns) {
  if (now_ns < resumes_at_ns_) return;
  resumes_at_ns_ = UINT64_MAX;
  watch(EPOLL_CTL_MOD, EPOLLIN);
}

bool ControlListener::watch(int operation, std::uint32_t events) {
  epoll_event event{};
  event.events = events;
  event.data.u64 = kListenerTag;
  return epoll_ctl(epoll_, operation, socket_.get(), &event) == 0;
}

}  // namespace lapwing
