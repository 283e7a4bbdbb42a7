// SIGINT, SIGTERM and SIGHUP (the terminal was closed) request an orderly shutdown: files are
// finished and the session is closed. After a second SIGINT or SIGTERM, the next one ends the
// process immediately. SIGHUP stays ignored if it was ignored at startup, for example by nohup.
// SIGXCPU, the soft limit on processor time, requests an orderly shutdown and prints a message.
//
// Thread safety: call the first two once from main's thread; call the others from any thread.
#pragma once

#include <cstdint>

namespace lapwing::cli {

// Call it first. Ignores SIGPIPE and SIGXFSZ, so that a closed pipe and a file at its limit (ulimit
// -f) become write errors. Until catch_stop_signals, SIGXCPU ends the process with a message.
void prepare_signals();

void catch_stop_signals();
// Makes SIGHUP a request to reload files instead of a request to stop.
void catch_reload_signal();
// Returns true once for one or more pending reload requests.
bool take_reload_request();
bool stop_requested();
// True if the stop was requested because the soft limit on processor time was reached.
bool out_of_processor_time();
// Becomes and stays readable when a stop is requested; -1 before catch_stop_signals.
int stop_fd();
// Sleeps up to timeout_ns; returns early when a stop is requested.
void sleep_unless_stopped(std::uint64_t timeout_ns);

}  // namespace lapwing::cli
