"""Lack of resources: memory, descriptors, processes, file size, stack, processor time, disk; full
or closed outputs; signals from the kernel.

A command works or ends with a message. Then the bus is used without limits.
"""

import os
import resource
import signal

import confinement
import under_harm

NAME = "limits"
WEIGHT = 3
TRIALS_MIN = 12
OTHER_UID = 61_003
DAMAGED = 4

MIB = 1 << 20
UNHEARD_BYTES_MAX = 128 * MIB
ADDRESS = [size * MIB for size in (8, 16, 24, 32, 48, 64, 80, 96, 128, 160, 200, 256, 320, 400,
                                   600)]
STACK = (256 << 10, 1 << 20)  # with less, SIGSEGV is allowed
DESCRIPTORS = list(range(3, 24)) + [32, 64]
WORDS_BYTES = 512
FILE_SIZE = (0, 1, 100, 511, 512, 4096, 4097, 65536, 65537, 69632, 70000, 131072, 200000, 1 << 20)


class Family:
    def __init__(self, world):
        self.world = world
        self.kinds = (self.limited, self.limited, self.full_output, self.limited, self.closed,
                      self.full_disk, self.limited, self.signalled, self.closed_pipe,
                      self.no_listener)
        self._least = {}

    def trial(self, trial):
        return self.kinds[trial.number % len(self.kinds)](trial)

    def _least_that_loads(self, trial, what, values, number):
        """The values with which the program can be loaded. Failures before that are not its
        fault."""
        if what not in self._least:
            for index, value in enumerate(values):
                process = trial.start("--version", before_exec=lambda limit=value:
                                      resource.setrlimit(number, (limit, limit)))
                if process.outcome().code == 0:
                    self._least[what] = index
                    break
        return values[self._least[what]:]

    def limited(self, trial):
        what = trial.rng.choice(("address", "stack", "descriptors", "size", "processes",
                                 "processes", "address"))
        number, values = {"address": (resource.RLIMIT_AS, ADDRESS),
                          "stack": (resource.RLIMIT_STACK, STACK),
                          "descriptors": (resource.RLIMIT_NOFILE, DESCRIPTORS),
                          "size": (resource.RLIMIT_FSIZE, FILE_SIZE),
                          "processes": (resource.RLIMIT_NPROC, (1, 2, 3, 4, 5, 6, 8))}[what]
        if what in ("address", "descriptors"):
            values = self._least_that_loads(trial, what, values, number)
        value = trial.rng.choice(values)
        trial.note(f"limit of {what}: {value}")
        if what == "processes":
            return self._as_another(trial, value)

        def limit():
            resource.setrlimit(number, (value, value))
        # Standard error is a file here, with the same limit.
        words_fit = what != "size" or value >= WORDS_BYTES
        outcome = under_harm.run_one(self.world, trial, limit, expect_words=words_fit)
        if outcome.code == DAMAGED:
            shown = trial.shown(outcome.command)
            trial.found(f"`{shown}` says that data is damaged, and it is not")
        return True

    def no_listener(self, trial):
        """A side without a peer must not use memory for messages."""
        pipe = trial.start("pipe", "--connect", trial.folder / "x.sock", "--retry", "600s",
                           "--max-message", trial.rng.choice(("512M", "1G")))
        resident = trial.check(pipe, stop_after=1.0).resident_bytes
        if resident > UNHEARD_BYTES_MAX:
            trial.found(f"`pipe --connect` used {resident // MIB} MiB before anybody listened")
        return True

    def _as_another(self, trial, processes):
        """The process limit does not apply to root, so another user has a bus."""
        os.chmod(trial.folder, 0o777)

        def become():
            os.setgroups([])
            os.setgid(OTHER_UID)
            os.setuid(OTHER_UID)

        def limit():
            become()
            resource.setrlimit(resource.RLIMIT_NPROC, (processes, processes))
        bus = trial.folder / "bus"
        trial.run("publish", "--bus", bus, "--source", "synthetic:records=100", before_exec=become)
        for line in (("publish", "--bus", bus, "--source", "synthetic:records=100"),
                     ("checkpoint", "--bus", bus, "--fold", "orders", "--until-closed"),
                     ("tail", "--bus", bus, "--from", "start", "--until-closed"),
                     ("verify", "--bus", bus)):
            trial.run(*line, before_exec=limit)
        return True

    def full_output(self, trial):
        """A full device: a command with output must not exit with 0."""
        bus = self.world.bases.place(trial.rng.choice(("clean", "kv16")), trial)
        for name, line in under_harm.commands(self.world, trial, bus).items():
            if name in ("repair",):
                continue
            with open("/dev/full", "wb") as full:
                outcome = trial.run(*line, stdout=full)
            if outcome.code == 0:
                trial.found(f"`{trial.shown(outcome.command)} > /dev/full` ended with 0")
        for line in (("export", "--bus", bus.directory, "--out", "/dev/full"),
                     ("info", "--bus", bus.directory)):
            with open("/dev/full", "wb") as full:
                trial.run(*line, stderr=full, expect_words=False)
        return True

    def closed_pipe(self, trial):
        """The process that reads the output has ended."""
        bus = self.world.bases.place("clean", trial)
        for name, line in under_harm.commands(self.world, trial, bus).items():
            read_end, write_end = os.pipe()
            os.close(read_end)
            with os.fdopen(write_end, "wb") as gone:
                trial.run(*line, stdout=gone, expect_words=name not in ("repair", "verify"),
                          before_exec=lambda: signal.signal(signal.SIGPIPE, signal.SIG_DFL))
        return True

    def closed(self, trial):
        """Standard input, output or error are closed: no other file may be used as one."""
        chosen = trial.rng.sample((0, 1, 2), trial.rng.randint(1, 3))
        trial.note(f"closed descriptors: {chosen}")

        def close():
            for number in chosen:
                os.close(number)
        under_harm.run_one(self.world, trial, close, expect_words=False)
        return True

    def full_disk(self, trial):
        """A file system of a few MiB for the bus, or for its copies."""
        size = trial.rng.choice((64, 128, 200, 300, 400, 700, 1200)) << 10
        small = trial.folder / "small"
        small.mkdir()
        confinement.mount("tmpfs", str(small), "tmpfs", options=f"size={size},mode=700")
        try:
            if trial.rng.random() < 0.5:
                trial.note(f"a bus on a disk of {size} bytes")
                line = ("--bus", small / "bus", "--source", "kv16:records=20000",
                        "--segment-bytes", "64K", "--capacity", "4096")
                trial.run("publish", *line)
                confinement.mount("tmpfs", str(small), options="size=64m", flags=0x20)  # remount
                trial.run("tail", "--bus", small / "bus", "--from", "start", "--until-closed",
                          "--reattach", "0")
                trial.run("verify", "--bus", small / "bus")
                trial.run("publish", *line)
            else:
                trial.note(f"recordings on a disk of {size} bytes")
                bus = self.world.bases.place("clean", trial)
                for options in (("record", "--from", "start", "--until-closed"), ("export",)):
                    trial.run(options[0], "--bus", bus.directory, "--out",
                              small / f"{options[0]}.dbn", *options[1:])
        finally:
            confinement.unmount(str(small), lazy=True)
        return True

    def signalled(self, trial):
        """Signals from terminals and limits end a command properly."""
        number = trial.rng.choice((signal.SIGHUP, signal.SIGXCPU, signal.SIGINT, signal.SIGTERM,
                                   signal.SIGXFSZ, signal.SIGPIPE, signal.SIGQUIT))
        trial.note(f"signal {number.name}")
        bus = self.world.bases.place("kv16", trial)
        publisher = trial.start("publish", "--bus", bus.directory, "--source", "kv16:records=100",
                                "--linger", "600s")
        # By then, a tail has already read the journal.
        self.world.bases.until_head(trial, bus, bus.expected.published + 100, publisher)
        follower = trial.start("tail", "--bus", bus.directory, "--from", "start", "--format",
                               "json")
        trial.until("a tail that has caught up", lambda: not follower.alive()
                    or b'"caught-up"' in follower.out_path.read_bytes())
        for process in (follower, publisher):
            process.signal(number)
            if number in (signal.SIGXFSZ, signal.SIGPIPE):  # these cause errors in calls
                process.signal(signal.SIGTERM)
            if number == signal.SIGQUIT:  # this one may dump core
                process.kill()
            else:
                trial.check(process)
        trial.run("verify", "--bus", bus.directory)
        return True
