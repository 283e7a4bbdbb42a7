// --wait as every command has it.
//
// Thread safety: main's thread.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "cli/text_option.h"
#include "lapwing/waiting.h"

namespace lapwing::cli {

// `what` is what is waited for: "records".
inline void add_wait_option(CLI::App& command, std::string& wait, const std::string& what) {
  command
      .add_option(
          "--wait", wait,
          "how to wait for " + what + ": busy (uses a core, lowest latency), backoff, or park")
      ->capture_default_str()
      ->check(CLI::IsMember(names_in(kWaitStrategyNames)));
}

inline WaitStrategy parse_wait(const std::string& text) {
  return value_in(kWaitStrategyNames, text);
}

}  // namespace lapwing::cli
