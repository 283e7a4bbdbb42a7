#include "snapshot/dbn/dbn_symbols.h"

#include <algorithm>
#include <chrono>

#include "absl/strings/numbers.h"

namespace lapwing::dbn {
namespace {

const std::string kNoSymbol;

}  // namespace

SymbolTable::SymbolTable(const Metadata& metadata) {
  // The instrument id stands on whichever side of the mapping has that type.
  const bool inverted = metadata.stype_in == SType::kInstrumentId;
  for (const SymbolMapping& mapping : metadata.mappings) {
    for (const MappingInterval& interval : mapping.intervals) {
      const std::string& id_text = inverted ? mapping.raw_symbol : interval.symbol;
      const std::string& symbol = inverted ? interval.symbol : mapping.raw_symbol;
      std::uint32_t id = 0;
      if (symbol.empty() || !absl::SimpleAtoi(id_text, &id)) continue;
      intervals_[id].push_back({interval.start_date, interval.end_date, symbol});
    }
  }
  for (auto& [id, intervals] : intervals_) {
    std::stable_sort(intervals.begin(), intervals.end(), [](const Interval& a, const Interval& b) {
      return a.start_date < b.start_date;
    });
  }
}

std::vector<std::uint32_t> SymbolTable::instrument_ids(const std::string& symbol) const {
  std::vector<std::uint32_t> ids;
  for (const auto& [id, intervals] : intervals_) {
    const bool named = std::any_of(intervals.begin(), intervals.end(),
                                   [&](const Interval& i) { return i.symbol == symbol; });
    if (named) ids.push_back(id);
  }
  std::sort(ids.begin(), ids.end());
  return ids;
}

const std::string& SymbolTable::symbol(std::uint32_t instrument_id, std::uint64_t time_ns) const {
  const auto found = intervals_.find(instrument_id);
  if (found == intervals_.end()) return kNoSymbol;
  const std::vector<Interval>& intervals = found->second;
  if (intervals.size() == 1) return intervals.front().symbol;
  const std::uint32_t date = utc_date(time_ns);
  for (auto interval = intervals.rbegin(); interval != intervals.rend(); ++interval) {
    if (interval->start_date <= date && date < interval->end_date) return interval->symbol;
  }
  return intervals.back().symbol;
}

std::uint32_t utc_date(std::uint64_t time_ns) {
  using namespace std::chrono;
  const auto seconds_since_epoch = seconds(static_cast<std::int64_t>(time_ns / 1'000'000'000));
  const year_month_day date{floor<days>(sys_seconds(seconds_since_epoch))};
  return static_cast<std::uint32_t>(static_cast<int>(date.year())) * 10'000 +
         static_cast<unsigned>(date.month()) * 100 + static_cast<unsigned>(date.day());
}

}  // namespace lapwing::dbn
