"""Shared by the end-to-end tests: a bus, managed processes, and waiting for conditions.

Runs the program named by LAPWING_BIN. Every process is started and ended here, by its own id.
Wait deadlines only end a hang. The tests assert nothing about durations.
"""

import atexit
import contextlib
import ctypes
import errno
import functools
import json
import os
import pathlib
import random
import shutil
import signal
import stat
import struct
import subprocess
import tempfile
import time
import unittest

import feed_files

LENGTH_UNIT = 4  # a DBN record's first byte counts these, in bytes
IDLE_SHARE_MAX = 0.03  # of a processor: spinning takes all of one, sleeping a thousandth
HANG_SECONDS = 300  # a 10 s task on a dedicated machine may take this long on a shared one
POLL_SECONDS_MAX = 0.1
CLONE_NEWNS = 0x20000
WITH_PATIENCE = ("--retry", f"{HANG_SECONDS}s")  # for a channel listener that answers slowly

_made_files = tempfile.TemporaryDirectory(prefix="lapwing-feeds-")  # removed with the process

# The program refuses directories that other users can change, such as those created with umask 002.
os.umask(0o022)

# If nohup made this process ignore it, the commands under test would ignore it as well.
signal.signal(signal.SIGHUP, signal.SIG_DFL)
if "LAPWING_TEST_SEED" in os.environ:  # seed of the run; otherwise the tests draw random numbers
    random.seed(int(os.environ["LAPWING_TEST_SEED"]))


def enter_own_mounts():
    """Makes this process's later mounts private.

    A process that creates a mount namespace copies all visible mounts, which keeps a file system in
    use after its test has unmounted it. Therefore it must not see other tests' mounts."""
    if ctypes.CDLL(None, use_errno=True).unshare(CLONE_NEWNS) == 0:
        subprocess.run(["mount", "--make-rprivate", "/"], check=True)
    elif ctypes.get_errno() != errno.EPERM:  # if this is forbidden, mounting is forbidden as well
        raise OSError(ctypes.get_errno(), "unshare")


enter_own_mounts()


def program():
    """The lapwing program under test."""
    path = os.environ.get("LAPWING_BIN", "")
    if not os.access(path, os.X_OK):
        raise RuntimeError(f"LAPWING_BIN={path!r} is not a program: build it, then set LAPWING_BIN")
    return path


