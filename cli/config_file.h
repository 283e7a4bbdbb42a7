// --config FILE: a command's options from a TOML file, one `option = value` a line, named as on the
// command line without the dashes. What the command line gives wins.
//
//   bus = "/var/lib/lapwing/es"
//   source = "dbn:/srv/es.mbo.dbn.zst"
//   linger = "60s"
//   resume = true
//   host = ["md1", "md1.example.com"]   # an option that may be given several times
//
//   [record]                            # for this command alone; it wins over what stands above
//   out = "es.dbn.zst"
//
// CLI11 2.1.2 reads a configuration file for the whole program only, and cuts a text at a `#`; so the
// file is read here, by a parser of TOML.
//
// Thread safety: main's thread.
#pragma once

#include <CLI/CLI.hpp>
#include <cstddef>

namespace lapwing::cli {

inline constexpr std::size_t kConfigBytesMax = 1 << 20;
// The parser makes a nested table for each dot of a key, and destroys nested tables recursively. A
// header, a key and four nested values make at most 6 * 256 levels. A stack of 256 KiB has room for
// 3,700.
inline constexpr std::size_t kLineDotsMax = 256;

// After the command's other options. What is wrong with the file is an error of the command line.
void add_config_option(CLI::App& command);

}  // namespace lapwing::cli
