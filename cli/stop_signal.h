// SIGINT, SIGTERM and SIGHUP (the terminal was closed) as a request to end properly: files are
// finished, the session is closed. After a second SIGINT or SIGTERM the next one ends the process
// at once. SIGHUP stays ignored where it was at the start, as by nohup. SIGXCPU, the soft limit
// on processor time, is such a request; a message is printed.
//
// Thread safety: the first two from main's thread, once; the others from any.
#pragma once

#include <cstdint>

namespace lapwing::cli {

// First of all. SIGPIPE and SIGXFSZ are ignored: a closed pipe and a file at its limit (ulimit -f)
// are errors of the write. Until catch_stop_signals, SIGXCPU ends the process with a sentence.
void prepare_signals();

void catch_stop_signals();
// From now on SIGHUP is a request to read files again, and not to stop.
void catch_reload_signal();
// True once for each such request, or several at once.
bool take_reload_request();
bool stop_requested();
// The stop was requested because the soft limit on processor time was reached.
bool out_of_processor_time();
// Becomes readable, and stays so, once a stop is requested; -1 before catch_stop_signals.
int stop_fd();
// Sleeps up to timeout_ns; returns early when a stop is requested.
void sleep_unless_stopped(std::uint64_t timeout_ns);

}  // namespace lapwing::cli
