// --config FILE: a command's options from a TOML file, one `option = value` per line, named as on
// the command line without the dashes. The command line takes precedence.
//
//   bus = "/var/lib/lapwing/es"
//   source = "dbn:/srv/es.mbo.dbn.zst"
//   linger = "60s"
//   resume = true
//   host = ["md1", "md1.example.com"]   # a repeatable option
//
//   [record]                            # only for this command; overrides the lines above
//   out = "es.dbn.zst"
//
// CLI11 2.1.2 reads a configuration file only for the whole program, and truncates strings at a
// `#`. So a TOML parser reads the file here.
//
// Thread safety: main's thread.
#pragma once

#include <CLI/CLI.hpp>
#include <cstddef>

namespace lapwing::cli {

inline constexpr std::size_t kConfigBytesMax = 1 << 20;
// The parser creates a nested table for each dot in a key, and destroys nested tables recursively.
// A header, a key and four nested values have at most 6 * 256 levels. A stack of 256 KiB has room
// for 3,700.
inline constexpr std::size_t kLineDotsMax = 256;

// Call it after adding the command's other options. Errors in the file are reported as command line
// errors.
void add_config_option(CLI::App& command);

}  // namespace lapwing::cli
