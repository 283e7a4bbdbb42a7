"""Tests limits, signals and refused calls: every end is reported, and orderly if possible."""

import errno
import functools
import json
import os
import pathlib
import resource
import shutil
import signal
import subprocess
import unittest

import harness
import seccomp

DONE, OTHER, DAMAGED = 0, 1, 4
QUIET = ("--format", "none", "--summary")
RECORDS = 20_000
MIB = 1 << 20
HUGE = 1 << 40  # size of a sparse file: reading all of it would not end within a test


def needs_root(test):
    return unittest.skipUnless(os.geteuid() == 0, "SKIPPED: needs root")(test)


def limited(which, limit):
    """A preexec_fn that sets the limit in the process."""
    return lambda: resource.setrlimit(which, (limit, limit))


class LimitsTest(harness.BusTest):
    def publish(self, name="publish", *options, records=RECORDS, **keywords):
        return self.run_to_end(name, "publish", "--source", f"synthetic:records={records}",
                               *options, **keywords)

    def checkpoint(self, name="checkpoint", fold="orders", **keywords):
        return self.run_to_end(name, "checkpoint", "--fold", fold, "--until-closed", "--summary",
                               **keywords)

    def assert_ends_with_words(self, process, *words):
        """Asserts that the process ended by itself, with its own message instead of a library's."""
        code = process.wait()
        self.assertGreaterEqual(code, 0, f"{process.name}: signal {-code}\n{process.err()}")
        if code != DONE:
            self.assertIn("lapwing: ", process.err())
        for text in ("std::", "terminate called", "Assertion", "Operation canceled", "what():"):
            self.assertNotIn(text, process.err())
        for word in words:
            self.assertIn(word, process.err())
        return code


class Clients(LimitsTest):
    """A publisher with sixteen client slots."""
    DESCRIPTORS, PLACES = 272, 16

    def attached(self):
        listed = self.start("subscribers", "subscribers", "--json")
        return len(json.loads(listed.out())["subscribers"]) if listed.wait() == DONE else 0

    def test_a_subscriber_without_a_place_says_so_and_gets_every_record(self):
        publisher = self.start("publish", "publish", "--source", f"synthetic:records={RECORDS}", "--linger", "3600s",
                               preexec_fn=limited(resource.RLIMIT_NOFILE, self.DESCRIPTORS))
        seated = [self.start(f"seated{i}", "tail", *QUIET, "--from", "start", "--until-closed")
                  for i in range(self.PLACES)]
        self.until("all places to be taken", lambda: self.attached() == self.PLACES)
        late = self.start("late", "tail", *QUIET, "--from", "start", "--until-closed")
        self.until("it to be said",
                   lambda: "follows ring and journal without a connection" in late.err())
        self.assertEqual(publisher.stop(), DONE)
        for tail in (late, *seated):
            self.assertEqual(tail.wait(), DONE, tail.err())
            self.assertEqual(json.loads(tail.out())["records"], RECORDS)
        self.assertNotIn("without a connection", seated[0].err())


class FileSizes(LimitsTest):
    """ulimit -f: a write beyond the limit fails."""

    def refuse(self, name, *arguments, limit, **keywords):
        process = self.run_to_end(name, *arguments, expect=OTHER,
                                  preexec_fn=limited(resource.RLIMIT_FSIZE, limit), **keywords)
        for word in ("File too large", "ulimit -f"):
            self.assertIn(word, process.err())
        return process

    def test_a_ring_and_a_journal_beyond_it_are_refused(self):
        source = ("publish", "--source", f"synthetic:records={RECORDS}")
        ring = self.refuse("ring", *source, limit=MIB)
        self.assertIn("ring", ring.err())
        journal = self.refuse("journal", *source, "--capacity", 1024, limit=MIB)
        self.assertIn(".jnl", journal.err())

    def test_records_that_a_file_does_not_take_end_record_and_export(self):
        self.publish()
        for limit in (1024, 4096, 256 << 10):
            for command in ("export", "record"):
                out = self.folder / f"{command}-{limit}.dbn"
                where = ("--from", "start", "--until-closed") if command == "record" else ()
                self.refuse(command, command, *where, "--out", out, limit=limit)

    def test_a_state_that_a_file_does_not_take_ends_checkpoint(self):
        self.publish()
        for limit in (1024, 4096, 65536):
            refused = self.start("checkpoint", "checkpoint", "--fold", "orders", "--until-closed",
                                 preexec_fn=limited(resource.RLIMIT_FSIZE, limit))
            # As with a full disk, it retries until there is room or it is ended.
            self.until("it to be said", lambda: "ulimit -f" in refused.err())
            self.assertEqual(refused.stop(), OTHER, refused.err())
            self.assertIn("File too large", refused.err())
        self.checkpoint()


