"""Shared by the recording tests: recorders that are started and killed."""

import json
import os
import random
import signal
import threading
import time

import harness

KILLS = int(os.environ.get("LAPWING_KILLS", "25"))
RUN_SECONDS_MAX = 0.6  # from a recorder's start to its kill
FEED_PAUSE_SECONDS = 0.01


class RecordingTest(harness.BusTest):
    """A test that records a bus from its oldest record."""

    def record(self, name, out, *more):
        return self.start(name, "record", "--from", "start", "--out", str(out), "--until-closed",
                          "--summary", *more)

    def committed(self, out):
        """The last record that is safely in the recording."""
        position = out.with_name(out.name + ".position")
        return json.loads(position.read_text())["sequence"] if position.exists() else 0

    def series(self, out):
        """The files of a series, in order."""
        stem, suffix = out.name.split(".", 1)
        return sorted(self.folder.glob(f"{stem}.[0-9]*.{suffix}"))

    def kill_again_and_again(self, source, out, *rotation):
        """Records a flow with recorders that are killed at random moments, and a final one."""
        seed = random.randrange(1 << 32)
        print(f"\n{KILLS} kills, {out.name}, {' '.join(rotation)}, seed {seed}")
        chance = random.Random(seed)
        flow = self.publish_flow("publish", source)
        kill = 0
        steps = RUN_SECONDS_MAX / 2 / FEED_PAUSE_SECONDS  # approximately, per kill

        def feed():  # steadily, but never ahead of the kills
            fed = 0
            while kill < KILLS:
                fed = min(fed + 1 / steps, kill + 1)
                flow.feed(max(int(source.records * fed / (KILLS + 1)), 1))
                time.sleep(FEED_PAUSE_SECONDS)

        feeding = threading.Thread(target=feed)
        feeding.start()
        try:
            for kill in range(KILLS):
                before = self.committed(out)
                recorder = self.record(f"recorder-{kill}", out, *rotation)
                if kill % 5 == 0:  # so that some reach this point even on a slow machine
                    self.until("a commit", lambda last=before: self.committed(out) > last)
                time.sleep(chance.uniform(0, RUN_SECONDS_MAX))  # the random moment
                self.assertEqual(recorder.kill(), -signal.SIGKILL, recorder.err())
        finally:
            kill = KILLS
            feeding.join()
        last = self.record("recorder-last", out, *rotation)
        flow.feed(source.records)
        flow.end()
        self.assertEqual(flow.publisher.wait(), 0, flow.publisher.err())
        self.assertEqual(last.wait(), 0, last.err())
        self.assertIn("continues after record", last.err())
