// lapwing symbols: shows the instrument of each symbol in a bus's feed, by date.
#include <algorithm>
#include <iostream>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "cli/command_help.h"
#include "cli/commands.h"
#include "cli/common_options.h"
#include "cli/exit_codes.h"
#include "cli/say.h"
#include "lapwing/error.h"
#include "lapwing/symbols.h"
#include "monitor/json_text.h"
#include "snapshot/dbn/instrument_name.h"

namespace lapwing::cli {
namespace {

using Json = nlohmann::ordered_json;

constexpr char kSymbolsAbout[] =
    "List the symbols of a bus and their instruments.\n\n"
    "  lapwing symbols --bus ./es\n"
    "  lapwing symbols --bus ./es ESH4 id:5930\n"
    "  lapwing symbols --bus ./es --json\n\n"
    "The symbols are those of the feed's DBN metadata. A symbol may change its instrument at\n"
    "some date, so each line has the dates (UTC) from which and until which it is valid.\n"
    "Needs no publisher. The exit code is 1 if a given symbol or instrument is unknown.";

struct SymbolsOptions {
  std::string bus;
  std::vector<std::string> instruments;
  bool json = false;
};

// Formats 20240131 as 2024-01-31.
std::string date_text(std::uint32_t date) {
  return absl::StrFormat("%04d-%02d-%02d", date / 10'000, date / 100 % 100, date % 100);
}

bool is_of(const SymbolMapping& mapping, const InstrumentName& name) {
  return name.is_symbol() ? mapping.symbol == name.symbol : mapping.instrument_id == *name.number;
}

// Returns the mappings of the given instruments, or all if none are given. Error: kNotFound.
absl::StatusOr<std::vector<SymbolMapping>> choose(std::vector<SymbolMapping> mappings,
                                                  const SymbolsOptions& options) {
  if (options.instruments.empty()) return mappings;
  std::vector<SymbolMapping> chosen;
  for (const std::string& instrument : options.instruments) {
    const absl::StatusOr<InstrumentName> name = parse_instrument(instrument);
    if (!name.ok()) return name.status();
    const std::size_t before = chosen.size();
    std::ranges::copy_if(mappings, std::back_inserter(chosen),
                         [&](const SymbolMapping& mapping) { return is_of(mapping, *name); });
    if (chosen.size() > before) continue;
    return make_error(Errc::kNotFound, absl::StrCat(options.bus, " has no ",
                                                    name->is_symbol() ? "symbol " : "instrument ",
                                                    instrument, ". `lapwing symbols --bus ",
                                                    options.bus, "` lists all ", mappings.size()));
  }
  return chosen;
}

void print_json(const std::vector<SymbolMapping>& mappings) {
  Json all = Json::array();
  for (const SymbolMapping& mapping : mappings) {
    all.push_back({{"symbol", mapping.symbol},
                   {"instrument_id", mapping.instrument_id},
                   {"from", date_text(mapping.start_date)},
                   {"until", date_text(mapping.end_date)}});
  }
  std::cout << json_text(Json{{"symbols", all}}, 2) << '\n';
}

void print_text(const std::vector<SymbolMapping>& mappings) {
  std::size_t columns = std::string_view("symbol").size();
  for (const SymbolMapping& mapping : mappings) {
    columns = std::max(columns, printable(mapping.symbol).size());
  }
  const int width = static_cast<int>(columns);
  std::cout << absl::StrFormat("%-*s  instrument  from        until\n", width, "symbol");
  for (const SymbolMapping& mapping : mappings) {
    std::cout << absl::StrFormat("%-*s  %10d  %s  %s\n", width, printable(mapping.symbol),
                                 mapping.instrument_id, date_text(mapping.start_date),
                                 date_text(mapping.end_date));
  }
}

int show_symbols(const SymbolsOptions& options) {
  const absl::StatusOr<Symbols> symbols = Symbols::of_bus(options.bus);
  if (!symbols.ok()) return fail(symbols.status());
  const absl::StatusOr<std::vector<SymbolMapping>> chosen = choose(symbols->mappings(), options);
  if (!chosen.ok()) return fail(chosen.status());
  if (options.json) {
    print_json(*chosen);
  } else if (chosen->empty()) {
    std::cout << "no symbols: the feed of this bus has no metadata that maps any\n";
  } else {
    print_text(*chosen);
  }
  return kExitDone;
}

}  // namespace

void add_symbols(CLI::App& app, Run& run) {
  const auto [command, options] = add_command(app, run, "symbols", kSymbolsAbout, show_symbols);
  add_bus_option(command, options.bus);
  command.add_option("instrument", options.instruments, "only these; default: all")
      ->type_name("SYMBOL|id:N");
  command.add_flag("--json", options.json, "print JSON");
}

}  // namespace lapwing::cli
