"""Tests that a state with many keys is correct, even if it exceeds its checkpointer's memory.

Publishes LAPWING_LARGE_KEYS distinct kv16 keys in an order without locality, as fast as the journal
allows. Then a checkpointer builds their state. If the state is large enough, it does so in a
control group with 5/8 of the checkpoint's size as its memory; without control groups, its peak is
checked instead. A store's buffers and caches always take STORE_BYTES, so a smaller state would
prove nothing. Prints the rate, the peak, and the checkpoint's time.
docs/explanation/adr/0011-a-store-for-folds.md uses 100,000,000 keys.
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
ENTRY_BYTES = 16
STORE_BYTES = 512 << 20
MEMORY_BYTES = KEYS * ENTRY_BYTES * 5 // 8
KEYS_LEAST = -(-STORE_BYTES * 8 // (ENTRY_BYTES * 5))
KEYS_OF_A_SMALL_STATE = min(KEYS, 2_000_000)
HEADER_BYTES = 4096
GROUPS = pathlib.Path("/sys/fs/cgroup/memory")
MASK = (1 << 64) - 1


def key_of(number, seed=1):
    """The key as the feed computes it: SplitMix64."""
    word = (seed + number + 0x9E3779B97F4A7C15) & MASK
    word = ((word ^ (word >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    word = ((word ^ (word >> 27)) * 0x94D049BB133111EB) & MASK
    return word ^ (word >> 31)


class LargeState(harness.BusTest):
    """One bus, one state."""

    def group(self):
        """A control group with MEMORY_BYTES, including the page cache for its reads and writes."""
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
        """Records the process's peak resident memory, in bytes, until it ends."""
        while process.alive():
            try:
                status = pathlib.Path(f"/proc/{process.pid}/status").read_text()
            except OSError:
                return
            for line in status.splitlines():
                if line.startswith("VmHWM"):
                    peaks.append(int(line.split()[1]) << 10)
            time.sleep(0.05)

    def test_every_key_of_many_has_its_value(self):
        self.make_state(KEYS_OF_A_SMALL_STATE, None)

    @unittest.skipIf(KEYS < KEYS_LEAST, f"SKIPPED: a state larger than memory: a store takes "
                     f"{STORE_BYTES >> 20} MiB in any case, the state of {KEYS} keys "
                     f"{KEYS * ENTRY_BYTES >> 20}; set LAPWING_LARGE_KEYS={KEYS_LEAST} or more")
    def test_a_state_larger_than_memory(self):
        checkpoint_bytes, peak = self.make_state(KEYS, self.group())
        self.assertLess(peak, MEMORY_BYTES)
        self.assertLess(MEMORY_BYTES, checkpoint_bytes)

    def make_state(self, keys, group):
        """Checks a state with that many keys. Returns the checkpoint's size and peak memory."""
        published = self.start("publish", "publish", "--source", f"kv16:records={keys}")
        self.assertEqual(published.wait(HOURS), 0, published.err())

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
        self.assertEqual(summary["records"], keys)
        self.assertEqual(last["entries"], keys)
        self.assert_right(keys)
        folded = seconds - last["seconds"]
        print(f"\n{keys} keys: {keys / folded:,.0f} a second folded and kept, checkpoint of "
              f"{last['bytes'] >> 20} MiB in {last['seconds']:.1f} s, peak resident "
              f"{peaks[-1] >> 20} MiB, {'control group' if group else 'not limited'}")
        return last["bytes"], peaks[-1]

    def assert_right(self, keys):
        """Checks samples from the file: they are sorted, and have the value that belongs to their
        key."""
        path = pathlib.Path(self.bus) / "checkpoint" / "latest" / f"{keys:020d}.ckpt"
        with open(path, "rb") as file:
            def entry(index):
                file.seek(HEADER_BYTES + ENTRY_BYTES * index)
                return struct.unpack("<QQ", file.read(ENTRY_BYTES))

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
