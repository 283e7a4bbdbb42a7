"""One trial: processes that run the program under test, and the rules for all of them.

A command ends by itself or on SIGTERM, with an exit code from 0 to 6. If that is not 0, it prints a
message on standard error, without raw control characters. It stays within the limits below.
Everything else is a finding. Deadlines only end a hang.
"""

import os
import pathlib
import re
import resource
import select
import shlex
import signal
import subprocess
import time

import confinement
import sentinels

HANG_SECONDS = 60
ADDRESS_BYTES_MAX = 4 << 30
RESIDENT_BYTES_MAX = 1 << 30
PROCESSOR_SECONDS_MAX = 15  # a thousand times what any of these commands needs
OUTPUT_BYTES_MAX = 64 << 20  # read from one output; the rest is ignored
EXIT_CODES = range(7)

# Messages from a program that ended unintentionally. A bare errno does not say what failed, or
# where.
LAST_WORDS = re.compile(
    rb"terminate called|std::|Assertion|assertion failed|bad_alloc|Sanitizer|runtime error:"
    rb"|stack smashing|corrupted size|free\(\): |Traceback|what\(\):")
BARE_ERRORS = {os.strerror(number).encode() for number in range(1, 134)} | {b"Operation canceled"}
RAW_CONTROL = re.compile(rb"[\x00-\x08\x0b-\x1f\x7f]|\xc2[\x80-\x9f]")


def printable(text):
    """Text with control characters and invalid bytes escaped."""
    text = re.sub(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]", lambda found: f"\\x{ord(found[0]):02x}", text)
    return text.encode(errors="backslashreplace").decode()


class Outcome:
    """How a command ended, and its output."""

    def __init__(self, command, code, out, err, hung=False, stopped=False, usage=None):
        self.command, self.code, self.out, self.err = command, code, out, err
        self.hung, self.stopped = hung, stopped
        self.resident_bytes = usage.ru_maxrss * 1024 if usage else 0
        self.processor_seconds = usage.ru_utime + usage.ru_stime if usage else 0

    def _has_words(self):
        """True if it printed a message. Some commands print it on standard output, as
        documented."""
        words = bool(self.err.strip())
        if "json" in self.command:
            words |= b'{"event":' in self.out
        if self.command[1:2] in (["verify"], ["repair"]):
            words |= bool(self.out.strip())
        return words

    def faults(self, expect_words=True):
        """The faults of this ending, as sentences."""
        if self.hung:
            yield f"hung: did not end within {HANG_SECONDS} s"
            return
        ended_by_our_signal = self.stopped and self.code == -signal.SIGTERM
        if self.code not in EXIT_CODES and not ended_by_our_signal:
            how = signal.Signals(-self.code).name if self.code < 0 else f"exit code {self.code}"
            yield f"ended by {how}"
        elif self.code != 0 and expect_words and not ended_by_our_signal and not self._has_words():
            yield f"exit code {self.code} without a word on standard error"
        found = LAST_WORDS.search(self.err)
        if found:
            yield f"last words: {found[0].decode()}"
        for line in self.err.splitlines():
            if line.removeprefix(b"lapwing: ").strip() in BARE_ERRORS:
                yield f"an error without what was tried: {line.decode(errors='replace')}"
        found = RAW_CONTROL.search(self.err)
        if found:
            yield f"a raw control character {found[0]!r} on standard error"
        if self.resident_bytes > RESIDENT_BYTES_MAX:
            yield f"used {self.resident_bytes >> 20} MiB of memory"
        if self.processor_seconds > PROCESSOR_SECONDS_MAX:
            yield f"used {self.processor_seconds:.0f} s of processor time"


