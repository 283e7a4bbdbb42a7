#include "monitor/http/gate.h"

#include <boost/asio/ip/address.hpp>

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "monitor/http/token.h"
#include "os/kernel.h"

namespace lapwing {
namespace {

// Removes ":PORT" from the end. Returns false if the text after the colon is not a port.
bool strip_port(absl::string_view& host) {
  const std::size_t colon = host.rfind(':');
  const std::size_t bracket = host.rfind(']');
  if (colon == absl::string_view::npos) return true;
  if (bracket != absl::string_view::npos && colon < bracket) return true;
  const absl::string_view port = host.substr(colon + 1);
  host = host.substr(0, colon);
  return !port.empty() && port.size() <= 5 &&
         std::all_of(port.begin(), port.end(), [](char c) { return c >= '0' && c <= '9'; });
}

absl::string_view cookie_value(absl::string_view cookies, absl::string_view name) {
  for (absl::string_view cookie : absl::StrSplit(cookies, ';')) {
    cookie = absl::StripAsciiWhitespace(cookie);
    if (absl::ConsumePrefix(&cookie, name) && absl::ConsumePrefix(&cookie, "=")) return cookie;
  }
  return {};
}

absl::string_view token_of(const Credentials& credentials) {
  absl::string_view authorization = credentials.authorization;
  if (authorization.empty()) return cookie_value(credentials.cookie, kTokenCookie);
  constexpr absl::string_view kScheme = "bearer ";
  if (!absl::StartsWithIgnoreCase(authorization, kScheme)) return {};
  return absl::StripAsciiWhitespace(authorization.substr(kScheme.size()));
}

}  // namespace

bool Gate::is_own_host(absl::string_view host, absl::string_view local_address) const {
  if (!strip_port(host)) return false;
  if (absl::EqualsIgnoreCase(host, "localhost")) return true;
  if (is_named_host(host)) return true;
  if (local_address.empty()) return false;
  const bool in_brackets = absl::ConsumePrefix(&host, "[");
  if (in_brackets != absl::ConsumeSuffix(&host, "]")) return false;
  boost::system::error_code error;
  const auto address = boost::asio::ip::make_address(std::string(host), error);
  return !error && address.is_v6() == in_brackets && address.to_string() == local_address;
}

bool Gate::is_named_host(absl::string_view host) const {
  return std::any_of(options_.hosts.begin(), options_.hosts.end(),
                     [&](const std::string& name) { return absl::EqualsIgnoreCase(host, name); });
}

Admission Gate::check_site(const Credentials& credentials, absl::string_view local_address) const {
  if (!is_own_host(credentials.host, local_address)) return Admission::kWrongHost;
  absl::string_view origin = credentials.origin;
  if (origin.empty()) return Admission::kAdmitted;
  const bool is_secure = absl::ConsumePrefix(&origin, "https://");
  if (!is_secure && !absl::ConsumePrefix(&origin, "http://")) return Admission::kWrongOrigin;
  const bool is_own =
      is_secure == options_.is_encrypted && absl::EqualsIgnoreCase(origin, credentials.host);
  const bool is_by_proxy = is_secure && strip_port(origin) && is_named_host(origin);
  return is_own || is_by_proxy ? Admission::kAdmitted : Admission::kWrongOrigin;
}

Admission Gate::check_token(const Credentials& credentials, std::uint64_t now_ns) {
  if (options_.token.empty()) return Admission::kAdmitted;
  const absl::string_view token = token_of(credentials);
  if (token.empty()) return Admission::kNoToken;
  return check_token(token, now_ns);
}

// The correct token is always accepted, so that others' guesses cannot lock out its owner.
Admission Gate::check_token(absl::string_view token, std::uint64_t now_ns) {
  if (options_.token.empty() || tokens_are_equal(token, options_.token))
    return Admission::kAdmitted;
  if (now_ns >= after_ns(second_began_ns_, kNsPerSecond)) {
    second_began_ns_ = now_ns;
    wrong_tokens_ = 0;
  }
  if (wrong_tokens_ >= kWrongTokensPerSecondMax) return Admission::kTooMany;
  ++wrong_tokens_;
  return Admission::kWrongToken;
}

}  // namespace lapwing
