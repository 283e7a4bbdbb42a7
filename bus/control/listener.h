// The listening end of a control socket: its descriptor, its name, and its pauses in accepting.
//
// Thread safety: one thread. Owns the descriptor and the name. Time is passed in.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "os/named_file.h"
#include "os/unique_fd.h"

namespace lapwing {

inline constexpr std::uint64_t kListenerTag = 0;  // in epoll's data

class ControlListener {
 public:
  ControlListener() = default;  // closed
  ~ControlListener() { close(); }
  ControlListener(const ControlListener&) = delete;
  ControlListener& operator=(const ControlListener&) = delete;

  // Listens on `path`. `epoll` must outlive the listener and reports new clients under kListenerTag.
  // Errors: those of listen_control; kSystem.
  absl::Status open(const std::string& path, std::optional<unsigned> group, int epoll);
  bool closed() const { return !socket_.valid(); }
  // Removes the socket's name, if it is still ours, and drops the waiting clients. Idempotent.
  void close();

  // Returns the next client; invalid, with errno set, if there is none.
  UniqueFd accept();
  // Ignores new clients for kAcceptPauseNs.
  void pause(std::uint64_t now_ns);
  void resume_if_due(std::uint64_t now_ns);
  // When a pause ends; UINT64_MAX if there is none.
  std::uint64_t deadline_ns() const { return resumes_at_ns_; }

 private:
  bool watch(int operation, std::uint32_t events);

  UniqueFd socket_;
  std::optional<NamedFile> name_;
  int epoll_ = -1;
  std::uint64_t resumes_at_ns_ = UINT64_MAX;
};

}  // namespace lapwing
