"""Tests that one thread is stopped while another of the same process continues."""

import subprocess
import sys
import unittest

import thread_stop

COUNTING = """
import sys, threading, time
counts = [0, 0]
def count(index):
    while True:
        counts[index] += 1
        time.sleep(0.001)
for index in range(2):
    threading.Thread(target=count, args=(index,), daemon=True).start()
for line in sys.stdin:
    print(*counts, flush=True)
"""


def ask(process):
    process.stdin.write("\n")
    process.stdin.flush()
    return [int(count) for count in process.stdout.readline().split()]


class ThreadStop(unittest.TestCase):
    def test_a_thread_stands_still_and_its_neighbour_does_not(self):
        with subprocess.Popen([sys.executable, "-c", COUNTING], stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE, text=True) as process:
            ask(process)
            threads = thread_stop.threads_of(process.pid)
            try:
                with thread_stop.Stopped(threads[1]):
                    before = ask(process)
                    after = ask(process)
                    while after[1] < before[1] + 20:
                        after = ask(process)
                    self.assertEqual(after[0], before[0])
                while ask(process)[0] == before[0]:
                    pass
            except PermissionError:
                self.skipTest("SKIPPED: ptrace is not allowed here")
            finally:
                process.kill()


if __name__ == "__main__":
    unittest.main()
