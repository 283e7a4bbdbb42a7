// A host by which browsers know the server: a name or an IP address.
//
// Thread safety: a pure function.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace lapwing {

// Returns the host as in the Host header: an IPv6 address is in brackets and in its shortest form.
// Errors: kInvalidArgument for text that browsers never send as a host, such as a URL.
absl::StatusOr<std::string> parse_host_name(absl::string_view text);

}  // namespace lapwing
