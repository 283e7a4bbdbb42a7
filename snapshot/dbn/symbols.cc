#include "lapwing/symbols.h"

#include <algorithm>
#include <chrono>

#include "absl/strings/numbers.h"
#include "snapshot/bus_directory.h"
#include "snapshot/dbn/dbn_metadata.h"

namespace lapwing {
namespace {

// Returns the UTC date of a time, as YYYYMMDD.
std::uint32_t utc_date(std::uint64_t utc_ns) {
  using namespace std::chrono;
  const auto seconds_since_epoch = seconds(static_cast<std::int64_t>(utc_ns / 1'000'000'000));
  const year_month_day date{floor<days>(sys_seconds(seconds_since_epoch))};
  return static_cast<std::uint32_t>(static_cast<int>(date.year())) * 10'000 +
         static_cast<unsigned>(date.month()) * 100 + static_cast<unsigned>(date.day());
}

bool covers(const SymbolMapping& mapping, std::uint32_t date) {
  return mapping.start_date <= date && date < mapping.end_date;
}

// Inserts the mapping after those that begin on the same date.
void insert_by_date(std::vector<SymbolMapping>& mappings, const SymbolMapping& mapping) {
  const auto place =
      std::ranges::upper_bound(mappings, mapping.start_date, {}, &SymbolMapping::start_date);
  mappings.insert(place, mapping);
}

}  // namespace

absl::StatusOr<Symbols> Symbols::of_bus(const std::string& directory) {
  const absl::StatusOr<std::string> metadata = read_feed_metadata(directory);
  if (!metadata.ok()) return metadata.status();
  if (metadata->empty()) {
    if (const auto bus = read_bus_description(directory); !bus.ok()) return bus.status();
    return Symbols();
  }
  return of_metadata(std::as_bytes(std::span(*metadata)));
}

absl::StatusOr<Symbols> Symbols::of_metadata(std::span<const std::byte> metadata) {
  const absl::StatusOr<dbn::Metadata> parsed = dbn::parse_metadata(metadata);
  if (!parsed.ok()) return parsed.status();
  // The side of the mapping that has this type contains the instrument's number.
  const bool inverted = parsed->stype_in == dbn::SType::kInstrumentId;
  std::vector<SymbolMapping> mappings;
  for (const dbn::SymbolMapping& mapping : parsed->mappings) {
    for (const dbn::MappingInterval& interval : mapping.intervals) {
      const std::string& id_text = inverted ? mapping.raw_symbol : interval.symbol;
      const std::string& symbol = inverted ? interval.symbol : mapping.raw_symbol;
      std::uint32_t id = 0;
      if (symbol.empty() || !absl::SimpleAtoi(id_text, &id)) continue;
      mappings.push_back({symbol, id, interval.start_date, interval.end_date});
    }
  }
  // Sort first, so that each mapping is appended. Otherwise the time would be quadratic in the
  // number of mappings.
  std::ranges::stable_sort(mappings, {}, &SymbolMapping::start_date);
  Symbols symbols;
  for (const SymbolMapping& mapping : mappings) symbols.add(mapping);
  return symbols;
}

void Symbols::add(const SymbolMapping& mapping) {
  insert_by_date(by_id_[mapping.instrument_id], mapping);
  insert_by_date(by_symbol_[mapping.symbol], mapping);
}

const SymbolMapping* Symbols::find(const Mappings& mappings, std::uint64_t utc_ns) {
  if (mappings.size() == 1) return &mappings.front();
  const std::uint32_t date = utc_date(utc_ns);
  for (auto mapping = mappings.rbegin(); mapping != mappings.rend(); ++mapping) {
    if (covers(*mapping, date)) return &*mapping;
  }
  return &mappings.back();
}

std::optional<std::uint32_t> Symbols::instrument_id(std::string_view symbol,
                                                    std::uint64_t utc_ns) const {
  const auto found = by_symbol_.find(std::string(symbol));
  if (found == by_symbol_.end()) return std::nullopt;
  return find(found->second, utc_ns)->instrument_id;
}

bool Symbols::stands_for(std::string_view symbol, std::uint32_t instrument_id,
                         std::uint64_t utc_ns) const {
  if (this->instrument_id(symbol, utc_ns) != instrument_id) return false;
  const std::uint32_t date = utc_date(utc_ns);
  bool is_anothers = false;
  for (const SymbolMapping& mapping : by_id_.at(instrument_id)) {
    if (!covers(mapping, date)) continue;
    if (mapping.symbol == symbol) return true;
    is_anothers = true;
  }
  return !is_anothers;
}

std::vector<std::uint32_t> Symbols::instrument_ids(std::string_view symbol) const {
  std::vector<std::uint32_t> ids;
  if (const auto found = by_symbol_.find(std::string(symbol)); found != by_symbol_.end()) {
    for (const SymbolMapping& mapping : found->second) ids.push_back(mapping.instrument_id);
  }
  std::ranges::sort(ids);
  ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
  return ids;
}

std::string_view Symbols::symbol(std::uint32_t instrument_id, std::uint64_t utc_ns) const {
  const auto found = by_id_.find(instrument_id);
  if (found == by_id_.end()) return {};
  return find(found->second, utc_ns)->symbol;
}

std::optional<SymbolMapping> Symbols::mapping(std::uint32_t instrument_id,
                                              std::uint64_t utc_ns) const {
  const auto found = by_id_.find(instrument_id);
  if (found == by_id_.end()) return std::nullopt;
  return *find(found->second, utc_ns);
}

std::vector<SymbolMapping> Symbols::mappings() const {
  std::vector<SymbolMapping> all;
  for (const std::string& name : names()) {
    const Mappings& dated = by_symbol_.at(name);
    all.insert(all.end(), dated.begin(), dated.end());
  }
  return all;
}

std::vector<std::string> Symbols::names() const {
  std::vector<std::string> names;
  for (const auto& [symbol, mappings] : by_symbol_) names.push_back(symbol);
  std::ranges::sort(names);
  return names;
}

Symbols Symbols::select(std::span<const std::string> symbols) const {
  Symbols selected;
  for (const std::string& symbol : symbols) {
    const auto found = by_symbol_.find(symbol);
    if (found == by_symbol_.end()) continue;
    selected.by_symbol_[symbol] = found->second;
    for (const SymbolMapping& mapping : found->second) {
      const auto [place, is_new] = selected.by_id_.try_emplace(mapping.instrument_id);
      if (is_new) place->second = by_id_.at(mapping.instrument_id);
    }
  }
  return selected;
}

}  // namespace lapwing
