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
  return command
      .add_option(kInstrument, instrument,
                  "only this instrument: a symbol of the feed's metadata, even one of digits, or "
                  "a number such as id:17077")
      ->check(parsed_by(parse_instrument))
      ->type_name("SYMBOL|id:N");
}

}  // namespace lapwing::cli
