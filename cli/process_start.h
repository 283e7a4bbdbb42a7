// First steps of main: reserves the numbers of closed standard streams, and prints a message if an
// exception is not caught.
//
// Thread safety: main's thread, before another thread starts.
#pragma once

namespace lapwing::cli {

// Opens /dev/null for each closed standard stream, so that no bus file gets its descriptor number.
// Reading it as standard input or writing it as standard output fails.
void reserve_standard_streams();

// Installs a std::terminate handler that prints a message and exits with kExitOther.
void report_unexpected_end();

}  // namespace lapwing::cli
