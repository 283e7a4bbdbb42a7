// Which symbol an instrument id stands for, and the other way round, as DBN metadata maps them by
// date.
//
// Thread safety: immutable once made; may be read from several threads.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "snapshot/dbn/dbn_metadata.h"

namespace lapwing::dbn {

class SymbolTable {
 public:
  SymbolTable() = default;
  explicit SymbolTable(const Metadata& metadata);

  bool empty() const { return intervals_.empty(); }

  // Every instrument that the symbol stands for on any date, ascending. Empty: the symbol is
  // unknown.
  std::vector<std::uint32_t> instrument_ids(const std::string& symbol) const;

  // The instrument's symbol at `time_ns` (UTC); outside every mapped date, the one mapped last.
  // Empty: the instrument is unknown. Valid as long as the table.
  const std::string& symbol(std::uint32_t instrument_id, std::uint64_t time_ns) const;

 private:
  struct Interval {
    std::uint32_t start_date;
    std::uint32_t end_date;
    std::string symbol;
  };
  // Most recent last, by start date.
  absl::flat_hash_map<std::uint32_t, std::vector<Interval>> intervals_;
};

// The UTC date of a time, as YYYYMMDD.
std::uint32_t utc_date(std::uint64_t time_ns);

}  // namespace lapwing::dbn
