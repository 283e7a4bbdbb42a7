"""Tests that children in the context have another clock, and this process keeps its own."""

import os
import subprocess
import sys
import time
import unittest

import time_namespace

AHEAD_SECONDS = 1_000_000
NEAR_SECONDS = 1_000


def clock_of_a_child():
    # preexec_fn makes it fork: a child of vfork shares memory and stays in this namespace.
    done = subprocess.run([sys.executable, "-c", "import time; print(time.monotonic())"],
                          preexec_fn=lambda: None, capture_output=True, text=True, check=True)
    return float(done.stdout)


@unittest.skipUnless(os.geteuid() == 0, "SKIPPED: needs root to make a namespace")
class TimeNamespace(unittest.TestCase):
    def test_only_children_within_are_ahead(self):
        try:
            with time_namespace.of(AHEAD_SECONDS):
                self.assertGreater(clock_of_a_child(), time.monotonic() + AHEAD_SECONDS - 1)
                own = time.monotonic()
        except OSError as reason:
            self.skipTest(f"SKIPPED: no time namespace: {reason}")
        self.assertLess(own, clock_of_a_child())
        self.assertLess(clock_of_a_child(), own + NEAR_SECONDS)

    def test_without_an_offset_the_clock_is_the_same(self):
        with time_namespace.of(0):
            self.assertLess(clock_of_a_child(), time.monotonic() + NEAR_SECONDS)


if __name__ == "__main__":
    unittest.main()
