// The text form of a position: docs/reference/file-formats.md, "Positions".
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "lapwing/error.h"
#include "lapwing/subscriber.h"

namespace lapwing {

std::string StoredPosition::text() const {
  return absl::StrCat(journal_id.hex(), "/", session_id.hex(), "/", sequence);
}

absl::StatusOr<StoredPosition> StoredPosition::parse(std::string_view text) {
  const std::string given(text);
  const std::vector<std::string> parts = absl::StrSplit(given, '/');
  if (parts.size() == 3) {
    const auto journal_id = Id128::from_hex(parts[0]);
    const auto session_id = Id128::from_hex(parts[1]);
    StoredPosition position;
    if (journal_id && session_id && absl::SimpleAtoi(parts[2], &position.sequence)) {
      position.journal_id = *journal_id;
      position.session_id = *session_id;
      // Each position has exactly one text: no sign, blank or leading zero.
      if (position.sequence <= kSequenceMax && position.text() == given) return position;
    }
  }
  return make_error(Errc::kInvalidArgument,
                    absl::StrCat("`", given,
                                 "` is not a position; give <journal id>/<session id>/<sequence>, "
                                 "as `lapwing cursors` shows it"));
}

}  // namespace lapwing
