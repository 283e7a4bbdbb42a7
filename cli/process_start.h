// What main does before anything else: the numbers of closed standard streams are reserved, and a
// message is printed if an exception is not caught.
//
// Thread safety: main's thread, before there is another.
#pragma once

namespace lapwing::cli {

// Opens /dev/null for each closed standard stream, so that no file of a bus gets its number. It can
// be neither read as standard input nor written as standard output.
void reserve_standard_streams();

// Installs a handler of std::terminate that prints a message and exits with kExitOther.
void report_unexpected_end();

}  // namespace lapwing::cli
