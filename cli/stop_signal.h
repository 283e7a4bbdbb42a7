// SIGINT and SIGTERM as a request to end properly: files are finished, the session is closed.
// A second signal ends the process at once.
//
// Thread safety: catch_stop_signals once, from main's thread; stop_requested from any.
#pragma once

#include <cstdint>

namespace lapwing::cli {

void catch_stop_signals();
bool stop_requested();
// Becomes readable, and stays so, once a stop is requested; -1 before catch_stop_signals.
int stop_fd();
// Sleeps up to timeout_ns; returns early when a stop is requested.
void sleep_unless_stopped(std::uint64_t timeout_ns);

}  // namespace lapwing::cli
