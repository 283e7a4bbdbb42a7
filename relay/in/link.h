// The connection of relay in: one transport at a time, made again after a loss.
//
// A lost connection is made again after a random time, which grows with each failure, so that many
// mirrors do not return to a server at the same moment.
//
// A machine without a clock: times are nanoseconds of any clock that does not go backwards.
//
// Thread safety: one thread.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "relay/transport.h"

namespace lapwing {

using ConnectRelay = std::function<absl::StatusOr<std::unique_ptr<RelayTransport>>()>;

class RelayLink {
 public:
  static constexpr std::uint64_t kPauseNsMin = 20'000'000;
  static constexpr std::uint64_t kPauseNsMax = 2'000'000'000;
  static constexpr std::uint64_t kCutsWindowNs = 60'000'000'000;

  // `seed`: for the random times.
  RelayLink(ConnectRelay connect, std::uint64_t seed)
      : connect_(std::move(connect)), random_(seed) {}

  // Connects if it is time to. True: there is a new connection.
  bool try_connect(std::uint64_t now_ns);
  RelayTransport* transport() { return transport_.get(); }
  bool is_connected() const { return transport_ != nullptr; }
  // The connection is lost, or of no use.
  void lose(const absl::Status& why, std::uint64_t now_ns);
  // Ends a connection that is not needed now. It is not counted.
  void close(std::uint64_t now_ns);
  // Why there is no connection; empty: there is one.
  const std::string& reason() const { return reason_; }
  // An error that another attempt does not change: wrong options or credentials.
  const absl::Status& refusal() const { return refusal_; }

  std::size_t cuts(std::uint64_t now_ns) const;  // in the last kCutsWindowNs
  std::uint64_t cuts_total() const { return cuts_total_; }
  std::uint64_t dropped() const;  // by the inboxes of all connections
  std::optional<std::uint64_t> next_due_ns() const;

 private:
  std::uint64_t pause_ns();

  const ConnectRelay connect_;
  std::uint64_t random_;
  std::unique_ptr<RelayTransport> transport_;
  std::string reason_ = "not connected yet";
  absl::Status refusal_;
  std::uint64_t due_ns_ = 0;
  std::uint32_t failures_ = 0;
  std::deque<std::uint64_t> cuts_;  // when
  std::uint64_t cuts_total_ = 0;
  std::uint64_t dropped_ = 0;
};

}  // namespace lapwing
