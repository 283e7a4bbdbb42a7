"""Late joins from a snapshot: the state is that of a subscriber which was there from the start.

LAPWING_SNAPSHOT_JOINS says how many. The program late_joins does the joining and the comparing.
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
    """A feed that is published steadily, a checkpointer beside it, and those who come late."""

    def joiner(self, joins, seed):
        folder = os.environ.get("LAPWING_BUILD_DIR", "")
        program = pathlib.Path(folder) / "tests" / "late_joins"
        if not os.access(program, os.X_OK):
            raise RuntimeError(f"{program} is not a program: build it, then set LAPWING_BUILD_DIR")
        process = harness.Running([str(program), self.bus, str(joins), str(seed)], self.folder,
                                  "late_joins")
        self.running.append(process)
        return process

    def until_checkpoints(self, count):
        folder = pathlib.Path(self.bus) / "checkpoint" / "orders"
        self.until(f"{count} checkpoints", lambda: len(list(folder.glob("*.ckpt"))) >= count)

    def test_every_late_join_ends_with_the_state_of_who_was_there_from_the_start(self):
        feed = harness.test_data(FEED)
        joins = int(os.environ.get("LAPWING_SNAPSHOT_JOINS", "20"))
        seed = random.randrange(2**32)
        self.start("publish", "publish", "--source", f"dbn:{feed}", "--pace",
                   str(RECORDS_A_SECOND), "--loop", "0")
        self.start("checkpoint", "checkpoint", "--fold", "orders", "--every",
                   str(CHECKPOINT_EVERY), "--keep", "2")
        self.until_checkpoints(1)
        joiner = self.joiner(joins, seed)
        code = joiner.wait(3600)
        said = f"seed {seed}: {joiner.out()}{joiner.err()}"
        self.assertEqual(code, 0, said)
        result = json.loads(joiner.out())
        self.assertEqual(result["joins"], joins, said)
        self.assertGreater(result["snapshots"], 1, "or every join was from the same one: " + said)
        self.assertGreater(result["records"], 0, said)
        print(f"{joins} joins from {result['snapshots']} snapshots, {result['records']} records "
              f"after {result['entries']} entries, to sequence {result['at']}")


if __name__ == "__main__":
    unittest.main(verbosity=2)