class Exports(LimitsTest):
    """A file written by `export` gets its name only when it is complete."""
    RECORDS, RECORD_BYTES = 1_500_000, 56
    TRIES = 100
    NICE = 10

    def setUp(self):
        super().setUp()
        self.publish(records=self.RECORDS)
        self.out = self.folder / "out.dbn"
        self.unfinished = self.folder / "out.dbn.new"

    def export(self, name, **keywords):
        return self.run_to_end(name, "export", "--out", self.out, **keywords)

    def assert_no_file(self):
        self.assertEqual([path.name for path in self.folder.glob("out.dbn*")], [])

    def assert_whole(self):
        self.assertGreater(self.out.stat().st_size, self.RECORDS * self.RECORD_BYTES)
        self.assertFalse(self.unfinished.exists())

    def written_bytes(self):
        try:
            return self.unfinished.stat().st_size
        except FileNotFoundError:
            return 0

    def held_export(self):
        """Starts an export and stops it (SIGSTOP) before it has written half of its records.

        The export shares one processor with this test and has a tenth of this test's weight.
        Therefore this test sees its first bytes in time, regardless of the machine's load."""
        processors = os.sched_getaffinity(0)
        for number in range(self.TRIES):
            os.sched_setaffinity(0, {min(processors)})
            try:
                export = self.start(f"held-{number}", "export", "--out", self.out,
                                    preexec_fn=lambda: os.nice(self.NICE))
                while self.written_bytes() == 0 and export.alive():
                    pass  # without a pause, during which it would complete
                export.signal(signal.SIGSTOP)
            finally:
                os.sched_setaffinity(0, processors)
            self.until("it to be stopped or ended",
                       lambda process=export: not process.alive() or stopped(process.pid))
            if export.alive() and 0 < self.written_bytes() < self.RECORDS * self.RECORD_BYTES // 2:
                return export
            export.kill()
            self.out.unlink(missing_ok=True)
        raise AssertionError(f"void: {self.TRIES} exports were complete before they were stopped")

    def test_an_export_that_is_interrupted_leaves_no_file(self):
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            with self.subTest(signal=number):
                export = self.held_export()
                self.assertFalse(self.out.exists())
                export.signal(number)
                export.signal(signal.SIGCONT)
                self.assertEqual(export.wait(), OTHER, export.err())
                self.assertIn("out.dbn was not written", export.err())
                self.assert_no_file()
        self.export("whole")
        self.assert_whole()

    def test_what_a_killed_export_leaves_is_replaced_by_the_next_one(self):
        export = self.held_export()
        export.kill()
        self.assertFalse(self.out.exists())
        self.assertTrue(self.unfinished.exists())
        self.export("whole")
        self.assert_whole()

    def test_of_two_exports_to_one_file_the_second_is_refused(self):
        held = self.held_export()
        refused = self.export("refused", expect=OTHER)
        self.assertIn("another process is writing", refused.err())
        held.signal(signal.SIGCONT)
        self.assertEqual(held.wait(), DONE, held.err())
        self.assert_whole()

    def test_an_export_that_the_file_system_refuses_leaves_no_file(self):
        refused = self.start("refused", "export", "--out", self.out,
                             preexec_fn=limited(resource.RLIMIT_FSIZE, MIB))
        self.assert_ends_with_words(refused, "File too large", "out.dbn was not written")
        self.assertEqual(refused.wait(), OTHER)
        self.assert_no_file()

    def test_an_export_does_not_replace_a_file(self):
        self.out.write_text("precious")
        self.export("refused", expect=2)
        self.assertEqual(self.out.read_text(), "precious")


def stopped(pid):
    """True if the process is stopped by a signal."""
    text = pathlib.Path(f"/proc/{pid}/stat").read_text(encoding="utf-8")
    return text.rsplit(")", 1)[1].split()[0] == "T"


@functools.cache
def least_address_space():
    """The minimum MiB with which the program starts; with less, the loader ends it before main."""
    for mib in range(8, 1024, 8):
        done = subprocess.run([harness.program(), "--version"], capture_output=True, check=False,
                              preexec_fn=limited(resource.RLIMIT_AS, mib * MIB))
        if done.returncode == DONE:
            return mib
    raise AssertionError("the program does not start with a gigabyte of address space")


