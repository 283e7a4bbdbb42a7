// For tests of relay transports: texts as messages, and what arrives.
//
// Thread safety: free functions.
#pragma once

#include <catch2/catch.hpp>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <ostream>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "relay/transport.h"
#include "testing/far_deadline.h"

namespace lapwing {

inline std::span<const std::byte> message(std::string_view text) {
  return std::as_bytes(std::span(text));
}
inline std::string text_of(std::span<const std::byte> bytes) {
  return std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

inline std::ostream& operator<<(std::ostream& out, RelayArrivalKind kind) {
  return out << static_cast<std::uint32_t>(kind);
}
inline std::ostream& operator<<(std::ostream& out, RelayAckResult result) {
  return out << name_of(result);
}
inline std::ostream& operator<<(std::ostream& out, RelaySubject subject) {
  return out << name_of(subject);
}

// A copy of a RelayArrival.
struct Arrived {
  RelayArrivalKind kind{};
  RelaySubject subject{};
  std::string text;
  std::string reply_to;
  RelayAskId ask = 0;
  std::uint64_t stream_sequence = 0;
  std::uint64_t stream_pending = 0;
};

inline std::optional<Arrived> try_take(RelayTransport& transport, Deadline deadline) {
  const auto taken = transport.take(deadline);
  INFO(taken.status().ToString());
  REQUIRE(taken.ok());
  if (!*taken) return std::nullopt;
  const RelayArrival& arrival = **taken;
  const bool has_reason = arrival.kind == RelayArrivalKind::kReadEnded;
  return Arrived{arrival.kind,
                 arrival.subject,
                 has_reason ? std::string(arrival.reason) : text_of(arrival.message),
                 std::string(arrival.reply_to),
                 arrival.ask,
                 arrival.stream_sequence,
                 arrival.stream_pending};
}
inline Arrived take(RelayTransport& transport) {
  std::optional<Arrived> arrived = try_take(transport, kHang);
  REQUIRE(arrived);
  return *std::move(arrived);
}

inline RelayAck take_ack(RelayTransport& transport) {
  const Deadline hang = kHang;
  while (!hang.has_passed()) {
    if (std::optional<RelayAck> ack = transport.take_ack()) return *ack;
    wait_readable(transport.fd(), 50 * kNsPerMs);
  }
  FAIL("no ack");
  return {};
}

inline void listen(RelayTransport& transport, std::vector<RelaySubject> subjects) {
  const absl::Status status = transport.listen(subjects);
  INFO(status.ToString());
  REQUIRE(status.ok());
}

}  // namespace lapwing
