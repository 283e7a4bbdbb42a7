#include "cli/instrument_filter.h"

#include <algorithm>
#include <span>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "cli/say.h"
#include "snapshot/bus_directory.h"
#include "snapshot/dbn/dbn_metadata.h"
#include "snapshot/dbn/dbn_symbols.h"

namespace lapwing::cli {

bool InstrumentFilter::matches(std::optional<std::uint64_t> instrument_id) {
  if (!ids_) look_up();
  return instrument_id && std::ranges::find(*ids_, *instrument_id) != ids_->end();
}

void InstrumentFilter::look_up() {
  ids_.emplace();
  if (std::uint64_t number = 0; absl::SimpleAtoi(instrument_, &number)) {
    ids_->push_back(number);
    return;
  }
  const absl::StatusOr<std::string> bytes = read_feed_metadata(bus_);
  if (bytes.ok() && !bytes->empty()) {
    const absl::StatusOr<dbn::Metadata> metadata =
        dbn::parse_metadata(std::as_bytes(std::span(*bytes)));
    if (metadata.ok()) {
      const auto found = dbn::SymbolTable(*metadata).instrument_ids(instrument_);
      ids_->assign(found.begin(), found.end());
    }
  }
  if (ids_->empty()) {
    say(absl::StrCat("the feed's metadata has no symbol ", instrument_,
                     "; give the instrument's number"));
  }
}

}  // namespace lapwing::cli
