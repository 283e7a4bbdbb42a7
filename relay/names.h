// The NATS subjects and the stream of a relayed bus.
//
// Thread safety: pure functions.
#pragma once

#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace lapwing {

struct RelayNames {
  std::string log;   // records, in order; the only subject that the stream stores
  std::string live;  // records while the stream is behind
  std::string beat;
  std::string ask;
  std::string stream;
};

// `bus_name`: any 1 to kRelayNameBytesMax bytes. Errors: kInvalidArgument for other names.
absl::StatusOr<RelayNames> relay_names(std::string_view bus_name);

// The name as one token of a subject: each byte outside of A-Z, a-z, 0-9, _ and - becomes = and two
// upper-case hexadecimal digits. Different names have different tokens, because = is also escaped.
std::string escaped_name(std::string_view name);

}  // namespace lapwing
