// Maps symbols to instruments, and instruments to symbols, by date.
//
//   const absl::StatusOr<lapwing::Symbols> symbols = lapwing::Symbols::of_bus("./es");
//   if (!symbols.ok()) return fail(symbols.status());
//   const std::optional<std::uint32_t> id = symbols->instrument_id("ESH4", utc_ns);
//
// The mappings come from the feed's DBN metadata, which the publisher stores with its bus, or from
// your own calls to add().
//
// A symbol may belong to one instrument today and to another one next year, and an instrument may
// be renamed. So each mapping is valid only for some dates. If a date is outside all of them, the
// mapping that began last applies.
//
// Thread safety: a value, which several threads may read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"

namespace lapwing {

// Valid from start_date up to, but excluding, end_date. Dates are UTC, as YYYYMMDD.
struct SymbolMapping {
  std::string symbol;
  std::uint32_t instrument_id = 0;
  std::uint32_t start_date = 0;
  std::uint32_t end_date = 0;
};

class Symbols {
 public:
  Symbols() = default;
  // Reads the mappings of the bus in that directory, as its last publisher wrote them. Empty if the
  // feed has no metadata. Errors: kNoBus, kBadInput (invalid metadata), kDamaged (bus.json, or a
  // metadata file that is too long), kNotPermitted, kSystem.
  [[nodiscard]] static absl::StatusOr<Symbols> of_bus(const std::string& directory);
  // Reads the mappings of DBN metadata, which begins with "DBN". Errors: kBadInput.
  [[nodiscard]] static absl::StatusOr<Symbols> of_metadata(std::span<const std::byte> metadata);

  void add(const SymbolMapping& mapping);

  [[nodiscard]] bool empty() const { return by_id_.empty(); }
  // Returns the symbol's instrument at that time, or nullopt if the symbol is unknown.
  [[nodiscard]] std::optional<std::uint32_t> instrument_id(std::string_view symbol,
                                                           std::uint64_t utc_ns) const;
  // Returns whether the symbol belongs to that instrument at that time. If the symbol has no
  // mapping then, returns whether the instrument was its last one and has no other symbol then.
  [[nodiscard]] bool stands_for(std::string_view symbol, std::uint32_t instrument_id,
                                std::uint64_t utc_ns) const;
  // Every instrument that the symbol has on any date, ascending.
  [[nodiscard]] std::vector<std::uint32_t> instrument_ids(std::string_view symbol) const;
  // Returns the instrument's symbol at that time, or an empty one if the instrument is unknown.
  // Valid until the next add().
  [[nodiscard]] std::string_view symbol(std::uint32_t instrument_id, std::uint64_t utc_ns) const;
  // The mapping that symbol() uses.
  [[nodiscard]] std::optional<SymbolMapping> mapping(std::uint32_t instrument_id,
                                                     std::uint64_t utc_ns) const;
  // Every mapping, by symbol, then by start date.
  [[nodiscard]] std::vector<SymbolMapping> mappings() const;
  // Every symbol, ascending, each once.
  [[nodiscard]] std::vector<std::string> names() const;
  // Returns the mappings of these symbols, and of their instruments on any date.
  [[nodiscard]] Symbols select(std::span<const std::string> symbols) const;

 private:
  // Sorted by start date.
  using Mappings = std::vector<SymbolMapping>;
  static const SymbolMapping* find(const Mappings& mappings, std::uint64_t utc_ns);

  absl::flat_hash_map<std::uint32_t, Mappings> by_id_;
  absl::flat_hash_map<std::string, Mappings> by_symbol_;
};

}  // namespace lapwing
