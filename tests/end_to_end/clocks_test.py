"""Tests publishers and monitors with different monotonic clocks, as in time namespaces.

Needs root and time namespaces. Reports what it skips otherwise.
"""

import json
import os
import shutil
import signal
import subprocess
import time
import unittest

import harness

DONE, ILL, GONE = 0, 1, 5
FAR_SECONDS = 100_000
# Longer than the silence after which a subscriber treats a publisher as ended.
SILENCE_SECONDS = 6


def has_time_namespaces():
    return os.geteuid() == 0 and shutil.which("unshare") and subprocess.run(
        ["unshare", "--time", "--monotonic", "1", "true"], capture_output=True,
        check=False).returncode == 0


@unittest.skipUnless(has_time_namespaces(), "SKIPPED: needs root and time namespaces")
class Clocks(harness.BusTest):
    def start_elsewhere(self, name, *arguments):
        """The same command with a monotonic clock that is a day ahead."""
        command, *more = arguments
        process = harness.Running(
            ["unshare", "--time", "--monotonic", str(FAR_SECONDS), "--boottime",
             str(FAR_SECONDS), "--fork", "--kill-child", harness.program(), command, "--bus",
             self.bus, *map(str, more)], self.folder, name)
        self.running.append(process)
        return process

    def publish(self, start):
        publisher = start("publisher", "publish", "--source", "synthetic:records=0", "--pace",
                          "1000", "--capacity", "65536")
        self.until("it to run", lambda: self.info() and self.info()["publisher"])
        return publisher

    def state(self):
        process = self.start("top", "top", "--once", "--json")
        self.assertEqual(process.wait(), DONE, process.err())
        (bus,) = json.loads(process.out())["buses"]
        return bus["state"]

    def health(self, start):
        process = start("health", "health")
        return process.wait()

    def test_a_publisher_of_another_clock_runs_stops_and_is_gone(self):
        publisher = self.publish(self.start_elsewhere)
        pid = self.info()["ring"]["publisher_pid"]
        self.assertEqual(self.health(self.start), DONE)
        self.assertEqual(self.state(), "running")
        os.kill(pid, signal.SIGSTOP)
        self.until("it to be ill", lambda: self.health(self.start) == GONE)
        os.kill(pid, signal.SIGCONT)
        self.until("it to be well", lambda: self.health(self.start) == DONE)
        # The last heartbeat remains in the future.
        os.kill(pid, signal.SIGKILL)
        publisher.wait()
        self.until("it to be gone", lambda: self.state() == "gone")
        self.assertEqual(self.health(self.start), GONE)
        ring = self.info()["ring"]
        self.assertEqual((ring["state"], ring["heartbeat_age_ms"]), ("gone", None))
        self.assertIn(", gone, heartbeat by another clock\n",
                      self.run_to_end("info", "info").out())

    def test_a_monitor_of_another_clock_does_not_call_a_running_publisher_silent(self):
        publisher = self.publish(self.start)
        self.assertEqual(self.health(self.start_elsewhere), DONE)
        publisher.kill()
        self.until("it to be gone", lambda: self.health(self.start_elsewhere) == GONE)

    def test_a_subscriber_of_another_clock_follows(self):
        publisher = self.publish(self.start)
        tail = self.start_elsewhere("tail", "tail", "--name", "elsewhere", "--format", "json",
                                    "--until-closed")
        self.until("it to read", lambda: '"caught-up"' in tail.out())
        time.sleep(SILENCE_SECONDS)
        self.assertEqual(publisher.stop(), DONE)
        self.assertEqual(tail.wait(), DONE, tail.err())
        self.assertNotIn("publisher-gone", tail.out())


if __name__ == "__main__":
    unittest.main()
