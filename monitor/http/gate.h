// Decides which requests may be answered. Checks Host and Origin, to reject other sites' web pages
// and names that resolve to this machine (DNS rebinding), and the token.
//
// Thread safety: one thread. Time is passed in.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"

namespace lapwing {

inline constexpr std::size_t kWrongTokensPerSecondMax = 10;
inline constexpr char kTokenCookie[] = "lapwing_token";

// The credentials of a request, as received.
struct Credentials {
  absl::string_view host;
  absl::string_view origin;         // empty: none
  absl::string_view authorization;  // empty: none
  absl::string_view cookie;         // empty: none
};

enum class Admission {
  kAdmitted,
  kWrongHost,    // 403
  kWrongOrigin,  // 403
  kNoToken,      // 401
  kWrongToken,   // 401
  kTooMany,      // 429: a wrong token, after kWrongTokensPerSecondMax others within this second
};

struct GateOptions {
  std::string token;  // empty: none is needed
  // Names that Host may have in addition to localhost. An https Origin with such a name is accepted
  // regardless of Host, because a proxy may terminate TLS in front of this server.
  std::vector<std::string> hosts;
  bool is_encrypted = false;  // an Origin must be https
};

class Gate {
 public:
  explicit Gate(GateOptions options) : options_(std::move(options)) {}

  // Checks only Host and Origin. `local_address`: the address at which the connection arrived,
  // without a port; empty for a socket in the file system.
  Admission check_site(const Credentials& credentials, absl::string_view local_address) const;
  // Checks the token in Authorization or, if there is none, in the cookie.
  Admission check_token(const Credentials& credentials, std::uint64_t now_ns);
  // Checks a token that was received in another way.
  Admission check_token(absl::string_view token, std::uint64_t now_ns);
  bool needs_token() const { return !options_.token.empty(); }

 private:
  bool is_own_host(absl::string_view host, absl::string_view local_address) const;
  bool is_named_host(absl::string_view host) const;

  GateOptions options_;
  std::uint64_t second_began_ns_ = 0;
  std::size_t wrong_tokens_ = 0;  // within this second
};

}  // namespace lapwing
