#include "cli/instrument_filter.h"

#include <algorithm>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "cli/say.h"
#include "lapwing/symbols.h"

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
  if (const absl::StatusOr<Symbols> symbols = Symbols::of_bus(bus_); symbols.ok()) {
    const auto found = symbols->instrument_ids(instrument_);
    ids_->assign(found.begin(), found.end());
  }
  if (ids_->empty()) {
    say(absl::StrCat("the feed's metadata has no symbol ", instrument_,
                     "; give the instrument's number"));
  }
}

}  // namespace lapwing::cli
