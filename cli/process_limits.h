// The limits that a process was given (ulimit, a container): made the best of, and named where they
// are the reason for an end.
//
// Thread safety: main's thread, before there is another.
#pragma once

#include <exception>
#include <string>

#include "absl/status/status.h"
#include "proto/slot_stamp.h"

namespace lapwing::cli {

// Raises a stack limit that is too low as far as it may be raised, for this thread and all that
// come. Errors: kLimit, if that is not far enough.
absl::Status make_room_on_the_stack();

// Ends are said: by SIGXCPU a little before the hard limit on processor time, where nothing else
// says so before the kernel ends the process; and by a sentence where an exception is not caught.
void announce_ends();

// What an exception means that reached main: what ran out, which limit that is, and what to do.
// `command` is what was running.
std::string words_for(const std::exception& error, const std::string& command);

}  // namespace lapwing::cli
