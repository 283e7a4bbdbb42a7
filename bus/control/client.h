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
  bool observes = false;  // its gaps and losses do not count as the bus's
};

// The answer to a flush request.
struct FlushAnswer {
  bool ok = false;  // false: the journal has failed or there is none, `durable` is frozen
  Sequence durable = 0;
  int sys_errno = 0;  // of the journal's failure
  JournalState journal = JournalState::kGood;
};

class ControlClient {
 public:
  // Connects and shakes hands. Errors: those of connect_control, kRefused with the publisher's
  // reason, kAbiMismatch (also if the two have no version of the control protocol in common),
  // kTimedOut, kPublisherGone, kProtocol.
  static absl::StatusOr<ControlClient> connect(const ClientOptions& options,
                                               std::uint64_t deadline_ns);

  // The same in two steps that never wait. After begin(), welcomed() is called until it is true;
  // fd() becomes readable when it is worth calling.
  static absl::StatusOr<ControlClient> begin(const ClientOptions& options);
  absl::StatusOr<bool> welcomed();

  ControlClient(ControlClient&&) = default;
  ControlClient& operator=(ControlClient&&) = default;

  const WelcomeFrame& welcome() const { return welcome_; }
  // It was refused because the publisher has as many clients as it may.
  bool is_full() const { return is_full_; }
  int fd() const { return fd_.get(); }

  // Asks for everything up to `through` to be durable and waits for the answer until deadline_ns.
  // Errors: kTimedOut (a later flush ignores the late answer), kPublisherGone, kRefused, kProtocol.
  absl::StatusOr<FlushAnswer> flush(Sequence through, std::uint64_t deadline_ns);
  // The same in two steps that never wait: the answer to the last begin_flush(), once it is there.
  absl::Status begin_flush(Sequence through);
  absl::StatusOr<std::optional<FlushAnswer>> flush_answer();

  // Tells the publisher where this subscriber is. Never blocks; a full socket drops the report.
  void report(const ReportFrame& report);
  // The same of the ages of records; a publisher that does not know them hears nothing.
  void report(const LatencyReportFrame& latency);

  // True once the publisher's end of the socket is closed. Never blocks; drains and ignores late
  // answers.
  bool publisher_gone();

  struct SubscriberList {
    std::vector<SubscriberInfoFrame> subscribers;
    std::map<std::size_t, LatencyReportFrame> latencies;  // of subscribers[i]
    EndOfListFrame end;
  };
  struct EventList {
    std::vector<EventInfoFrame> events;
    EndOfEventsFrame end;
  };
  // Errors: as for flush; prune also the publisher's own, such as kNotPermitted, kNoJournal, and
  // kLimit while an earlier prune of this client is under way.
  absl::StatusOr<SubscriberList> list_subscribers(std::uint64_t deadline_ns);
  // Those with a number above `after`. kUnsupported: the publisher is of a release before events.
  absl::StatusOr<EventList> list_events(std::uint64_t after, std::uint64_t deadline_ns);
  absl::StatusOr<Sequence> prune(Sequence below, std::uint64_t deadline_ns);
  // Removes missing subscribers from the publisher's list: those of that name, or all of them.
  // Returns how many. Errors: as for flush; kNotPermitted unless this user is the bus's owner or
  // root; kUnsupported if the publisher is of a release that keeps no such list.
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
