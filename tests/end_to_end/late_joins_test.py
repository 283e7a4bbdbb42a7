"""Tests late joins from a snapshot: the state equals that of a subscriber that has run since the
start.

LAPWING_SNAPSHOT_JOINS is the number of joins. The program late_joins joins and compares.
"""

import json
import os
import pathlib
import random
import unittest

import harness

FEED = "esh4-glbx-mdp3-20231225.mbo.dbn.zst"
RECORDS_A_SECOND = 20_000
CHECKPOINT_EVERY = 15_000


class LateJoins(harness.BusTest):
    """A steadily published feed, a checkpointer, and late joiners."""

    def joiner(self, joins, seed):
        folder = os.environ.get("LAPWING_BUILD_DIR", "")
        program = pathlib.Path(folder) / "tests" / "late_joins"
        if not os.access(program, os.X_OK):
            raise RuntimeError(f"{program} is not a program: build it, then set LAPWING_BUILD_DIR")
        process = harness.Running([str(program), self.bus, str(joins), str(seed)], self.folder,
                                  f"late_joins-{seed}")
        self.running.append(process)
        return process

    def until_checkpoint_after(self, sequence):
        folder = pathlib.Path(self.bus) / "checkpoint" / "orders"
        self.until(f"a checkpoint after {sequence}",
                   lambda: any(int(file.stem) > sequence for file in folder.glob("*.ckpt")))

    def join(self, joins):
        """Runs that many joins. Returns the joiner's report."""
        seed = random.randrange(2**32)
        joiner = self.joiner(joins, seed)
        code = joiner.wait(3600)
        said = f"seed {seed}: {joiner.out()}{joiner.err()}"
        self.assertEqual(code, 0, said)
        result = json.loads(joiner.out())
        self.assertEqual(result["joins"], joins, said)
        self.assertGreater(result["records"], 0, said)
        print(f"{joins} joins from {result['snapshots']} snapshots, {result['records']} records "
              f"after {result['entries']} entries, to sequence {result['at']}")
        return result

    def test_every_late_join_ends_with_the_state_of_who_was_there_from_the_start(self):
        feed = harness.feed_file("mbo", FEED)
        joins = int(os.environ.get("LAPWING_SNAPSHOT_JOINS", "20"))
        self.start("publish", "publish", "--source", f"dbn:{feed}", "--pace",
                   str(RECORDS_A_SECOND), "--loop", "0")
        self.start("checkpoint", "checkpoint", "--fold", "orders", "--every",
                   str(CHECKPOINT_EVERY), "--keep", "2")
        self.until_checkpoint_after(0)
        early = self.join(joins // 2)
        self.until_checkpoint_after(early["newest"])
        late = self.join(joins - joins // 2)
        self.assertGreater(late["newest"], early["newest"], "every join was from the same one")


if __name__ == "__main__":
    unittest.main(verbosity=2)
