// --instrument of the commands that show one instrument of a bus.
//
// Thread safety: main's thread.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "snapshot/dbn/instrument_name.h"

namespace lapwing::cli {

inline constexpr char kInstrument[] = "--instrument";

inline CLI::Option* add_instrument_option(CLI::App& command, std::string& instrument) {
  const auto check = [](const std::string& text) -> std::string {
    const absl::StatusOr<InstrumentName> name = parse_instrument(text);
    return name.ok() ? "" : std::string(name.status().message());
  };
  return command
      .add_option(kInstrument, instrument,
                  "only this instrument: a symbol of the feed's metadata, even one of digits, or "
                  "a number such as id:17077")
      ->check(CLI::Validator(check, ""))
      ->type_name("SYMBOL|id:N");
}

}  // namespace lapwing::cli
