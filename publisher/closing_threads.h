// Threads that end sessions in the background, after the publisher was destroyed or its close
// reached the deadline. So no call waits for them.
//
// An exiting program waits for them for at most kCloseAtExitMax. The next start settles a
// half-closed session like a killed publisher's. A forked child does not have these threads.
// Thread safety: any thread.
#pragma once

#include <functional>

#include "lapwing/thread_placement.h"

namespace lapwing {

// Runs `work` in a new thread, or in the calling thread if no thread can be created.
void run_closing(std::function<void()> work, const ThreadPlacement& placement = {});

// The number of these threads that are running. An exiting program waits for them.
int sessions_closing();

}  // namespace lapwing
