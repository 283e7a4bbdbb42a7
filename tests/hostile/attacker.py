"""A process of another user that attacks during a context."""

import mmap
import os
import resource
import signal
import struct
import time
import traceback

import lock_holder

TURN_SECONDS = 0.01
DESCRIPTORS = 16_384


class Count:
    """A number that the attacker increases and the trial reads."""

    def __init__(self):
        self._memory = mmap.mmap(-1, 8)

    def add(self, number=1):
        struct.pack_into("<Q", self._memory, 0, self.value + number)

    @property
    def value(self):
        return struct.unpack_from("<Q", self._memory)[0]


class Attacker:
    """Calls `prepare(count)` once as that user, then its result repeatedly."""

    def __init__(self, trial, uid, prepare, groups=()):
        self._trial, self._uid, self._groups, self._prepare = trial, uid, list(groups), prepare
        self.count = Count()
        self.process = 0
        self._errors = None

    def _run(self):
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, signal.SIG_DFL)
        resource.setrlimit(resource.RLIMIT_NOFILE, (DESCRIPTORS, DESCRIPTORS))
        lock_holder.become(self._uid, self._uid, self._groups)
        turn = self._prepare(self.count)
        while True:
            turn()
            time.sleep(TURN_SECONDS)

    def __enter__(self):
        self._errors = os.memfd_create("errors")
        self.process = os.fork()
        if self.process == 0:
            try:
                self._run()
            except BaseException:  # must never return into its parent's code
                os.write(self._errors, traceback.format_exc().encode())
            finally:
                os._exit(1)
        return self

    def __exit__(self, *_):
        os.kill(self.process, signal.SIGKILL)
        status = os.waitstatus_to_exitcode(os.waitpid(self.process, 0)[1])
        if status != -signal.SIGKILL:
            words = os.pread(self._errors, 1 << 16, 0).decode(errors="replace")
            self._trial.found(f"the attacker itself failed:\n{words}")
        os.close(self._errors)
