#include "lapwing/symbols.h"

#include <algorithm>
#include <optional>
#include <span>
#include <vector>

#include "absl/strings/str_cat.h"
#include "bindings/c/call.h"
#include "bindings/c/structs.h"

struct lapwing_symbols : lapwing::c::Handle<lapwing::Symbols> {
  static constexpr char kWhat[] = "symbols";
  using Handle::Handle;
};

namespace lapwing::c {
namespace {

lapwing_symbol_mapping mapping_of(const SymbolMapping& mapping) {
  lapwing_symbol_mapping out{};
  put_text(out.symbol, mapping.symbol);
  out.instrument_id = mapping.instrument_id;
  out.start_date = mapping.start_date;
  out.end_date = mapping.end_date;
  return out;
}

}  // namespace
}  // namespace lapwing::c

using namespace lapwing::c;
using lapwing::Errc;
using lapwing::SymbolMapping;
using lapwing::Symbols;

extern "C" {

lapwing_result lapwing_symbols_open(const char* directory, lapwing_symbols** symbols,
                                    lapwing_error* error) {
  return open_into(symbols, error, [&] { return Symbols::of_bus(text_of(directory)); });
}

lapwing_result lapwing_symbols_find(lapwing_symbols* symbols, const char* symbol, uint64_t utc_ns,
                                    uint32_t* instrument_id, lapwing_error* error) {
  return call(symbols, error, [&](Symbols& opened) {
    if (instrument_id == nullptr) {
      return fail(error, Errc::kInvalidArgument, "instrument_id is NULL; give its address");
    }
    const std::string name = text_of(symbol);
    const std::optional<std::uint32_t> found = opened.instrument_id(name, utc_ns);
    if (!found) {
      return fail(error, Errc::kNotFound, absl::StrCat("the feed has no symbol \"", name, "\""));
    }
    *instrument_id = *found;
    return success();
  });
}

lapwing_result lapwing_symbols_name(lapwing_symbols* symbols, uint32_t instrument_id,
                                    uint64_t utc_ns, lapwing_symbol_mapping* mapping,
                                    lapwing_error* error) {
  return call(symbols, error, [&](Symbols& opened) {
    if (mapping == nullptr) {
      return fail(error, Errc::kInvalidArgument, "mapping is NULL; give its address");
    }
    const std::optional<SymbolMapping> found = opened.mapping(instrument_id, utc_ns);
    if (!found) {
      return fail(error, Errc::kNotFound,
                  absl::StrCat("the feed has no symbol for instrument ", instrument_id));
    }
    *mapping = mapping_of(*found);
    return success();
  });
}

lapwing_result lapwing_symbols_list(lapwing_symbols* symbols, lapwing_symbol_mapping* mappings,
                                    size_t max, size_t* count, lapwing_error* error) {
  return call(symbols, error, [&](Symbols& opened) {
    if (count == nullptr || (mappings == nullptr && max > 0)) {
      return fail(error, Errc::kInvalidArgument, "count or mappings is NULL; give its address");
    }
    const std::vector<SymbolMapping> all = opened.mappings();
    *count = all.size();
    const std::size_t written = std::min(max, all.size());
    std::ranges::transform(std::span(all).first(written), mappings, mapping_of);
    if (written == all.size()) return success();
    return fail(error, Errc::kTooSmall,
                absl::StrCat("there are ", all.size(), " mappings, and room for ", max));
  });
}

void lapwing_symbols_destroy(lapwing_symbols** symbols) {
  destroy(symbols);
}

}  // extern "C"
