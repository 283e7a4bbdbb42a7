// For tests: transports to a server of the test.
//
// Thread safety: free functions.
#pragma once

#include <catch2/catch.hpp>
#include <memory>
#include <string>
#include <utility>

#include "lapwing/error.h"
#include "relay/names.h"
#include "relay/nats/connect.h"
#include "testing/nats_server.h"
#include "testing/relay_fixture.h"
#include "testing/skip.h"

#define LAPWING_NEED_NATS_SERVER()                                     \
  if (NatsServer::program().empty())                                   \
  LAPWING_SKIP(                                                        \
      "nats-server is not installed: apt install nats-server, or set " \
      "LAPWING_NATS_SERVER")

namespace lapwing {

// A name that has to be escaped.
inline RelayNames test_names() {
  return relay_names("es mdp.3").value();
}

// `user`: NAME:PASSWORD, or empty.
inline NatsOptions options_for(const NatsServer& server, const std::string& user = {}) {
  NatsOptions options;
  options.urls = "nats://" + user + (user.empty() ? "" : "@") + server.address();
  options.client_name = "lapwing-test";
  return options;
}

inline std::unique_ptr<RelayTransport> connected(const NatsOptions& options) {
  auto transport = connect_nats(options, test_names(), kHang);
  INFO(transport.status().ToString());
  REQUIRE(transport.ok());
  return *std::move(transport);
}
inline std::unique_ptr<RelayTransport> connected(const NatsServer& server) {
  return connected(options_for(server));
}
// Why there is no connection.
inline absl::Status refusal(const NatsOptions& options, Deadline deadline = kHang) {
  const auto transport = connect_nats(options, test_names(), deadline);
  INFO("connected");
  REQUIRE(!transport.ok());
  UNSCOPED_INFO(transport.status().ToString());
  return transport.status();
}
inline bool mentions(const absl::Status& status, const std::string& text) {
  return std::string(status.message()).find(text) != std::string::npos;
}

// Small enough for the server of a test.
inline RelayStreamOptions small_stream() {
  RelayStreamOptions options;
  options.bytes_max = 256 << 20;
  return options;
}
inline void open_stream(RelayTransport& transport) {
  const absl::Status status = transport.open_stream(small_stream(), kHang);
  INFO(status.ToString());
  REQUIRE(status.ok());
}
// Waits for the ack.
inline void store(RelayTransport& transport, const std::string& text, std::uint64_t expected_last) {
  REQUIRE(transport.append(message(text), expected_last).ok());
  const RelayAck ack = take_ack(transport);
  INFO(ack.reason);
  REQUIRE(ack.result == RelayAckResult::kStored);
  REQUIRE(ack.stream_sequence == expected_last + 1);
}

// Returns when what `from` has subscribed to is known to the server.
inline void settle(RelayTransport& from) {
  const absl::Status status = from.tail(kHang).status();
  INFO(status.ToString());
  REQUIRE((status.ok() || errc_of(status) == Errc::kNotFound));
}

}  // namespace lapwing
