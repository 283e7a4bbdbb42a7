#include "monitor/http/listen_address.h"

#include <boost/asio/ip/address.hpp>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "lapwing/error.h"

namespace lapwing {

absl::StatusOr<ListenAddress> parse_listen_address(absl::string_view text) {
  const absl::Status wrong =
      make_error(Errc::kInvalidArgument,
                 absl::StrCat(text,
                              " is not an address to listen at; give one like 127.0.0.1:9477, "
                              "[::1]:9477 or unix:/run/lapwing.sock"));
  ListenAddress listen;
  if (absl::ConsumePrefix(&text, "unix:")) {
    if (text.empty() || text.find('\0') != absl::string_view::npos) return wrong;
    listen.path = std::string(text);
    listen.is_loopback = true;
    return listen;
  }
  const std::size_t colon = text.rfind(':');
  if (colon == absl::string_view::npos) return wrong;
  absl::string_view host = text.substr(0, colon);
  const absl::string_view port = text.substr(colon + 1);
  const bool in_brackets = absl::ConsumePrefix(&host, "[");
  if (in_brackets != absl::ConsumeSuffix(&host, "]")) return wrong;
  boost::system::error_code error;
  const auto address = boost::asio::ip::make_address(std::string(host), error);
  if (error || address.is_v6() != in_brackets) return wrong;
  std::uint32_t number = 0;
  if (port.empty() || !absl::SimpleAtoi(port, &number) || number > 65'535) return wrong;
  listen.address = address.to_string();
  listen.port = static_cast<std::uint16_t>(number);
  listen.is_loopback = address.is_loopback();
  return listen;
}

}  // namespace lapwing
