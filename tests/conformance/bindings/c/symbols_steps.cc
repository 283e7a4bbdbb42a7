#include "absl/strings/str_cat.h"
#include "tests/conformance/bindings/c/driver.h"

namespace lapwing::conformance {
namespace {

Handles<lapwing_symbols>& symbols() {
  static auto* const all = new Handles<lapwing_symbols>;
  return *all;
}

std::string mapping_text(const lapwing_symbol_mapping& mapping) {
  return absl::StrCat(mapping.symbol, ":", mapping.instrument_id, ":", mapping.start_date, ":",
                      mapping.end_date);
}

Lines open(const Step& step) {
  lapwing_symbols* opened = nullptr;
  const lapwing_result result =
      lapwing_symbols_open(step.text_or_null("directory"), &opened, nullptr);
  if (result == LAPWING_OK) symbols().put(step.text("as"), opened);
  return line(result);
}

Lines find(const Step& step) {
  std::uint32_t instrument = 0;
  const lapwing_result result = lapwing_symbols_find(
      symbols().of(step), step.text_or_null("symbol"), step.number("utc_ns"), &instrument, nullptr);
  return line(result, absl::StrCat("instrument=", instrument));
}

Lines name(const Step& step) {
  lapwing_symbol_mapping mapping;
  const lapwing_result result = lapwing_symbols_name(
      symbols().of(step), static_cast<std::uint32_t>(step.number("instrument")),
      step.number("utc_ns"), &mapping, nullptr);
  return result == LAPWING_OK ? line(result, absl::StrCat("mapping=", mapping_text(mapping)))
                              : line(result);
}

Lines list(const Step& step) {
  std::vector<lapwing_symbol_mapping> mappings(4096);
  std::size_t count = 0;
  const lapwing_result result =
      lapwing_symbols_list(symbols().of(step), mappings.data(), mappings.size(), &count, nullptr);
  std::string all;
  for (std::size_t i = 0; result == LAPWING_OK && i < count; ++i) {
    absl::StrAppend(&all, i == 0 ? "" : ",", mapping_text(mappings[i]));
  }
  return line(result, absl::StrCat("mappings=", all));
}

}  // namespace

Operations symbols_operations() {
  return {{"symbols.open", open},
          {"symbols.find", find},
          {"symbols.name", name},
          {"symbols.list", list},
          {"symbols.destroy",
           [](const Step& step) { return destroy(symbols(), step, lapwing_symbols_destroy); }}};
}

}  // namespace lapwing::conformance