@functools.cache
def program_for_others():
    """The same for another user: a copy if a parent folder is closed to others (/root)."""
    path = pathlib.Path(program()).resolve()
    if all(folder.stat().st_mode & stat.S_IXOTH for folder in path.parents):
        return str(path)
    folder = pathlib.Path(tempfile.mkdtemp(prefix="lapwing-program-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    folder.chmod(0o755)
    return shutil.copy(path, folder)


def has_real_data():
    """True if feed_file() returns real market data."""
    return bool(os.environ.get("LAPWING_TEST_DATA"))


def feed_file(schema, name):
    """The path of a zstd DBN file with records of that schema ("mbo", "trades", …).

    This is the file of that name in LAPWING_TEST_DATA or, without that variable, a generated file,
    which is created once per process. The two have only the schema in common. Dbn returns the
    number of records."""
    if has_real_data():
        path = pathlib.Path(os.environ["LAPWING_TEST_DATA"]) / name
        if not path.exists():
            raise unittest.SkipTest(f"SKIPPED: {path} is not there")
        return str(path)
    path = pathlib.Path(_made_files.name) / f"{schema}.dbn.zst"
    if not path.exists():
        packed = subprocess.run(["zstd", "-qc"], input=feed_files.make(schema, program()),
                                capture_output=True, check=True)
        path.write_bytes(packed.stdout)
    return str(path)


def decoded(path):
    """The content of a raw or zstd file."""
    return subprocess.run(["zstd", "-dcfq", path], capture_output=True, check=True).stdout


class Dbn:
    """The content of a raw DBN file with records of one size."""

    source = "dbn:-"  # for publishers that read it from a pipe

    def __init__(self, content):
        self.content = content
        (metadata_bytes,) = struct.unpack_from("<I", content, 4)
        self.begin = 8 + metadata_bytes  # of the first record
        self.record_bytes = LENGTH_UNIT * content[self.begin]
        self.records = (len(content) - self.begin) // self.record_bytes

    def end_of(self, record):
        """The end of record number `record`, from 1."""
        return self.begin + record * self.record_bytes


class Running:
    """A started process. Its standard output and error go to separate files."""

    def __init__(self, arguments, folder, name, stdin=None, stdout=None, **popen):
        self.name = name
        self.arguments = arguments
        self.out_path = folder / f"{name}.out"
        self.err_path = folder / f"{name}.err"
        with open(self.out_path, "wb") as out, open(self.err_path, "wb") as err:
            self.process = subprocess.Popen(arguments, stdin=stdin or subprocess.DEVNULL,
                                            stdout=stdout or out, stderr=err, **popen)

    @property
    def pid(self):
        return self.process.pid

    def alive(self):
        return self.process.poll() is None

    def processor_seconds(self):
        """The processor time used so far."""
        stat = pathlib.Path(f"/proc/{self.pid}/stat").read_text()
        fields = stat.rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def signal(self, number):
        if self.alive():
            os.kill(self.pid, number)

    def kill(self):
        self.signal(signal.SIGKILL)
        return self.process.wait(HANG_SECONDS)

    def stop(self):
        """Requests an orderly end."""
        self.signal(signal.SIGTERM)
        return self.wait()

    def wait(self, seconds=HANG_SECONDS):
        try:
            return self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"{self.name} hangs; it said:\n{self.err()}") from None

    def out(self):
        return self.out_path.read_text(errors="replace")

    def err(self):
        return self.err_path.read_text(errors="replace")

    def summary(self):
        """The line of JSON that --summary ends with."""
        lines = [line for line in self.out().splitlines() if line.startswith("{")]
        if not lines:
            raise AssertionError(f"{self.name} printed no summary; it said:\n{self.err()}")
        return json.loads(lines[-1])


class Flow:
    """A publisher that reads a pipe, publishes as far as the test allows, and ends on request.

    Therefore events that must happen during the flow do, regardless of the test's speed.
    """

    def __init__(self, publisher, source):
        self.publisher = publisher
        self.source = source
        self.fed = 0

    def feed(self, through):
        """Allows the feed's records up to number `through`. The first record creates the bus."""
        end = self.source.end_of(through)
        if end > self.fed:
            self.publisher.process.stdin.write(self.source.content[self.fed:end])
            self.publisher.process.stdin.flush()
            self.fed = end

    def end(self):
        """Ends the feed after the allowed records."""
        try:
            self.publisher.process.stdin.close()
        except BrokenPipeError:
            pass  # it ended first, as intended in some tests


def remove_ring(description):
    """Removes the ring file that a killed publisher may have left in shared memory."""
    try:
        ring = pathlib.Path(json.loads(description.read_text())["ring_path"])
        ring.unlink()
        ring.parent.rmdir()
    except (OSError, ValueError, KeyError):
        pass  # closed cleanly, damaged by the test, or other rings use the folder


def disk_bytes(path):
    """The disk space of a file: less than its size if it has holes."""
    return path.stat().st_blocks * 512


def kept_bytes(journal, segment_records, records):
    """The bytes of segments with `records` records, without those created in advance."""
    kept = 0
    for path in pathlib.Path(journal).rglob("*.jnl"):
        if int(path.stem) * segment_records < records:
            with contextlib.suppress(FileNotFoundError):  # retention may have just removed it
                kept += path.stat().st_size
    return kept


class ProgramTest(unittest.TestCase):
    """A test with a scratch folder on disk. Its processes end with the test."""

    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="lapwing-e2e-"))
        self.running = []
        self.addCleanup(self._clean)

    def _clean(self):
        for process in self.running:
            if process.alive():
                process.signal(signal.SIGCONT)
                process.kill()
        for description in self.folder.rglob("bus.json"):
            remove_ring(description)
        shutil.rmtree(self.folder, ignore_errors=True)

    def start(self, name, *arguments, **popen):
        """Starts `lapwing ARGUMENT …` in the background."""
        binary = program_for_others() if "user" in popen else program()
        command = [binary, *(str(argument) for argument in arguments)]
        process = Running(command, self.folder, name, **popen)
        self.running.append(process)
        return process

    def example(self, name, *arguments, **popen):
        """Starts one of the example programs, with its own output."""
        folder = os.environ.get("LAPWING_BUILD_DIR", "")
        binary = pathlib.Path(folder) / "examples" / name
        if not os.access(binary, os.X_OK):
            raise RuntimeError(f"{binary} is not a program: build it, then set LAPWING_BUILD_DIR")
        process = Running([str(binary), *map(str, arguments)], self.folder,
                          f"{name}{len(self.running)}", **popen)
        self.running.append(process)
        return process

    def run_to_end(self, name, *arguments, expect=0, seconds=HANG_SECONDS, **keywords):
        """Runs a command to its end and checks the exit code."""
        process = self.start(name, *arguments, **keywords)
        code = process.wait(seconds)
        self.assertEqual(code, expect, f"{name} ended with {code}:\n{process.err()}")
        return process

    def until(self, what, condition):
        """Waits until condition() is true and returns its value. Fails after HANG_SECONDS."""
        deadline = time.monotonic() + HANG_SECONDS
        pause = 0.01
        while time.monotonic() < deadline:
            value = condition()
            if value:
                return value
            time.sleep(pause)
            pause = min(2 * pause, POLL_SECONDS_MAX)  # many conditions start a process
        said = "\n".join(f"--- {process.name}\n{process.err()}" for process in self.running)
        raise AssertionError(f"waited {HANG_SECONDS} s in vain for {what}\n{said}")

    def assert_idle(self, process):
        """Asserts that the process uses almost no processor time during one second."""
        began, before = time.monotonic(), process.processor_seconds()
        time.sleep(1)
        used = process.processor_seconds() - before
        share = used / (time.monotonic() - began)
        self.assertLess(share, IDLE_SHARE_MAX, f"of a processor, by {process.name}")

    def channels(self, *options):
        """The channels that `lapwing info` shows, each as JSON."""
        done = subprocess.run([program(), "info", "--json", *options], capture_output=True,
                              text=True, timeout=HANG_SECONDS, check=False)
        return json.loads(done.stdout)["channels"] if done.returncode == 0 else []

    def cursors(self, *paths):
        """The cursors in these files, as `lapwing cursors` shows them in JSON."""
        done = subprocess.run([program(), "cursors", "--json", *map(str, paths)],
                              capture_output=True, text=True, timeout=HANG_SECONDS, check=False)
        return json.loads(done.stdout)["cursors"]

    def until_served(self, path, peer=None):
        """Waits until the socket's listener serves a peer. A waiting side has no peer."""
        self.until("a peer to be served", lambda: any(
            len(channel["sides"]) == 2
            and peer in (None, *(side["pid"] for side in channel["sides"]))
            for channel in self.channels("--channel", path)))

    def until_listening(self, path):
        """Waits until a process listens on the socket at `path`. The name exists before that."""
        def listening():
            with open("/proc/net/unix", encoding="utf-8", errors="replace") as sockets:
                return any(line.split()[3] == "00010000" and line.rstrip().endswith(" " + path)
                           for line in sockets)
        self.until(f"a listener on {path}", listening)


