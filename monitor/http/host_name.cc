#include "monitor/http/host_name.h"

#include <boost/asio/ip/address.hpp>

#include <algorithm>
#include <cstddef>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "lapwing/error.h"

namespace lapwing {
namespace {

constexpr std::size_t kNameCharsMax = 253;
constexpr std::size_t kLabelCharsMax = 63;

bool is_label(absl::string_view label) {
  return !label.empty() && label.size() <= kLabelCharsMax &&
         std::all_of(label.begin(), label.end(), [](char c) {
           return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '-' || c == '_';
         });
}

// Browsers treat a name whose last label is a number as an IPv4 address.
bool is_name(absl::string_view text) {
  absl::ConsumeSuffix(&text, ".");
  const std::vector<absl::string_view> labels = absl::StrSplit(text, '.');
  return text.size() <= kNameCharsMax && std::all_of(labels.begin(), labels.end(), is_label) &&
         !std::all_of(labels.back().begin(), labels.back().end(), absl::ascii_isdigit);
}

}  // namespace

absl::StatusOr<std::string> parse_host_name(absl::string_view text) {
  const absl::Status wrong =
      make_error(Errc::kInvalidArgument,
                 absl::StrCat("\"", text,
                              "\" is not a host name or an IP address. Give the name only, without "
                              "scheme, port and path: mon.example"));
  absl::string_view host = text;
  const bool in_brackets = absl::ConsumePrefix(&host, "[");
  if (in_brackets != absl::ConsumeSuffix(&host, "]")) return wrong;
  boost::system::error_code error;
  const auto address = boost::asio::ip::make_address(std::string(host), error);
  if (!error && address.is_v6()) {
    if (host.find('%') != absl::string_view::npos) return wrong;
    return absl::StrCat("[", address.to_string(), "]");
  }
  if (in_brackets) return wrong;
  if (!error) return address.to_string();
  if (!is_name(host)) return wrong;
  return std::string(host);
}

}  // namespace lapwing
