"""Tests that `--thread-cpus` and similar options place all of Lapwing's threads, and no others."""

import contextlib
import os
import pathlib
import resource
import unittest

import harness

DONE, OTHER, USAGE = 0, 1, 2
OWN_THREADS = ("lapwing-service", "lapwing-file")
BATCH, FIFO = 3, 1  # numbers of policies in /proc/PID/task/TID/stat
NICE, PRIORITY, POLICY = 16, 37, 38  # indexes of fields after the name there, from 0
NOBODY = 65534


class Task:
    """A thread in /proc."""

    def __init__(self, folder):
        self.number = int(folder.name)
        self.name = (folder / "comm").read_text().strip()
        fields = (folder / "stat").read_text().rsplit(")", 1)[1].split()
        self.nice = int(fields[NICE])
        self.priority = int(fields[PRIORITY])
        self.policy = int(fields[POLICY])
        self.cpus = os.sched_getaffinity(self.number)


def tasks_of(pid):
    tasks = []
    for folder in pathlib.Path(f"/proc/{pid}/task").iterdir():
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):  # a worker that just ended
            tasks.append(Task(folder))
    return tasks


class Threads(harness.BusTest):
    def setUp(self):
        super().setUp()
        self.usable = sorted(os.sched_getaffinity(0))

    def publish(self, *options, **popen):
        """A running publisher whose first records are durable."""
        holder = self.start("holder", "publish", "--source", "synthetic:records=5000",
                            "--linger", "600s", *options, **popen)
        self.until_durable(5000)
        return holder

    def own(self, holder):
        """Its tasks except the publishing thread: the library's and the kernel's."""
        own = [task for task in tasks_of(holder.pid) if task.number != holder.pid]
        for name in OWN_THREADS:
            self.assertIn(name, [task.name for task in own])
        for task in own:
            self.assertTrue(task.name in OWN_THREADS or task.name.startswith("iou-wrk-"), task.name)
        return own

    def test_they_run_on_the_processors_given_and_the_publishing_thread_does_not(self):
        first, last = self.usable[0], self.usable[-1]
        holder = self.publish("--thread-cpus", last,
                              preexec_fn=lambda: os.sched_setaffinity(0, {first}))
        own = self.own(holder)
        for task in own:
            self.assertEqual(task.cpus, {last}, task.name)
        self.assertEqual(os.sched_getaffinity(holder.pid), {first})
        file_thread = next(task.number for task in own if task.name == "lapwing-file")
        workers = {task.name for task in own if task.name.startswith("iou-wrk-")}
        self.assertLessEqual(workers, {f"iou-wrk-{file_thread}"}, "no other thread has workers")
        writer = self.info()["journal_writer"]
        if writer.startswith("io_uring"):
            self.assertIn(f"workers on processors {last}", writer)
        self.assertEqual(holder.stop(), DONE, holder.err())

    def test_they_get_the_nice_value_and_the_policy_and_the_publishing_thread_does_not(self):
        before = Task(pathlib.Path("/proc/self/task") / str(os.getpid()))
        holder = self.publish("--thread-nice", 19, "--thread-policy", "batch")
        for task in self.own(holder):
            self.assertEqual((task.nice, task.policy), (19, BATCH), task.name)
        publishing = Task(pathlib.Path(f"/proc/{holder.pid}/task/{holder.pid}"))
        self.assertEqual((publishing.nice, publishing.policy), (before.nice, before.policy))

    @unittest.skipUnless(os.geteuid() == 0, "SKIPPED: needs root, for the right to real time")
    def test_they_may_be_favoured(self):
        holder = self.start("holder", "publish", "--source", "synthetic:records=5000", "--linger",
                            "600s", "--thread-policy", "fifo", "--thread-priority", 2)
        self.until("a start or an end", lambda: not holder.alive() or (
            self.info() and self.info()["ring"]))
        if not holder.alive():
            self.assertIn("real-time", holder.err())
            self.skipTest(f"SKIPPED: no real time here: {holder.err().strip()}")
        for task in self.own(holder):
            self.assertEqual((task.priority, task.policy), (2, FIFO), task.name)
        self.assertEqual(holder.stop(), DONE, holder.err())
        nicer = self.run_to_end("nicer", "publish", "--source", "synthetic:records=10",
                                "--thread-nice", -5)
        self.assertNotIn("--thread-nice", nicer.err())

    def test_without_the_options_they_are_as_the_command_is(self):
        last = self.usable[-1]
        holder = self.publish(preexec_fn=lambda: os.sched_setaffinity(0, {last}))
        for task in self.own(holder):
            if task.name in OWN_THREADS:  # the kernel places its workers itself
                self.assertEqual(task.cpus, {last}, task.name)

    def refused(self, *options, expect=USAGE, **popen):
        process = self.run_to_end("refused", "publish", "--source", "synthetic:records=1", *options,
                                  expect=expect, **popen)
        self.assertFalse(pathlib.Path(self.bus).exists(), "nothing is made")
        return process.err()

    def test_what_cannot_be_is_refused_and_names_the_option(self):
        self.assertIn("processor 8000", self.refused("--thread-cpus", "0,8000"))
        for text in ("3-1", "a", "1,", "0-9000"):
            self.assertIn("--thread-cpus", self.refused(f"--thread-cpus={text}"))
        self.assertIn("--thread-nice", self.refused("--thread-nice", 20))
        self.assertIn("--thread-policy", self.refused("--thread-policy", "fast"))
        self.assertIn("--thread-priority", self.refused("--thread-priority", 5))
        self.assertIn("1 to 99", self.refused("--thread-policy", "rr"))
        self.assertIn("Remove one of them", self.refused("--thread-policy", "idle",
                                                            "--thread-nice", 5))

    @unittest.skipUnless(os.geteuid() == 0, "SKIPPED: needs root, to become another user")
    def test_what_needs_a_right_is_refused_to_who_has_none(self):
        os.chmod(self.folder, 0o777)

        def give_up_rights():
            """Forbids -5, regardless of the limits of the shell that runs the test."""
            resource.setrlimit(resource.RLIMIT_NICE, (0, 0))
            os.setpriority(os.PRIO_PROCESS, 0, max(0, os.getpriority(os.PRIO_PROCESS, 0)))

        said = self.refused("--thread-nice", -5, expect=OTHER, user=NOBODY, group=NOBODY,
                            extra_groups=[], preexec_fn=give_up_rights)
        self.assertIn("ulimit -e", said)


if __name__ == "__main__":
    unittest.main(verbosity=2)
