"""What every end-to-end test needs: a bus of its own, processes it can end, and honest waiting.

Runs the program named by LAPWING_BIN. Every process is started here and ended here, by its own id.
A wait has a deadline that only ends a hang; nothing is asserted about how long anything takes.
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
IDLE_SHARE_MAX = 0.03  # of a processor: what spins takes all of one, what sleeps a thousandth
HANG_SECONDS = 300  # what takes 10 s on a machine of one's own may take this long on a shared one
POLL_SECONDS_MAX = 0.1
CLONE_NEWNS = 0x20000
WITH_PATIENCE = ("--retry", f"{HANG_SECONDS}s")  # for a channel's listener that is slow to answer

_made_files = tempfile.TemporaryDirectory(prefix="lapwing-feeds-")  # goes with the process

# The program refuses a directory that others may change, as one is that is made with umask 002.
os.umask(0o022)

# Under nohup it would be ignored by the commands as well, which it is to end.
signal.signal(signal.SIGHUP, signal.SIG_DFL)
if "LAPWING_TEST_SEED" in os.environ:  # of the run; without it the tests draw what they like
    random.seed(int(os.environ["LAPWING_TEST_SEED"]))


def enter_own_mounts():
    """Makes the mounts of this process, from now on, its own: they are not seen elsewhere.

    A process that makes a mount namespace copies every mount that it sees, and keeps the file
    system in use after its test has unmounted it. It must not see those of another test.
    """
    if ctypes.CDLL(None, use_errno=True).unshare(CLONE_NEWNS) == 0:
        subprocess.run(["mount", "--make-rprivate", "/"], check=True)
    elif ctypes.get_errno() != errno.EPERM:  # where that is forbidden, mounting is forbidden too
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
    """The same for another user: a copy, where a folder above it is closed to others (/root)."""
    path = pathlib.Path(program()).resolve()
    if all(folder.stat().st_mode & stat.S_IXOTH for folder in path.parents):
        return str(path)
    folder = pathlib.Path(tempfile.mkdtemp(prefix="lapwing-program-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    folder.chmod(0o755)
    return shutil.copy(path, folder)


def has_real_data():
    """Whether feed_file() gives files of real market data."""
    return bool(os.environ.get("LAPWING_TEST_DATA"))


def feed_file(schema, name):
    """The path of a DBN file, zstd, with records of that schema ("mbo", "trades", …).

    The file of that name in LAPWING_TEST_DATA. Without that variable, one that is made here, once
    in a process. The two differ in all but the schema: how many records there are says Dbn.
    """
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
    """What a file holds, raw or zstd."""
    return subprocess.run(["zstd", "-dcfq", path], capture_output=True, check=True).stdout


class Dbn:
    """The content of a raw DBN file whose records are all of one size."""

    source = "dbn:-"  # with which a publisher reads it from a pipe

    def __init__(self, content):
        self.content = content
        (metadata_bytes,) = struct.unpack_from("<I", content, 4)
        self.begin = 8 + metadata_bytes  # of the first record
        self.record_bytes = LENGTH_UNIT * content[self.begin]
        self.records = (len(content) - self.begin) // self.record_bytes

    def end_of(self, record):
        """Where record number `record` ends, from 1."""
        return self.begin + record * self.record_bytes


class Running:
    """One started process; its standard output and error go to files of their own."""

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
        """What it has used of processors so far."""
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
        """Asks it to end properly."""
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
    """A publisher of a pipe that goes as far as the test has let it, and ends when it is told.

    So whatever has to happen within the flow does, however long the test or anybody else takes.
    """

    def __init__(self, publisher, source):
        self.publisher = publisher
        self.source = source
        self.fed = 0

    def feed(self, through):
        """Lets it publish the feed's records up to number `through`; the first makes the bus."""
        end = self.source.end_of(through)
        if end > self.fed:
            self.publisher.process.stdin.write(self.source.content[self.fed:end])
            self.publisher.process.stdin.flush()
            self.fed = end

    def end(self):
        """The feed ends with what was let through."""
        try:
            self.publisher.process.stdin.close()
        except BrokenPipeError:
            pass  # it ended first, as some tests mean it to


def remove_ring(description):
    """Removes the ring file that a killed publisher may have left in shared memory."""
    try:
        ring = pathlib.Path(json.loads(description.read_text())["ring_path"])
        ring.unlink()
        ring.parent.rmdir()
    except (OSError, ValueError, KeyError):
        pass  # closed cleanly, in use by another bus's rings, or damaged by the test


def disk_bytes(path):
    """The disk space that a file takes: less than its size where it has holes."""
    return path.stat().st_blocks * 512


