package main

import (
	"runtime"
	"sync"
	"time"
)

const threadsBefore = 8 // more than the steps need

// settleRuntime has the runtime make once, and before the first step, what it keeps until the program's
// end: its poller's descriptors, which come with the first timer, and threads, which it starts when a call
// of C takes long. What a step then leaves behind can be counted (bindings/leaks.py).
func settleRuntime() {
	time.Sleep(time.Millisecond)
	var all sync.WaitGroup
	all.Add(threadsBefore)
	for range threadsBefore {
		go func() {
			runtime.LockOSThread() // each has a thread of its own until all have one
			defer runtime.UnlockOSThread()
			all.Done()
			all.Wait()
		}()
	}
	all.Wait()
}
