// The address on which the server listens: an IP address and port, or a socket in the file
// system.
//
// Thread safety: a value and a pure function.
#pragma once

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace lapwing {

struct ListenAddress {
  std::string path;     // of a socket; empty: use the IP address
  std::string address;  // "127.0.0.1", "::1"
  std::uint16_t port = 0;
  bool is_loopback = false;

  bool is_local() const { return !path.empty(); }
};

// Parses "127.0.0.1:9477", "[::1]:9477" or "unix:/run/lapwing.sock". Errors: kInvalidArgument.
absl::StatusOr<ListenAddress> parse_listen_address(absl::string_view text);

}  // namespace lapwing
