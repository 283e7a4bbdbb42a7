#include "relay/names.h"

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "lapwing/error.h"
#include "proto/relay_frames.h"

namespace lapwing {

std::string escaped_name(std::string_view name) {
  static constexpr char kDigits[] = "0123456789ABCDEF";
  std::string escaped;
  for (const char byte : name) {
    const auto code = static_cast<unsigned char>(byte);
    if (absl::ascii_isalnum(code) || byte == '_' || byte == '-') {
      escaped.push_back(byte);
    } else {
      escaped.append({'=', kDigits[code >> 4], kDigits[code & 15]});
    }
  }
  return escaped;
}

absl::StatusOr<RelayNames> relay_names(std::string_view bus_name) {
  if (bus_name.empty() || bus_name.size() > kRelayNameBytesMax) {
    return make_error(
        Errc::kInvalidArgument,
        absl::StrCat("cannot relay a bus under a name of ", bus_name.size(),
                     " bytes: give a name of 1 to ", kRelayNameBytesMax, " bytes with --name."));
  }
  const std::string token = escaped_name(bus_name);
  return RelayNames{.log = absl::StrCat("lapwing.log.", token),
                    .live = absl::StrCat("lapwing.live.", token),
                    .beat = absl::StrCat("lapwing.beat.", token),
                    .ask = absl::StrCat("lapwing.ask.", token),
                    .stream = absl::StrCat("LAPWING_", token)};
}

}  // namespace lapwing