class Memory(LimitsTest):
    """Too little address space, and too few threads and descriptors."""

    def address_spaces(self, *wanted):
        """The sizes in `wanted`, in MiB, with which the program starts: most of them."""
        enough = [mib for mib in wanted if mib >= least_address_space()]
        self.assertGreater(len(enough), len(wanted) // 2)
        return enough

    def test_a_checkpointer_without_address_space_says_so(self):
        self.publish()
        self.checkpoint()
        for mib in self.address_spaces(24, 32, 48, 64, 96, 128, 256, 400, 512):
            for fold in ("orders", "latest"):
                refused = self.start("checkpoint", "checkpoint", "--fold", fold, "--until-closed",
                                     preexec_fn=limited(resource.RLIMIT_AS, mib * MIB))
                self.assertEqual(self.assert_ends_with_words(refused, "ulimit -v"), OTHER)
        self.checkpoint(preexec_fn=limited(resource.RLIMIT_AS, 1024 * MIB))

    def test_a_publisher_without_address_space_says_so(self):
        self.ring_slots = None
        for mib in self.address_spaces(24, 48, 72, 80, 88, 96, 104):
            process = self.start("publish", "publish", "--source", f"synthetic:records={RECORDS}",
                                 preexec_fn=limited(resource.RLIMIT_AS, mib * MIB))
            code = self.assert_ends_with_words(process)
            if code != DONE:
                self.assertEqual(code, OTHER)
                self.assertIn("ulimit -v", process.err())

    def test_a_feed_that_needs_more_memory_than_there_is_is_not_called_damaged(self):
        path = self.folder / "feed.dbn.zst"
        packed = subprocess.run(["zstd", "-q", "--long=27", "-c"], check=True, capture_output=True,
                                input=self.raw_dbn("synthetic:records=1000"))
        path.write_bytes(packed.stdout)  # its size is unknown: needs a window of 128 MiB
        refused = self.start("publish", "publish", "--source", f"dbn:{path}",
                             preexec_fn=limited(resource.RLIMIT_AS, 100 * MIB))
        self.assertEqual(self.assert_ends_with_words(refused, str(path), "ulimit -v"), OTHER)
        self.assertNotIn("damaged", refused.err())
        self.run_to_end("publish", "publish", "--source", f"dbn:{path}")

    @needs_root
    def test_with_few_processes_each_command_works_or_says_what_is_in_the_way(self):
        user = 1_000_000 + os.getpid()  # an unused user: its processes are counted
        self.folder.chmod(0o777)
        self.addCleanup(shutil.rmtree, f"/dev/shm/lapwing-{user}", ignore_errors=True)

        def as_user(processes):
            return {"user": user, "group": user, "extra_groups": [],
                    "preexec_fn": limited(resource.RLIMIT_NPROC, processes)}
        self.publish(**as_user(1000))
        ended = set()
        for processes in range(1, 13):
            for fold in ("orders", "latest"):
                shutil.rmtree(pathlib.Path(self.bus) / "checkpoint", ignore_errors=True)
                process = self.start("checkpoint", "checkpoint", "--fold", fold, "--until-closed",
                                     **as_user(processes))
                ended.add(self.assert_ends_with_words(process))
            bus = str(self.folder / f"bus-{processes}")
            process = self.start("publish", "publish", "--source", f"synthetic:records={RECORDS}",
                                 bus=bus, **as_user(processes))
            ended.add(self.assert_ends_with_words(process))
        self.assertEqual(ended, {DONE, OTHER})

    def test_a_checkpointer_without_descriptors_calls_no_store_damaged(self):
        self.publish()
        self.checkpoint()
        for descriptors in (4, 5, 6, 8, 12, 16, 24, 32):
            refused = self.start("checkpoint", "checkpoint", "--fold", "orders", "--until-closed",
                                 preexec_fn=limited(resource.RLIMIT_NOFILE, descriptors))
            code = self.assert_ends_with_words(refused, "Too many open files", "ulimit -n")
            self.assertEqual(code, OTHER)
            self.assertNotIn("remove", refused.err())
        self.checkpoint()

    def test_a_publisher_and_readers_without_descriptors_say_so(self):
        self.publish()
        for descriptors in range(4, 24):
            few = limited(resource.RLIMIT_NOFILE, descriptors)
            for arguments in (("verify",), ("tail", "--from", "start", "--until-closed", *QUIET),
                              ("publish", "--source", "synthetic:records=10")):
                process = self.start(arguments[0], *arguments, preexec_fn=few,
                                     bus=self.bus if arguments[0] != "publish" else
                                     str(self.folder / f"bus-{descriptors}"))
                code = self.assert_ends_with_words(process)
                if code != DONE:
                    self.assertIn("Too many open files", process.err())
                    self.assertEqual(code, OTHER, process.err())


class Signals(LimitsTest):
    """SIGHUP and SIGXCPU request an end, like SIGTERM."""

    def hold(self, **popen):
        holder = self.start("holder", "publish", "--source", "synthetic:records=1000",
                            "--linger", "600s", "--summary", **popen)
        self.until_head(1000)
        return holder

    def assert_closed(self):
        self.assertEqual(self.info()["sessions"][-1]["end"], "closed")

    def test_a_closed_terminal_ends_a_publisher_properly(self):
        holder = self.hold()
        holder.signal(signal.SIGHUP)
        self.assertEqual(holder.wait(), DONE, holder.err())
        self.assert_closed()

    def test_whoever_was_started_with_nohup_outlives_its_terminal(self):
        holder = self.hold(preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN))
        holder.signal(signal.SIGHUP)
        status = pathlib.Path(f"/proc/{holder.pid}/status").read_text()
        (ignored,) = (line.split()[1] for line in status.splitlines() if line.startswith("SigIgn"))
        self.assertTrue(int(ignored, 16) >> (signal.SIGHUP - 1) & 1)
        self.assertTrue(holder.alive())
        self.assertEqual(holder.stop(), DONE)

    def test_a_recording_is_finished_when_the_terminal_is_closed(self):
        self.hold()
        out = self.folder / "copy.dbn"
        recorder = self.start("record", "record", "--from", "start", "--out", out, "--summary")
        self.until("it to be live", lambda: "caught up" in recorder.err())
        recorder.signal(signal.SIGHUP)
        self.assertEqual(recorder.wait(), DONE, recorder.err())
        self.assertEqual(recorder.summary()["records"], 1000)

    def test_the_soft_limit_on_processor_time_ends_it_properly_and_is_said(self):
        holder = self.hold()
        follower = self.start("tail", "tail", "--from", "start", *QUIET)
        self.until("it to be live", lambda: "caught up" in follower.err())
        for process in (follower, holder):
            process.signal(signal.SIGXCPU)
            self.assertEqual(process.wait(), OTHER, process.err())
            self.assertIn("ulimit -t", process.err())
        self.assertEqual(follower.summary()["records"], 1000)
        self.assert_closed()


