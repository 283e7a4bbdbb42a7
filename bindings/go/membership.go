package lapwing

// #include "calls.h"
import "C"

import "sync"

// membership is a handle's membership in a wait set.
type membership struct {
	set *setUse
	id  C.uint64_t // of the source in the set
}

// setUse orders the calls of a wait set and of its sources. In C, a wait on the set uses all its sources: no
// call on a source may overlap it, and no source may be destroyed during it. In Go, such a call is refused.
// Close may be called at any time: it interrupts the wait, which continues afterwards.
type setUse struct {
	interrupt func()

	mu        sync.Mutex
	changed   sync.Cond
	inCall    bool // a C call on the set is in progress
	isWait    bool // the call waits
	inSources int  // calls on sources in progress
	leaving   int  // sources that wait for their destruction
}

// beginCall begins a call on the set. false: a wait cannot begin, because a source is in a call.
func (u *setUse) beginCall(isWait bool) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	for u.leaving > 0 {
		u.changed.Wait()
	}
	if isWait && u.inSources > 0 {
		return false
	}
	u.inCall, u.isWait = true, isWait
	return true
}

func (u *setUse) endCall() {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.inCall, u.isWait = false, false
	u.changed.Broadcast()
}

// beginSource begins a call on a source. false: the set is waiting.
func (u *setUse) beginSource() bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.isWait {
		return false
	}
	u.inSources++
	return true
}

func (u *setUse) endSource() {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.inSources--
}

// leave destroys a source, or the set itself, while no call on the set is in progress.
func (u *setUse) leave(destroy func()) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.leaving++
	if u.isWait {
		u.interrupt()
	}
	for u.inCall {
		u.changed.Wait()
	}
	destroy()
	u.leaving--
	u.changed.Broadcast()
}
