// One client as its connection presents it: credentials from the kernel, Hello, and last reports.
//
// Thread safety: one thread. Time is passed in.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "os/local_socket.h"
#include "proto/control_frames.h"

namespace lapwing {

struct Losses {
  std::uint64_t gaps = 0;
  std::uint64_t lost = 0;  // records
};

class ClientProfile {
 public:
  // A client that connects at `now_ns`.
  ClientProfile(const PeerCredentials& peer, std::uint64_t now_ns);

  // Stores its Hello, whose role must be valid.
  void greet(const HelloFrame& hello);
  // Marks it as a subscriber that the server serves.
  void attach();
  // Stores a report. Returns the losses since the last report, or since connecting; none if the
  // client only observes.
  Losses update(const ReportFrame& report, std::uint64_t now_ns);
  void update(const LatencyReportFrame& latency);

  const PeerCredentials& peer() const { return peer_; }
  std::uint32_t pid() const { return pid_; }
  std::uint64_t process_start() const { return process_start_; }
  const std::string& name() const { return name_; }
  bool greeted() const { return stage_ != Stage::kConnected; }
  bool attached() const { return stage_ == Stage::kAttached; }
  bool is_subscriber() const { return greeted() && role_ == ClientRole::kSubscriber; }
  bool may_park() const { return may_park_; }
  bool observes() const { return observes_; }
  // The last reported ages of records; nullopt if the client measures none.
  const std::optional<LatencyReportFrame>& latency() const { return latency_; }

  SubscriberInfoFrame info(std::uint64_t now_ns) const;
  // An event of this client, with the contents of its last report.
  EventInfoFrame event(BusEventKind kind) const;
  // "name (pid 12, user 1000)", for the log.
  std::string description() const;

 private:
  enum class Stage { kConnected, kGreeted, kAttached };

  PeerCredentials peer_;
  std::uint64_t connected_wall_ns_;
  Stage stage_ = Stage::kConnected;
  std::string name_;
  ClientRole role_ = ClientRole::kTool;
  bool may_park_ = false;
  bool observes_ = false;
  std::uint32_t pid_;
  std::uint64_t process_start_ = 0;  // as of ProcessIdentity
  ReportFrame report_{};
  std::uint64_t reported_wall_ns_ = 0;  // 0: no report yet
  std::uint64_t heard_ns_;              // of the last report or of connecting, CLOCK_MONOTONIC
  std::optional<LatencyReportFrame> latency_;
};

}  // namespace lapwing
