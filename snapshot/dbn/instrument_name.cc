#include "snapshot/dbn/instrument_name.h"

#include <algorithm>
#include <numeric>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "lapwing/error.h"
#include "lapwing/symbols.h"
#include "snapshot/dbn/dbn_metadata.h"

namespace lapwing {
namespace {

bool is_digits(const std::string& text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
}

// The number of insertions, deletions and replacements of one character that turn `b` into `a`.
std::size_t edit_distance(const std::string& a, const std::string& b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t diagonal = std::exchange(row[0], i + 1);
    for (std::size_t j = 0; j < b.size(); ++j) {
      const bool is_equal = a[i] == b[j];
      const std::size_t replaced = diagonal + (is_equal ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({replaced, row[j] + 1, row[j + 1] + 1});
    }
  }
  return row.back();
}

// Returns at most kNearestSymbols names, nearest first, ignoring case.
std::vector<std::string> nearest_to(const std::string& symbol, std::vector<std::string> names) {
  std::vector<std::pair<std::size_t, std::string>> ranked;
  ranked.reserve(names.size());
  const std::string folded = absl::AsciiStrToLower(symbol);
  for (std::string& name : names) {
    const std::size_t distance = edit_distance(folded, absl::AsciiStrToLower(name));
    ranked.emplace_back(distance, std::move(name));
  }
  const std::size_t count = std::min(ranked.size(), kNearestSymbols);
  const auto end = ranked.begin() + static_cast<std::ptrdiff_t>(count);
  std::ranges::partial_sort(ranked, end);
  std::vector<std::string> nearest;
  for (auto one = ranked.begin(); one != end; ++one) nearest.push_back(std::move(one->second));
  return nearest;
}

std::string list_text(const std::vector<std::string>& names) {
  std::string text;
  for (std::size_t i = 0; i < names.size(); ++i) {
    const bool is_last = i + 1 == names.size();
    absl::StrAppend(&text, i == 0 ? "" : is_last ? " and " : ", ", names[i]);
  }
  return text;
}

// Explains why the symbol is unknown, and what users can do.
std::string explain(const std::string& symbol, const std::string& bus, const Symbols& symbols,
                    const dbn::Metadata& metadata) {
  const std::string number =
      is_digits(symbol)
          ? absl::StrCat(kInstrumentNumberPrefix, symbol, " for the instrument of that number")
          : absl::StrCat("the instrument's number as ", kInstrumentNumberPrefix, "N");
  const std::vector<std::string> names = symbols.names();
  if (!names.empty()) {
    const std::vector<std::string> nearest = nearest_to(symbol, names);
    const std::string which =
        names.size() == 1 ? "its only symbol is "
        : names.size() <= kNearestSymbols
            ? absl::StrCat("its ", names.size(), " symbols are ")
            : absl::StrCat("the nearest of its ", names.size(), " symbols are ");
    return absl::StrCat("bus ", bus, " has no such symbol; ", which, list_text(nearest),
                        ". Give one of its symbols, or ", number);
  }
  const auto has = [&symbol](const std::vector<std::string>& list) {
    return std::ranges::find(list, symbol) != list.end();
  };
  const bool is_listed = has(metadata.symbols) || has(metadata.partial) || has(metadata.not_found);
  if (is_listed) {
    return absl::StrCat("the feed's metadata of bus ", bus,
                        " lists this symbol without an instrument number. Give ", number,
                        " (`lapwing tail` shows instrument_id), or publish a DBN file whose "
                        "metadata has symbol mappings");
  }
  return absl::StrCat("bus ", bus, " has no symbols: its feed's metadata maps none to a number. ",
                      "Give ", number);
}

}  // namespace

absl::StatusOr<InstrumentName> parse_instrument(const std::string& text) {
  if (text.empty()) {
    return make_error(Errc::kInvalidArgument,
                      "the name of an instrument is empty. Give a symbol, or a number as id:N");
  }
  if (!text.starts_with(kInstrumentNumberPrefix)) return InstrumentName{std::string(text), {}};
  const std::string digits = text.substr(sizeof kInstrumentNumberPrefix - 1);
  std::uint64_t number = 0;
  if (!is_digits(digits) || !absl::SimpleAtoi(digits, &number)) {
    return make_error(Errc::kInvalidArgument,
                      absl::StrCat(text,
                                   " is not an instrument: id: must be followed by a whole "
                                   "number of at most 64 bits. Give id:N, or a symbol"));
  }
  return InstrumentName{"", number};
}

absl::Status unknown_symbol(const std::string& what, const std::string& symbol,
                            const std::string& bus, std::span<const std::byte> metadata) {
  dbn::Metadata parsed;
  Symbols symbols;
  if (!metadata.empty()) {
    absl::StatusOr<dbn::Metadata> read = dbn::parse_metadata(metadata);
    if (!read.ok()) return read.status();
    absl::StatusOr<Symbols> mapped = Symbols::of_metadata(metadata);
    if (!mapped.ok()) return mapped.status();
    parsed = *std::move(read);
    symbols = *std::move(mapped);
  }
  return make_error(Errc::kNotFound,
                    absl::StrCat(what, ": ", explain(symbol, bus, symbols, parsed)));
}

}  // namespace lapwing
