// The part of `lapwing info` that shows channels.
//
// Thread safety: main's thread.
#pragma once

#include <string>

namespace lapwing::cli {

// Shows the channels of the socket at `path`, or all that this user may look at if it is empty.
// Returns the exit code.
int show_channels(const std::string& path, bool json);

}  // namespace lapwing::cli