def kept_bytes(journal, segment_records, records):
    """Of the segments that hold `records` records; how many more are made ahead is left to chance."""
    kept = 0
    for path in pathlib.Path(journal).rglob("*.jnl"):
        if int(path.stem) * segment_records < records:
            with contextlib.suppress(FileNotFoundError):  # retention has just removed it
                kept += path.stat().st_size
    return kept


class ProgramTest(unittest.TestCase):
    """A test with a scratch folder on disk, and processes that end with it."""

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
        """Starts a program of examples; an output of its own for each start."""
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
        """Waits for condition() to be true and returns its value; fails after HANG_SECONDS."""
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
        """Of the processor time there was, it used next to nothing for a second."""
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
        """Waits until the socket's listener serves a peer: who only waits is shown alone."""
        self.until("a peer to be served", lambda: any(
            len(channel["sides"]) == 2
            and peer in (None, *(side["pid"] for side in channel["sides"]))
            for channel in self.channels("--channel", path)))

    def until_listening(self, path):
        """Waits until a process listens on the socket at path: a name alone is there earlier."""
        def listening():
            with open("/proc/net/unix", encoding="utf-8", errors="replace") as sockets:
                return any(line.split()[3] == "00010000" and line.rstrip().endswith(" " + path)
                           for line in sockets)
        self.until(f"a listener on {path}", listening)


class BusTest(ProgramTest):
    """A test with a bus directory, besides.

    A publisher that is not given a --capacity gets ring_slots: most of what a start costs is the
    memory of its ring. None: the program's own default.
    """

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
        """Mounts at `folder`, an empty one, for the time of this test. Needs root."""
        folder.mkdir(parents=True, exist_ok=True)
        subprocess.run(["mount", *arguments, str(folder)], check=True)
        self.addCleanup(subprocess.run, ["umount", "-l", str(folder)], check=False,
                        stderr=subprocess.DEVNULL)  # for what the test has unmounted itself
        return folder

    def mount_disk(self, mebibytes, *mkfs):
        """Mounts a file system of that size, ext4 unless `mkfs` makes another one. Needs root."""
        image = self.folder / "disk.img"
        with open(image, "wb") as file:
            file.truncate(mebibytes << 20)
        subprocess.run([*(mkfs or ("mkfs.ext4", "-q", "-F")), str(image)], check=True)
        return self.mount(self.folder / "disk", "-o", "loop", str(image))

    def info(self, bus=None):
        """What `lapwing info --json` says now; None while there is no bus."""
        done = subprocess.run([program(), "info", "--json", "--bus", bus or self.bus],
                              capture_output=True, text=True, timeout=HANG_SECONDS, check=False)
        return json.loads(done.stdout) if done.returncode == 0 else None

    def until_head(self, least, bus=None):
        """Waits until the bus's head has reached `least`, be it in a session that is over."""
        def reached():
            info = self.info(bus)
            if not info:
                return False
            if info["ring"]:
                return info["ring"]["head"] >= least
            return any(session.get("last", 0) >= least for session in info.get("sessions", ()))
        self.until(f"head to reach {least}", reached)

    def until_durable(self, least, bus=None):
        """Waits until the journal of the running session holds the records through `least`."""
        def held():
            ring = (self.info(bus) or {}).get("ring")
            return ring and ring["durable"] >= least
        self.until(f"{least} to be durable", held)

    def publish_flow(self, name, source, *options, **popen):
        """Starts a publisher of a Dbn, a RecordFile or a DBN file's bytes; waits for Flow.feed()."""
        if isinstance(source, bytes):
            source = Dbn(source)
        publisher = self.start(name, "publish", "--source", source.source, *options,
                               stdin=subprocess.PIPE, **popen)
        flow = Flow(publisher, source)
        self.addCleanup(flow.end)
        return flow

    def raw_dbn(self, source):
        """The content of a feed as a raw DBN file."""
        other, path = str(self.folder / "raw"), self.folder / "raw.dbn"
        self.run_to_end("raw-publish", "publish", "--source", source, bus=other)
        self.run_to_end("raw-export", "export", "--out", path, bus=other)
        shutil.rmtree(other)
        return path.read_bytes()

    def assert_same_records(self, *followers):
        """Every follower's summary has the same records and digest, none lost, none twice."""
        summaries = [follower.summary() for follower in followers]
        for follower, summary in zip(followers, summaries, strict=True):
            where = f"{follower.name}: {summary}\n{follower.err()}"
            self.assertEqual(summary["lost"], 0, where)
            self.assertEqual(summary["duplicates"], 0, where)
            self.assertEqual(summary["out_of_order"], 0, where)
            self.assertEqual(summary["records"], summaries[0]["records"], where)
            self.assertEqual(summary["digest"], summaries[0]["digest"], where)
        return summaries[0]
