// A subscriber's or a tool's end of the control socket.
//
// Thread safety: one thread. Owns the socket. No call blocks longer than its deadline, which is in
// ns of CLOCK_MONOTONIC.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "bus/control/socket.h"
#include "proto/control_frames.h"
#include "proto/ring_layout.h"

namespace lapwing {

struct ClientOptions {
  std::string path;  // of the socket
  ClientRole role = ClientRole::kSubscriber;
  std::string name;  // shown by `lapwing subscribers`: 63 bytes of UTF-8
  bool may_park = false;
  bool observes = false;  // its gaps and losses do not count in the bus's totals
};

// The answer to a flush request.
struct FlushAnswer {
  bool ok = false;  // false: the journal has failed or does not exist, and `durable` is frozen
  Sequence durable = 0;
  int sys_errno = 0;  // of the journal's failure
  JournalState journal = JournalState::kGood;
};

class ControlClient {
 public:
  // Connects and performs the handshake. Errors: those of connect_control, kRefused with the
  // publisher's reason, kAbiMismatch (also if there is no common version of the control protocol),
  // kTimedOut, kPublisherGone, kProtocol.
  static absl::StatusOr<ControlClient> connect(const ClientOptions& options,
                                               std::uint64_t deadline_ns);

  // The same in two steps that never wait. After begin(), call welcomed() whenever fd() is
  // readable, until it returns true.
  static absl::StatusOr<ControlClient> begin(const ClientOptions& options);
  absl::StatusOr<bool> welcomed();

  ControlClient(ControlClient&&) = default;
  ControlClient& operator=(ControlClient&&) = default;

  const WelcomeFrame& welcome() const { return welcome_; }
  // Returns whether the publisher refused this client because its client limit was reached.
  bool is_full() const { return is_full_; }
  int fd() const { return fd_.get(); }

  // Requests that everything up to `through` become durable. Waits for the answer until
  // deadline_ns. Errors: kTimedOut (a later flush ignores the late answer), kPublisherGone,
  // kRefused, kProtocol.
  absl::StatusOr<FlushAnswer> flush(Sequence through, std::uint64_t deadline_ns);
  // The same in two steps that never wait. flush_answer() returns the answer to the last
  // begin_flush(), or nullopt if it has not arrived.
  absl::Status begin_flush(Sequence through);
  absl::StatusOr<std::optional<FlushAnswer>> flush_answer();

  // Reports this subscriber's position to the publisher. Never blocks; if the socket is full, the
  // report is dropped.
  void report(const ReportFrame& report);
  // The same for the ages of records. Not sent to a publisher that does not support it.
  void report(const LatencyReportFrame& latency);

  // Returns true once the publisher's end of the socket is closed. Never blocks. Discards late
  // answers.
  bool publisher_gone();

  struct SubscriberList {
    std::vector<SubscriberInfoFrame> subscribers;
    std::map<std::size_t, LatencyReportFrame> latencies;  // by index in `subscribers`
    EndOfListFrame end;
  };
  struct EventList {
    std::vector<EventInfoFrame> events;
    EndOfEventsFrame end;
  };
  // Errors: as for flush. prune() also returns errors from the publisher, such as kNotPermitted,
  // kNoJournal, and kLimit while an earlier prune by this client is under way.
  absl::StatusOr<SubscriberList> list_subscribers(std::uint64_t deadline_ns);
  // Returns the events with a number above `after`. kUnsupported: the publisher's release does not
  // support events.
  absl::StatusOr<EventList> list_events(std::uint64_t after, std::uint64_t deadline_ns);
  absl::StatusOr<Sequence> prune(Sequence below, std::uint64_t deadline_ns);
  // Removes missing subscribers from the publisher's list: those with that name, or all of them.
  // Returns the number removed. Errors: as for flush; kNotPermitted unless this user is the bus's
  // owner or root; kUnsupported if the publisher's release does not keep such a list.
  absl::StatusOr<std::uint64_t> forget(const std::string& name, std::uint64_t deadline_ns);
  absl::StatusOr<std::uint64_t> forget_all(std::uint64_t deadline_ns);

 private:
  ControlClient(UniqueFd fd, std::string path) : fd_(std::move(fd)), path_(std::move(path)) {}

  absl::Status say_hello(const ClientOptions& options, std::uint64_t deadline_ns);
  absl::Status take_welcome(std::uint64_t deadline_ns);
  absl::StatusOr<std::uint64_t> forget(ForgetFrame ask, std::uint64_t deadline_ns);
  absl::Status ask_flush(Sequence through, std::uint64_t deadline_ns);
  absl::StatusOr<FlushAnswer> take_flush_answer(std::uint64_t deadline_ns);
  absl::Status send(std::span<const std::byte> frame, std::uint64_t deadline_ns);
  absl::StatusOr<FrameType> receive(Packet& packet, std::uint64_t deadline_ns);
  absl::StatusOr<FrameType> receive_answer(Packet& packet, std::uint64_t tag,
                                           std::uint64_t deadline_ns);
  absl::Status wait_for(short events, std::uint64_t deadline_ns);
  absl::Status no_answer() const;
  absl::Status gone() const;
  absl::Status violation(FrameType type) const;
  absl::Status refusal(const RefusedFrame& refused);

  UniqueFd fd_;
  std::string path_;
  bool is_full_ = false;
  WelcomeFrame welcome_{};
  std::uint64_t tag_ = 0;        // of the last request
  std::uint64_t flush_tag_ = 0;  // of the last flush
};

}  // namespace lapwing