class RefusedCalls(LimitsTest):
    """System calls that a container's seccomp profile refuses."""

    def test_where_io_uring_may_be_set_up_but_not_used_posix_writes_the_journal(self):
        for call in ("io_uring_enter", "io_uring_register"):
            for answer in (errno.EPERM, errno.ENOSYS):
                bus = str(self.folder / f"{call}-{answer}")
                publisher = self.publish("publish", "--summary", bus=bus,
                                         preexec_fn=lambda: seccomp.refuse(call, answer))
                self.assertIn("posix (", publisher.err())
                self.assertEqual(publisher.summary()["durable"], RECORDS)

    def test_a_pipe_that_cannot_wait_says_so_and_calls_nothing_done(self):
        path = str(self.folder / "x.sock")
        source = self.folder / "source"
        source.write_bytes(b"x" * 1000)
        start = super(harness.BusTest, self).start  # these commands have no --bus
        listening = start("listen", "pipe", "--listen", path)
        self.until_listening(path)
        with open(source, "rb") as whole:
            sending = start("connect", "pipe", "--connect", path, stdin=whole,
                            preexec_fn=lambda: seccomp.refuse("poll", errno.ENOSYS))
        self.assertEqual(self.assert_ends_with_words(sending, "poll"), OTHER)
        self.assertNotEqual(listening.wait(), 0, "what is not there is not all there")

    def test_a_publisher_cannot_do_without_membarrier_and_says_so(self):
        for answer in (errno.EPERM, errno.ENOSYS):
            refused = self.publish("publish", expect=OTHER,
                                   preexec_fn=lambda: seccomp.refuse("membarrier", answer))
            for word in ("membarrier", "seccomp", "Linux 4.14"):
                self.assertIn(word, refused.err())
            self.assertFalse(list(pathlib.Path(self.bus).rglob("*.jnl")), "nothing was begun")
        self.publish("allowed")

    def test_without_membarrier_a_subscriber_that_parks_misses_nothing(self):
        flow = self.publish_flow("publish", self.raw_dbn(f"synthetic:records={RECORDS}"))
        flow.feed(1)
        self.until_head(1)
        parked = self.start("parked", "tail", "--from", "start", "--wait", "park",
                            "--until-closed", *QUIET,
                            preexec_fn=lambda: seccomp.refuse("membarrier"))
        self.until("it to be live", lambda: "caught up" in parked.err())
        flow.feed(RECORDS)
        flow.end()
        self.assertEqual(parked.wait(), DONE, parked.err())
        self.assertEqual(parked.summary()["records"], RECORDS)

    def test_without_membarrier_on_either_side_a_channel_carries_everything(self):
        start = super(harness.BusTest, self).start  # these commands have no --bus
        content = b"".join(b"%d\n" % number for number in range(RECORDS))
        source = self.folder / "source"
        source.write_bytes(content)
        for refused in ("listen", "connect", "listen connect"):
            path = str(self.folder / f"{refused.replace(' ', '-')}.sock")
            def without(side):
                return (lambda: seccomp.refuse("membarrier")) if side in refused else None
            receiver = start("listen", "pipe", "--listen", path, "--wait", "park",
                             preexec_fn=without("listen"))
            self.until_listening(path)
            with open(source, "rb") as whole:
                sender = start("connect", "pipe", "--connect", path, "--wait", "park",
                               *harness.WITH_PATIENCE, stdin=whole, preexec_fn=without("connect"))
            self.assertEqual(sender.wait(), DONE, sender.err())
            self.assertEqual(receiver.wait(), DONE, receiver.err())
            self.assertEqual(receiver.out_path.read_bytes(), content)

    def test_what_the_store_cannot_do_without_is_named(self):
        self.publish()
        for call, answer in (("sync_file_range", errno.EPERM), ("access", errno.ENOSYS),
                             ("access", errno.EPERM), ("fstatfs", errno.ENOMEM)):
            refused = self.start("checkpoint", "checkpoint", "--fold", "orders", "--until-closed",
                                 preexec_fn=lambda: seccomp.refuse(call, answer))
            self.assertEqual(self.assert_ends_with_words(refused, call, "seccomp"), OTHER)
        self.checkpoint(preexec_fn=lambda: seccomp.refuse("sync_file_range", errno.ENOSYS))


