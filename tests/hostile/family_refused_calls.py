"""Every system call that the program makes × the errnos of a sandbox, a bad disk and an old kernel.

A command works or ends with a message. Then the bus is used without the filter.
"""

import errno

import seccomp
import under_harm

NAME = "refused calls"
WEIGHT = 4
TRIALS_MIN = 12
ERRNOS = (errno.EPERM, errno.ENOSYS, errno.EINVAL, errno.EIO, errno.ENOSPC, errno.ENOMEM,
          errno.EMFILE)
LIVE_SECONDS = 0.5
REFUSALS = (errno.EPERM, errno.ENOSYS)  # refusals of a sandbox and of an old kernel
WITHOUT_WHICH_ALL_WORKS = ("io_uring_setup", "io_uring_enter", "io_uring_register")
# Without these, no message is possible: only the exit code counts.
SPEECHLESS = ("writev", "write of a page or more")


class Family:
    skipped = None if seccomp.SUPPORTED else "the filters of system calls are for x86-64"

    def __init__(self, world):
        self.world = world

    def trial(self, trial):
        pairs = [(name, number) for name in seccomp.NAMES for number in ERRNOS]
        # 1,009 is prime, so neighbours in the list are far apart within a run.
        name, number = pairs[(trial.number * 1009 + trial.seed) % len(pairs)]
        trial.note(f"{name} fails with {errno.errorcode[number]}")

        def refuse():
            seccomp.refuse(name, number)
        kind = 0 if name in WITHOUT_WHICH_ALL_WORKS else trial.rng.random()
        if kind < 0.7:
            outcome = under_harm.run_one(self.world, trial, refuse,
                                         "publish" if kind < 0.25 or name in WITHOUT_WHICH_ALL_WORKS
                                         else "checkpoint" if kind < 0.4 else None,
                                         expect_words=name not in SPEECHLESS)
            if name in WITHOUT_WHICH_ALL_WORKS and number in REFUSALS and outcome.code != 0:
                trial.found(f"`publish` ended with {outcome.code} for want of {name}")
        elif kind < 0.85:
            self._live(trial, refuse, name not in SPEECHLESS)
        else:
            self._channel(trial, refuse, name not in SPEECHLESS)

    def _live(self, trial, refuse, expect_words):
        """A publisher and its follower, one or both with the filter."""
        both = trial.rng.choice(((refuse, refuse), (refuse, None), (None, refuse)))
        bus = trial.folder / "bus"
        publisher = trial.start("publish", "--bus", bus, "--source", "kv16:records=0", "--pace",
                                "20000", "--capacity", "4096", before_exec=both[0])
        followers = [
            trial.start(*line, "--bus", bus, *options, before_exec=both[1])
            for line, options in (
                (("tail",), ("--from", "start", "--wait", trial.rng.choice(("park", "backoff")))),
                (("checkpoint",), ("--fold", "latest", "--every", "1000")),
                (("subscribers",), ()))]
        for process in (*followers, publisher):
            trial.check(process, LIVE_SECONDS, expect_words)
        trial.run("verify", "--bus", bus)

    def _channel(self, trial, refuse, expect_words):
        """Both ends of a channel, with the filter."""
        socket = trial.folder / "x.sock"
        first = trial.start("pipe", "--listen", socket, before_exec=refuse)
        with open(self.world.sentinels.file, "rb") as file:
            second = trial.start("pipe", "--connect", socket, "--retry", "300ms", stdin=file,
                                 before_exec=refuse)
        info = trial.start("info", "--channels", before_exec=refuse)
        for process in (info, second, first):
            trial.check(process, LIVE_SECONDS, expect_words)
        if second.outcome().code == 0 and first.outcome().code == 0 \
                and first.outcome().out != self.world.sentinels.file.read_bytes():
            trial.found("`pipe` ended with 0 on both sides, and the copy is not the original")
