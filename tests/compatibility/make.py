#!/usr/bin/env python3
"""Creates a version folder: LAPWING_BIN=build/release/lapwing tests/compatibility/make.py VERSION

Contains buses with every kind of session end, and the results of the program LAPWING_BIN for them.
Run it once, with the released program. Needs /dev/shm."""

import json
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import buses
import harness

# A segment holds 2,048 kv16 records, or 1,024 dbn.mbo records.
SMALL = ("--segment-bytes", "65536", "--capacity", "2048")
KV16 = "kv16:keys=50,records="


class Maker:
    """Creates the buses one after another in a scratch folder."""

    def __init__(self, folder):
        self.folder = folder

    def start(self, name, *options):
        return subprocess.Popen(
            [harness.program(), "publish", "--bus", self.folder / name, *SMALL, *options],
            stderr=subprocess.DEVNULL)

    def publish(self, name, source, *options, expect=0):
        code = self.start(name, "--source", source, *options).wait(harness.HANG_SECONDS)
        if code != expect:
            raise AssertionError(f"{name}: publish ended with {code}")

    def publish_and_kill(self, name, source, records, *options):
        """Kills the publisher when `head` reaches `records`. Returns the bus's description."""
        publisher = self.start(name, "--source", source, "--linger", "60s", *options)
        reading = buses.Reading(self.folder / name, self.folder)
        deadline = time.monotonic() + harness.HANG_SECONDS
        while time.monotonic() < deadline:
            code, out = reading.run("info", "--json")
            ring = code == 0 and json.loads(out)["ring"]
            if ring and ring["head"] == records:
                break
            time.sleep(0.02)
        publisher.send_signal(signal.SIGKILL)
        publisher.wait()
        return self.folder / name / "bus.json"

    def checkpoint(self, name, *folds):
        for fold in folds:
            buses.Reading(self.folder / name, self.folder).run(
                "checkpoint", "--fold", fold, "--until-closed")

    # Each method below creates the bus that it is named after.

    def kv16_clean(self, name):
        self.publish(name, KV16 + "600")
        self.checkpoint(name, "latest")

    def kv16_recovered(self, name):
        """A session was killed, and the next start found its ring."""
        self.publish(name, KV16 + "300")
        self.publish_and_kill(name, KV16 + "250", 550)
        self.publish(name, KV16 + "50")

    def kv16_cut(self, name):
        """A power cut removed the ring: the records that were not durable are a void."""
        self.publish(name, KV16 + "300")
        harness.remove_ring(self.publish_and_kill(name, KV16 + "250", 550, "--sync-interval",
                                                   "on-request"))
        self.publish(name, KV16 + "50")

    def kv16_open(self, name):
        """The power was cut, and no publisher has started since."""
        self.publish(name, KV16 + "300")
        harness.remove_ring(self.publish_and_kill(name, KV16 + "250", 550))

    def kv16_pruned(self, name):
        self.publish(name, KV16 + "7000", "--retain-bytes", "65536", "--pace", "20000")

    def kv16_failed(self, name):
        """A segment could not be created: the journal failed, and live publishing continued."""
        publisher = self.start(name, "--source", KV16 + "12000", "--pace", "10000")
        journals = []
        while not journals:
            journals = list((self.folder / name / "journal").glob("*/retention"))
            time.sleep(0.01)
        obstacles = [journals[0].parent / f"{segment:020}.jnl" for segment in range(3, 7)]
        for obstacle in obstacles:
            obstacle.mkdir()
        code = publisher.wait(harness.HANG_SECONDS)
        if code != 6:
            raise AssertionError(f"{name}: publish ended with {code}")
        for obstacle in obstacles:
            obstacle.rmdir()

    def mbo_clean(self, name):
        self.publish(name, "synthetic:records=1200")
        self.checkpoint(name, "latest", "orders")
        buses.Reading(self.folder / name, self.folder).record()


def main():
    if len(sys.argv) != 2:
        print(__doc__, file=sys.stderr)
        return 2
    target = buses.HERE / sys.argv[1]
    target.mkdir()
    expected = {}
    with tempfile.TemporaryDirectory(prefix="lapwing-compatibility-") as scratch:
        folder = pathlib.Path(scratch)
        maker = Maker(folder)
        for name in ("kv16_clean", "kv16_recovered", "kv16_cut", "kv16_open", "kv16_pruned",
                     "kv16_failed", "mbo_clean"):
            getattr(maker, name)(name)
            archive = target / f"{name}.tar.zst"
            buses.pack(folder, name, archive)
            shutil.rmtree(folder / name)
            bus = buses.unpack(archive, folder)
            reading = buses.Reading(bus, folder)
            expected[name] = {**reading.everything(), "continued": reading.continued()}
            shutil.rmtree(bus)
    (target / "expected.json").write_text(json.dumps(expected, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
