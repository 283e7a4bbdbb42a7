// A subscriber's or a tool's end of the control socket.
//
// Thread safety: one thread. Owns the socket. No call blocks longer than its deadline.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "bus/control_socket.h"
#include "proto/control_frames.h"

namespace lapwing {

struct ClientOptions {
  std::string path;  // of the socket
  ClientRole role = ClientRole::kSubscriber;
  std::string name;  // shown by `lapwing subscribers`
  bool may_park = false;
};

// The answer to a flush request.
struct FlushAnswer {
  bool ok = false;        // false: the journal has failed, `durable` is frozen
  Sequence durable = 0;
  int sys_errno = 0;
};

class ControlClient {
 public:
  // Connects and shakes hands. Errors: those of connect_control, kRefused with the publisher's
  // reason, kAbiMismatch, kTimedOut, kProtocol.
  static absl::StatusOr<ControlClient> connect(const ClientOptions& options,
                                               std::uint64_t deadline_ns);

  ControlClient(ControlClient&&) = default;
  ControlClient& operator=(ControlClient&&) = default;

  const WelcomeFrame& welcome() const { return welcome_; }
  int fd() const { return fd_.get(); }

  // Asks for everything up to `through` to be durable and waits for the answer until deadline_ns.
  // Errors: kTimedOut, kPublisherGone, kProtocol.
  absl::StatusOr<FlushAnswer> flush(Sequence through, std::uint64_t deadline_ns);

  // Tells the publisher where this subscriber is. Never blocks; a full socket drops the report.
  void report(const ReportFrame& report);

  // True once the publisher's end of the socket is closed. Never blocks; ignores late answers.
  bool publisher_gone();

  struct SubscriberList {
    std::vector<SubscriberInfoFrame> subscribers;
    EndOfListFrame end;
  };
  absl::StatusOr<SubscriberList> list_subscribers(std::uint64_t deadline_ns);
  absl::StatusOr<Sequence> prune(Sequence below, std::uint64_t deadline_ns);

 private:
  ControlClient(UniqueFd fd, const WelcomeFrame& welcome) : fd_(std::move(fd)), welcome_(welcome) {}
  UniqueFd fd_;
  WelcomeFrame welcome_;
  std::uint64_t next_tag_ = 1;
};

}  // namespace lapwing
