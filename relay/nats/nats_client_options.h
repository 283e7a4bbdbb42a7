// Options of libnats for a connection, and the meaning of its errors.
//
// Thread safety: free functions.
#pragma once

#include <nats/nats.h>

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "relay/nats/connect.h"

namespace lapwing {

struct NatsOptionsDelete {
  void operator()(natsOptions* options) const { natsOptions_Destroy(options); }
};
using NatsClientOptions = std::unique_ptr<natsOptions, NatsOptionsDelete>;

// Interval of pings. Without an answer for kNatsSilenceNs, the connection is lost.
inline constexpr int kNatsPingMs = 1000;
inline constexpr std::uint64_t kNatsSilenceNs = 3'500'000'000;

// The servers for messages: the URLs without users and passwords. Errors: kInvalidArgument.
absl::StatusOr<std::string> shown_urls(const std::string& urls);

// Everything but the callbacks. Errors: kInvalidArgument, kNotFound, kNotPermitted, kRefused (a
// certificate or key that cannot be used), kSystem.
absl::StatusOr<NatsClientOptions> client_options(const NatsOptions& options, int timeout_ms);

// The error of natsConnection_Connect. Call it in the same thread.
absl::Status connect_error(natsStatus status, const std::string& where);

}  // namespace lapwing
