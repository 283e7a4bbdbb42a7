#include "monitor/http/view_query.h"

#include <optional>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "lapwing/error.h"
#include "os/printable.h"
#include "snapshot/dbn/instrument_name.h"

namespace lapwing {
namespace {

// nullopt if a % is not followed by two digits, or the result contains a zero byte (no name does).
std::optional<std::string> decode(absl::string_view text) {
  std::string decoded;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '+') {
      decoded += ' ';
    } else if (text[i] != '%') {
      decoded += text[i];
    } else {
      if (i + 2 >= text.size() || !absl::ascii_isxdigit(static_cast<unsigned char>(text[i + 1])) ||
          !absl::ascii_isxdigit(static_cast<unsigned char>(text[i + 2]))) {
        return std::nullopt;
      }
      decoded += absl::HexStringToBytes(text.substr(i + 1, 2));
      i += 2;
    }
  }
  if (decoded.find('\0') != std::string::npos) return std::nullopt;
  return decoded;
}

absl::Status wrong(absl::string_view what) {
  return make_error(Errc::kInvalidArgument,
                    absl::StrCat(what, "; a view is ?bus=BUS or ?bus=BUS&instrument=INSTRUMENT"));
}

}  // namespace

absl::StatusOr<ViewQuery> parse_view_query(absl::string_view target) {
  ViewQuery query;
  const std::size_t begin = target.find('?');
  if (begin == absl::string_view::npos) return wrong("the bus is missing");
  for (const absl::string_view part : absl::StrSplit(target.substr(begin + 1), '&')) {
    const std::pair<absl::string_view, absl::string_view> pair =
        absl::StrSplit(part, absl::MaxSplits('=', 1));
    std::string* const value = pair.first == "bus"          ? &query.bus
                               : pair.first == "instrument" ? &query.instrument
                                                            : nullptr;
    if (value == nullptr) {
      return wrong(absl::StrCat("\"", printable(std::string(pair.first)), "\" is not known"));
    }
    if (!value->empty()) return wrong(absl::StrCat(pair.first, " is given twice"));
    const std::optional<std::string> decoded = decode(pair.second);
    if (!decoded) return wrong(absl::StrCat("the value of ", pair.first, " is not encoded"));
    if (decoded->empty()) return wrong(absl::StrCat("the value of ", pair.first, " is empty"));
    *value = *decoded;
  }
  if (query.bus.empty()) return wrong("the bus is missing");
  if (query.instrument.size() > kViewInstrumentBytesMax) {
    return wrong(absl::StrCat("instrument has more than ", kViewInstrumentBytesMax, " bytes"));
  }
  if (query.instrument.empty()) return query;
  const absl::StatusOr<InstrumentName> name = parse_instrument(query.instrument);
  return name.ok() ? absl::StatusOr<ViewQuery>(query) : wrong(name.status().message());
}

}  // namespace lapwing
