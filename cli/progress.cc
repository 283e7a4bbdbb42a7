#include "cli/progress.h"

#include <unistd.h>

#include <algorithm>
#include <iostream>

#include "absl/strings/str_format.h"
#include "cli/say.h"
#include "os/kernel.h"

namespace lapwing::cli {
namespace {

constexpr std::uint64_t kRedrawNs = 200'000'000;

}  // namespace

Progress::Progress()
    : terminal_(isatty(STDERR_FILENO) == 1 && !logs_json()), began_ns_(monotonic_ns()) {}

Progress::~Progress() {
  clear();
}

void Progress::show(const std::string& verb, std::uint64_t count, std::uint64_t total,
                    const std::string& things) {
  if (!terminal_) return;
  const std::uint64_t now = monotonic_ns();
  if (now < next_ns_) return;
  next_ns_ = now + kRedrawNs;
  const double seconds = static_cast<double>(std::max<std::uint64_t>(now - began_ns_, 1)) / 1e9;
  std::string line = absl::StrFormat("\r\x1b[K%s %d", verb, count);
  if (total > 0) {
    absl::StrAppendFormat(&line, " of %d (%.0f %%)", total,
                          100.0 * static_cast<double>(count) / static_cast<double>(total));
  }
  absl::StrAppendFormat(&line, " %s, %.0f a second", things, static_cast<double>(count) / seconds);
  std::cerr << line << std::flush;
  drawn_ = true;
}

void Progress::clear() {
  if (drawn_) std::cerr << "\r\x1b[K" << std::flush;
  drawn_ = false;
}

void Progress::say(const LogEntry& entry) {
  clear();
  cli::say(entry);
}

}  // namespace lapwing::cli
