"""A state larger than the memory that its checkpointer may have.

LAPWING_LARGE_KEYS distinct kv16 keys in an order without locality, published as fast as the journal
takes them; then a checkpointer in a control group of 1 GiB (without one, by its own peak) makes the
state of them. Prints the rate, the peak, and what the checkpoint took. 100,000,000 keys are the
measure of docs/adr/0011-a-store-for-folds.md.
"""

import os
import pathlib
import struct
import threading
import time
import unittest

import harness

KEYS = int(os.environ.get("LAPWING_LARGE_KEYS", "2000000"))
HOURS = 3600
MEMORY_BYTES = 1 << 30
HEADER_BYTES = 4096
GROUPS = pathlib.Path("/sys/fs/cgroup/memory")
MASK = (1 << 64) - 1


def key_of(number, seed=1):
    """As the feed makes it: SplitMix64."""
    word = (seed + number + 0x9E3779B97F4A7C15) & MASK
    word = ((word ^ (word >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    word = ((word ^ (word >> 27)) * 0x94D049BB133111EB) & MASK
    return word ^ (word >> 31)


class LargeState(harness.BusTest):
    """One bus, one state."""

    def group(self):
        """A control group of MEMORY_BYTES, the page cache of what it reads and writes included."""
        group = GROUPS / f"lapwing-{os.getpid()}"
        try:
            group.mkdir()
            (group / "memory.limit_in_bytes").write_text(str(MEMORY_BYTES))
        except OSError as error:
            print(f"\nno control group here ({error}): the checkpointer's own peak is measured")
            return None
        self.addCleanup(group.rmdir)
        return group

    def watch(self, process, peaks):
        """Notes the process's peak of resident memory, in bytes, until it ends."""
        while process.alive():
            try:
                status = pathlib.Path(f"/proc/{process.pid}/status").read_text()
            except OSError:
                return
            for line in status.splitlines():
                if line.startswith("VmHWM"):
                    peaks.append(int(line.split()[1]) << 10)
            time.sleep(0.05)

    def test_a_state_larger_than_memory(self):
        published = self.start("publish", "publish", "--source", f"kv16:records={KEYS}")
        self.assertEqual(published.wait(HOURS), 0, published.err())
        group = self.group()

        def join_group():
            if group is not None:
                (group / "cgroup.procs").write_text(str(os.getpid()))

        began = time.monotonic()
        running = self.start("checkpoint", "checkpoint", "--fold", "latest", "--every", "1h",
                             "--until-closed", "--summary", preexec_fn=join_group)
        peaks = [0]
        watcher = threading.Thread(target=self.watch, args=(running, peaks))
        watcher.start()
        self.assertEqual(running.wait(HOURS), 0, running.err())
        seconds = time.monotonic() - began
        watcher.join()
        summary = running.summary()
        last = summary["last_checkpoint"]
        self.assertEqual(summary["records"], KEYS)
        self.assertEqual(last["entries"], KEYS)
        self.assertLess(peaks[-1], MEMORY_BYTES)
        self.assert_right(KEYS)
        folded = seconds - last["seconds"]
        print(f"\n{KEYS} keys: {KEYS / folded:,.0f} a second folded and kept, checkpoint of "
              f"{last['bytes'] >> 20} MiB in {last['seconds']:.1f} s, peak resident "
              f"{peaks[-1] >> 20} MiB, {'control group' if group else 'not limited'}")

    def assert_right(self, keys):
        """Samples of the file: sorted, and each number's key with its value."""
        path = pathlib.Path(self.bus) / "checkpoint" / "latest" / f"{keys:020d}.ckpt"
        with open(path, "rb") as file:
            def entry(index):
                file.seek(HEADER_BYTES + 16 * index)
                return struct.unpack("<QQ", file.read(16))

            for number in range(0, keys, max(keys // 2000, 1)):
                key, low, high = key_of(number), 0, keys - 1
                while low < high:
                    middle = (low + high) // 2
                    if entry(middle)[0] < key:
                        low = middle + 1
                    else:
                        high = middle
                self.assertEqual(entry(low), (key, number + 1))


if __name__ == "__main__":
    unittest.main(verbosity=2)