class HugeFiles(LimitsTest):
    """Huge sparse files: no command reads them completely."""

    def store(self):
        return pathlib.Path(self.bus) / "checkpoint" / "orders" / "state"

    def test_a_store_with_a_file_of_a_tebibyte_is_refused_with_its_name(self):
        self.publish()
        self.checkpoint()
        whole = self.folder / "whole"
        self.store().rename(whole)
        for pattern in ("MANIFEST-*", "CURRENT", "IDENTITY", "*.log"):
            shutil.rmtree(self.store(), ignore_errors=True)
            shutil.copytree(whole, self.store())
            path = next(self.store().glob(pattern))
            os.truncate(path, HUGE)
            refused = self.checkpoint(expect=DAMAGED)
            for word in (str(path), str(HUGE), "Remove the directory"):
                self.assertIn(word, refused.err())

    def test_a_pipe_in_the_place_of_a_file_of_the_store_is_refused(self):
        self.publish()
        self.checkpoint()
        for name in ("CURRENT", "LOCK"):
            path = self.store() / name
            kept = path.read_bytes()
            path.unlink()
            os.mkfifo(path)
            refused = self.checkpoint(expect=OTHER)
            self.assertIn(str(path), refused.err())
            path.unlink()
            path.write_bytes(kept)
        self.checkpoint()

    def test_an_index_of_a_tebibyte_is_a_finding_that_repair_heals(self):
        self.publish()
        (path,) = (pathlib.Path(self.bus) / "journal").rglob("*.idx")
        os.truncate(path, HUGE)
        self.run_to_end("tail", "tail", "--from", "time:2020-01-01T00:00:00Z", "--until-closed",
                        *QUIET)
        found = self.run_to_end("verify", "verify", expect=DAMAGED)
        self.assertIn(str(path), found.out())
        self.run_to_end("repair", "repair")
        self.run_to_end("verified", "verify")


if __name__ == "__main__":
    unittest.main(verbosity=2)
