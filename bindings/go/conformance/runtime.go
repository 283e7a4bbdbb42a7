package main

import (
	"runtime"
	"sync"
	"time"
)

const threadsBefore = 8 // more than the steps need

// settleRuntime makes the Go runtime allocate, before the first step, the resources that it keeps until the
// program ends. These are the descriptors of its poller, which the first timer needs, and threads, which it
// starts when a C call takes a long time. Other resources that remain after a step are leaks
// (bindings/leaks.py).
func settleRuntime() {
	time.Sleep(time.Millisecond)
	var all sync.WaitGroup
	all.Add(threadsBefore)
	for range threadsBefore {
		go func() {
			runtime.LockOSThread() // each goroutine keeps its own thread until all have one
			defer runtime.UnlockOSThread()
			all.Done()
			all.Wait()
		}()
	}
	all.Wait()
}
