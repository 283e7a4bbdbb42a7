// An instrument as users name it in a text: `id:5930` is the instrument of that number, every other
// text is a symbol, also one of digits (Seoul's 005930, Tokyo's 7203).
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
  std::string symbol;                   // empty: named by its number
  std::optional<std::uint64_t> number;  // set if `symbol` is empty

  bool is_symbol() const { return !number; }
};

// Errors: kInvalidArgument for an empty text, and for `id:` without a whole number. The message
// begins with the text.
absl::StatusOr<InstrumentName> parse_instrument(const std::string& text);

// kNotFound for a symbol that the metadata of a bus's feed maps to no instrument. `what` begins the
// message ("instrument ESH5"), `bus` is its directory. The message names the nearest symbols of the
// bus, their number, and the form of a number. `metadata` is raw DBN metadata; empty: the feed has
// none. Errors beside kNotFound: kBadInput for metadata that cannot be parsed.
absl::Status unknown_symbol(const std::string& what, const std::string& symbol,
                            const std::string& bus, std::span<const std::byte> metadata);

}  // namespace lapwing
