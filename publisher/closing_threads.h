// Threads that end what no call waits for: a session whose publisher was destroyed, or closed with a
// deadline that has passed.
//
// A program that ends waits for them, for kCloseAtExitMax at most: a session that is closed halfway
// is settled by the next start as one that was killed. A forked child has no such thread.
//
// Thread safety: any thread.
#pragma once

#include <functional>

#include "lapwing/thread_placement.h"

namespace lapwing {

// Runs `work` in a thread of its own; in this one where no thread can be made.
void run_closing(std::function<void()> work, const ThreadPlacement& placement = {});

// How many of them a program that ended now would wait for.
int sessions_closing();

}  // namespace lapwing