class Live:
    """A command that runs until it is terminated by its id."""

    def __init__(self, trial, command, name, stdin, stdout, stderr, before_exec):
        self.command = command
        self.out_path, self.err_path = trial.folder / f"{name}.out", trial.folder / f"{name}.err"

        def prepare():
            confinement.drop_capabilities()
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
            resource.setrlimit(resource.RLIMIT_AS, (ADDRESS_BYTES_MAX, ADDRESS_BYTES_MAX))
            if before_exec:
                before_exec()

        with open(self.out_path, "wb") as out, open(self.err_path, "wb") as err:
            self.process = subprocess.Popen(
                command, stdin=stdin or subprocess.DEVNULL, stdout=stdout or out,
                stderr=stderr or err, cwd=trial.folder, preexec_fn=prepare,
                env={"PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8", "HOME": str(trial.folder)})
        self.pid_fd = os.pidfd_open(self.process.pid)
        self.ended = None

    def alive(self):
        return self.ended is None and not select.select([self.pid_fd], [], [], 0)[0]

    def signal(self, number):
        if self.ended is None:
            signal.pidfd_send_signal(self.pid_fd, number)

    def outcome(self, stop_after=None):
        """Waits for the command to end. Sends SIGTERM after `seconds`, if given."""
        if self.ended:
            return self.ended
        stopped = hung = False
        if stop_after is not None and not select.select([self.pid_fd], [], [], stop_after)[0]:
            stopped = True
            self.signal(signal.SIGTERM)
        if not select.select([self.pid_fd], [], [], HANG_SECONDS)[0]:
            hung = True
            self.signal(signal.SIGKILL)
        _, status, usage = os.wait4(self.process.pid, 0)
        self.process.returncode = os.waitstatus_to_exitcode(status)
        os.close(self.pid_fd)
        self.ended = Outcome(self.command, self.process.returncode, _start_of(self.out_path),
                             _start_of(self.err_path), hung, stopped, usage)
        return self.ended

    def kill(self):
        """Ends it without a check, because the test itself used kill -9."""
        self.signal(signal.SIGCONT)
        self.signal(signal.SIGKILL)
        return self.outcome()


def _start_of(path):
    if not path.exists():
        return b""
    with open(path, "rb") as file:
        return file.read(OUTPUT_BYTES_MAX)


class Trial:
    """A folder, a random number generator, and the findings so far."""

    def __init__(self, program, folder, rng, deadline=None):
        self.program, self.folder, self.rng = str(program), pathlib.Path(folder), rng
        self._deadline = deadline
        self.label = ""  # prefix for its files, in case two trials share a folder
        self.become = None  # run in the child of every command without its own before_exec
        self.findings = []
        self.said = []  # the actions in order, to repeat the trial
        self.live = []
        self._names = 0

    def seconds_left(self):
        """The seconds that the family has left in this run."""
        return max(0, self._deadline - time.monotonic()) if self._deadline else 0

    def note(self, text):
        self.said.append(f"# {text}")

    def found(self, text):
        if text not in self.findings:
            self.findings.append(text)
            self.said.append(f"# FOUND: {text}")

    def start(self, *arguments, stdin=None, stdout=None, stderr=None, before_exec=None):
        """Starts `lapwing ARGUMENT …` in the background."""
        command = [self.program, *(str(argument) for argument in arguments)]
        self.said.append(shlex.join(command))
        self._names += 1
        name = re.sub(r"[^a-z-]", "_", str(arguments[0]) if arguments else "none")[:20]
        process = Live(self, command, f"{self.label}{self._names:02}-{name}", stdin, stdout,
                       stderr, before_exec or self.become)
        self.live.append(process)
        return process

    def run(self, *arguments, stop_after=None, expect_words=True, **keywords):
        """Runs a command to its end and checks the rules."""
        return self.check(self.start(*arguments, **keywords), stop_after, expect_words)

    def check(self, process, stop_after=None, expect_words=True):
        outcome = process.outcome(stop_after)
        for fault in outcome.faults(expect_words):
            self.found(f"`{self.shown(outcome.command)}` {fault}")
        return outcome

    def shown(self, command):
        """A command for display: shortened, without the trial's folder."""
        text = shlex.join(["lapwing", *command[1:]]).replace(str(self.folder) + "/", "")
        return printable(text)[:300]

    def until(self, what, condition):
        """Waits until condition() is true. Returns its value, or None after HANG_SECONDS."""
        deadline = time.monotonic() + HANG_SECONDS
        while time.monotonic() < deadline:
            value = condition()
            if value:
                return value
            time.sleep(0.005)
        self.found(f"waited {HANG_SECONDS} s in vain for {what}")
        return None

    def unchanged(self, paths):
        """Returns a function that reports changes below these paths since this call."""
        before = sentinels.fingerprint(paths)

        def report(who):
            for line in sentinels.differences(before, sentinels.fingerprint(paths)):
                self.found(f"{who} changed {line}".replace(str(self.folder) + "/", ""))
        return report

    def end(self):
        """Ends all running processes."""
        for process in self.live:
            if process.ended is None:
                process.kill()