class BusTest(ProgramTest):
    """A test with a bus directory.

    A publisher without --capacity gets ring_slots, because the ring's memory is the main cost of a
    start. None means the program's own default."""

    ring_slots = 1 << 16

    def setUp(self):
        super().setUp()
        self.bus = str(self.folder / "bus")

    def start(self, name, *arguments, bus=None, **popen):
        """Starts `lapwing COMMAND --bus BUS …` in the background."""
        command, *more = arguments
        if command == "publish" and self.ring_slots and not any(
                str(argument).startswith("--capacity") for argument in more):
            more += ["--capacity", self.ring_slots]
        return super().start(name, command, "--bus", bus or self.bus, *more, **popen)

    def mount(self, folder, *arguments):
        """Mounts at `folder`, which must be empty, during this test. Needs root."""
        folder.mkdir(parents=True, exist_ok=True)
        subprocess.run(["mount", *arguments, str(folder)], check=True)
        self.addCleanup(subprocess.run, ["umount", "-l", str(folder)], check=False,
                        stderr=subprocess.DEVNULL)  # the test may have unmounted it
        return folder

    def mount_disk(self, mebibytes, *mkfs):
        """Mounts a file system of that size, ext4 unless `mkfs` creates another one. Needs root."""
        image = self.folder / "disk.img"
        with open(image, "wb") as file:
            file.truncate(mebibytes << 20)
        subprocess.run([*(mkfs or ("mkfs.ext4", "-q", "-F")), str(image)], check=True)
        return self.mount(self.folder / "disk", "-o", "loop", str(image))

    def info(self, bus=None):
        """The output of `lapwing info --json`; None if there is no bus."""
        done = subprocess.run([program(), "info", "--json", "--bus", bus or self.bus],
                              capture_output=True, text=True, timeout=HANG_SECONDS, check=False)
        return json.loads(done.stdout) if done.returncode == 0 else None

    def until_head(self, least, bus=None):
        """Waits until the bus's head has reached `least`, even if its session has ended."""
        def reached():
            info = self.info(bus)
            if not info:
                return False
            if info["ring"]:
                return info["ring"]["head"] >= least
            return any(session.get("last", 0) >= least for session in info.get("sessions", ()))
        self.until(f"head to reach {least}", reached)

    def until_durable(self, least, bus=None):
        """Waits until the running session's journal contains the records up to `least`."""
        def held():
            ring = (self.info(bus) or {}).get("ring")
            return ring and ring["durable"] >= least
        self.until(f"{least} to be durable", held)

    def publish_flow(self, name, source, *options, **popen):
        """Publishes a Dbn, a RecordFile or a DBN file's bytes, as far as Flow.feed() allows."""
        if isinstance(source, bytes):
            source = Dbn(source)
        publisher = self.start(name, "publish", "--source", source.source, *options,
                               stdin=subprocess.PIPE, **popen)
        flow = Flow(publisher, source)
        self.addCleanup(flow.end)
        return flow

    def raw_dbn(self, source):
        """A feed as the content of a raw DBN file."""
        other, path = str(self.folder / "raw"), self.folder / "raw.dbn"
        self.run_to_end("raw-publish", "publish", "--source", source, bus=other)
        self.run_to_end("raw-export", "export", "--out", path, bus=other)
        shutil.rmtree(other)
        return path.read_bytes()

    def assert_same_records(self, *followers):
        """Asserts that all followers have the same records and digest, and no losses."""
        summaries = [follower.summary() for follower in followers]
        for follower, summary in zip(followers, summaries, strict=True):
            where = f"{follower.name}: {summary}\n{follower.err()}"
            self.assertEqual(summary["lost"], 0, where)
            self.assertEqual(summary["duplicates"], 0, where)
            self.assertEqual(summary["out_of_order"], 0, where)
            self.assertEqual(summary["records"], summaries[0]["records"], where)
            self.assertEqual(summary["digest"], summaries[0]["digest"], where)
        return summaries[0]
