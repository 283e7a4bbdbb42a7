"""Tests `--huge-pages` and `--numa-node`: the memory is as requested, or the command fails."""

import pathlib
import re
import unittest

import harness

DONE, OTHER, USAGE = 0, 1, 2
HUGE_BYTES = 2 << 20
RING = 65_536  # slots of 64 bytes: two huge pages
SHMEM = pathlib.Path("/sys/kernel/mm/transparent_hugepage/shmem_enabled")
NODES = pathlib.Path("/sys/devices/system/node/online")
CONTENT = b"hello\n"


def chosen(switch):
    """The selected value of a kernel setting, in brackets; empty if there is none."""
    found = re.search(r"\[(\w+)\]", switch.read_text()) if switch.exists() else None
    return found[1] if found else ""


def mapped_huge(pid, path):
    """Bytes of huge pages in a process's mappings of that file, by inode."""
    here, total, inode = False, 0, str(pathlib.Path(path).stat().st_ino)
    for line in pathlib.Path(f"/proc/{pid}/smaps").read_text().splitlines():
        if re.match(r"[0-9a-f]+-[0-9a-f]+ ", line):
            here = line.split()[4] == inode
        elif here and line.startswith(("ShmemPmdMapped:", "FilePmdMapped:")):
            total += int(line.split()[1]) << 10
    return total


class Ring(harness.BusTest):
    """The ring of a publisher."""

    def test_the_ring_has_huge_pages_or_the_start_is_refused_with_the_switch(self):
        holder = self.start("holder", "publish", "--source", "synthetic:records=1000",
                            "--huge-pages", "--capacity", RING, "--linger", "600s")
        self.until("a start or an end", lambda: not holder.alive() or (
            self.info() and self.info()["ring"]))
        if not holder.alive():
            self.assertEqual(holder.wait(), OTHER, holder.err())
            self.assertIn("huge=advise", holder.err())
            self.skipTest(f"SKIPPED: no huge pages in shared memory here: {holder.err().strip()}")
        ring = self.info()["ring"]["path"]
        self.assertGreaterEqual(mapped_huge(holder.pid, ring), 2 * HUGE_BYTES)
        tail = self.run_to_end("tail", "tail", "--from", "start", "--count", 1000, "--format",
                               "none", "--summary")
        self.assertEqual(tail.summary()["records"], 1000)

    def test_a_ring_without_room_for_one_is_refused(self):
        refused = self.run_to_end("refused", "publish", "--source", "synthetic:records=1000",
                                  "--huge-pages", "--capacity", 1024, expect=OTHER)
        self.assertIn("larger --capacity", refused.err())

    def test_a_ring_on_a_disk_is_refused_and_named(self):
        refused = self.run_to_end("refused", "publish", "--source", "synthetic:records=1000",
                                  "--huge-pages", "--capacity", RING, "--ring-dir", self.folder,
                                  expect=OTHER)
        self.assertIn(str(self.folder), refused.err())


class Channel(harness.ProgramTest):
    """The memory for a pipe's messages, which belongs to the sender."""

    def setUp(self):
        super().setUp()
        self.path = str(self.folder / "x.sock")
        self.source = self.folder / "source"
        self.source.write_bytes(CONTENT)

    def send(self, *options):
        """A sender with these options, and its listener."""
        receiver = self.start("receiver", "pipe", "--listen", self.path)
        self.until_listening(self.path)
        with open(self.source, "rb") as source:
            sender = self.start("sender", "pipe", "--connect", self.path, *options,
                                *harness.WITH_PATIENCE, stdin=source)
        sender.wait()
        return sender, receiver

    def assert_sent(self, sender, receiver):
        self.assertEqual(sender.wait(), DONE, sender.err())
        self.assertEqual(receiver.wait(), DONE, receiver.err())
        self.assertEqual(receiver.out_path.read_bytes(), CONTENT)

    def test_with_huge_pages_it_carries_or_is_refused_with_the_switch(self):
        sender, receiver = self.send("--huge-pages", "--capacity", 2 * HUGE_BYTES)
        if chosen(SHMEM) not in ("advise", "always", "force", "within_size"):
            self.assertEqual(sender.wait(), OTHER, sender.err())
            self.assertIn(str(SHMEM), sender.err())
            self.skipTest(f"SKIPPED: needs {SHMEM} to be advise or always")
        self.assert_sent(sender, receiver)

    def test_a_capacity_without_room_for_a_huge_page_is_refused(self):
        sender, _ = self.send("--huge-pages", "--capacity", "1M")
        self.assertEqual(sender.wait(), OTHER, sender.err())
        self.assertIn("larger capacity", sender.err())

    def test_on_a_node_that_is_there_it_carries(self):
        if not NODES.exists():
            self.skipTest("SKIPPED: needs a kernel with NUMA")
        self.assert_sent(*self.send("--numa-node", NODES.read_text().split("-")[0].split(",")[0]
                                    .strip()))

    def test_a_node_that_is_not_there_is_refused_with_those_that_are(self):
        if not NODES.exists():
            self.skipTest("SKIPPED: needs a kernel with NUMA")
        sender, _ = self.send("--numa-node", 63)
        self.assertEqual(sender.wait(), USAGE, sender.err())
        self.assertIn(f"there is no NUMA node 63; this machine has {NODES.read_text().strip()}",
                      sender.err())


if __name__ == "__main__":
    unittest.main(verbosity=2)
