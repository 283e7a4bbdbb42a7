// An instrument as users write it: `id:5930` is the instrument with that number. Any other text is
// a symbol, even if it consists of digits (005930 in Seoul, 7203 in Tokyo).
//
// Thread safety: plain values and pure functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace lapwing {

inline constexpr char kInstrumentNumberPrefix[] = "id:";
inline constexpr std::size_t kNearestSymbols = 3;

struct InstrumentName {
  std::string symbol;                   // empty: identified by its number
  std::optional<std::uint64_t> number;  // set if `symbol` is empty

  bool is_symbol() const { return !number; }
};

// Errors: kInvalidArgument for an empty text, and for `id:` without a whole number. The message
// begins with the text.
absl::StatusOr<InstrumentName> parse_instrument(const std::string& text);

// Returns kNotFound for a symbol that the feed's metadata does not map to an instrument.
// The message begins with `what` ("instrument ESH5"), and contains the nearest symbols, the number
// of symbols, and how to write a number. `bus` is the bus directory; `metadata` is raw DBN
// metadata, empty if the feed has none. Returns kBadInput instead if the metadata cannot be parsed.
absl::Status unknown_symbol(const std::string& what, const std::string& symbol,
                            const std::string& bus, std::span<const std::byte> metadata);

}  // namespace lapwing
