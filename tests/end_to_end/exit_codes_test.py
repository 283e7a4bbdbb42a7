"""Tests the exit codes listed in `lapwing --help`: their meanings, and 3, 4 and 5 for each
command."""

import json
import pathlib
import re
import signal
import unittest

import harness
from help_test import COMMANDS, help_of

ROOT = pathlib.Path(__file__).resolve().parents[2]
STOPPED_AT_GAP, DAMAGED, GONE = 3, 4, 5
RING = 1024
RECORDS = 20 * RING
QUIET = ("--format", "none", "--summary")
BLOCK_BYTES = 4096


class Meanings(unittest.TestCase):
    """The documents and the help of every command list the same codes."""

    def test_every_help_lists_the_codes_of_the_documents(self):
        text = (ROOT / "docs" / "reference" / "exit-codes.md").read_text().split("\n## ")[0]
        documented = re.findall(r"^\| (\d+) \| (.*) \|$", text, re.M)
        self.assertEqual([int(code) for code, _ in documented], list(range(7)))
        listed = "Exit codes:" + "".join(f"\n  {code}  {words}" for code, words in documented)
        for command in ((), *((name,) for name in COMMANDS)):
            shown = help_of(*command)
            self.assertEqual(shown.count("Exit codes"), 1, command)
            self.assertTrue(shown.rstrip("\n").endswith(listed), (command, shown[-800:]))

    def test_no_unit_is_restarted_after_what_a_restart_cannot_help(self):
        units = list((ROOT / "deploy" / "systemd").glob("*.service"))
        self.assertEqual(len(units), 4)
        for unit in units:
            self.assertIn("\nRestartPreventExitStatus=2 3 4 6\n", unit.read_text(), unit)


class StoppedAtAGap(harness.BusTest):
    """3: `--on-gap stop`, and a reader that was lapped after catching up."""

    def stop_at_a_gap(self, command, *options):
        flow = self.publish_flow("publish", self.raw_dbn(f"synthetic:records={RECORDS}"),
                                 "--capacity", RING, "--await", 1)
        reader = self.start("reader", command, "--on-gap", "stop", "--from", "start", *options)
        flow.feed(10)
        self.until("it to be live", lambda: "caught up at" in reader.err())
        self.until("it to have read", lambda: self.position_of_the_reader() == 10)
        reader.signal(signal.SIGSTOP)
        flow.feed(RECORDS)
        self.until_head(RECORDS)
        reader.signal(signal.SIGCONT)
        self.assertEqual(reader.wait(), STOPPED_AT_GAP, reader.err())
        self.assertIn("lapwing: gap ", reader.err())
        flow.end()
        self.assertEqual(flow.publisher.wait(), 0, "the publisher does not mind")
        return reader

    def position_of_the_reader(self):
        """The reported position; 0 before the first report."""
        told = json.loads(self.run_to_end("subscribers", "subscribers", "--json").out())
        return max((one["position"] or 0 for one in told["subscribers"]), default=0)

    def test_tail_stops_and_shows_nothing_after_it(self):
        summary = self.stop_at_a_gap("tail", *QUIET).summary()
        self.assertEqual(summary["gaps"], 1)
        self.assertLess(summary["last"], RECORDS)
        self.assertEqual(summary["records"], summary["last"], "what came before it is whole")

    def test_record_stops_and_its_file_ends_before_it(self):
        out = self.folder / "copy.dbn"
        reader = self.stop_at_a_gap("record", "--out", out, "--summary")
        kept = reader.summary()["records"]
        self.assertLess(kept, RECORDS)
        again = str(self.folder / "again")
        self.run_to_end("again", "publish", "--source", f"dbn:{out}", bus=again)
        self.run_to_end("first", "export", "--out", self.folder / "first.dbn", "--last", kept)
        self.assertEqual(out.read_bytes(), (self.folder / "first.dbn").read_bytes())

    def test_a_followed_book_stops(self):
        self.stop_at_a_gap("book", "--follow")


class DamagedData(harness.BusTest):
    """4: the journal, a feed or every checkpoint is damaged."""

    def setUp(self):
        super().setUp()
        self.run_to_end("publish", "publish", "--source", f"synthetic:records={RECORDS}")

    def damage(self, path, at):
        content = bytearray(path.read_bytes())
        content[at] ^= 1
        path.chmod(0o640)  # finished files are writable only by root
        path.write_bytes(content)

    def test_verify_says_so_of_a_flipped_bit(self):
        (segment,) = (pathlib.Path(self.bus) / "journal").rglob("*.jnl")
        self.damage(segment, 2 * BLOCK_BYTES + 20)
        found = self.run_to_end("verify", "verify", expect=DAMAGED)
        self.assertIn(f"{segment} at offset {2 * BLOCK_BYTES}, sequences 65 to 128", found.out())

    def test_publish_and_tail_say_so_of_sessions_that_are_in_neither_copy(self):
        for name in ("sessions", "sessions.copy"):
            self.damage(pathlib.Path(self.bus) / "journal" / name, 70)
        for command in (("publish", "--source", "synthetic:records=1"),
                        ("tail", "--from", "start", "--reattach", "1s"),
                        ("export", "--out", self.folder / "out.dbn")):
            refused = self.run_to_end(command[0], *command, expect=DAMAGED)
            self.assertIn("lapwing repair", refused.err())

    def test_state_says_so_where_every_checkpoint_is_damaged(self):
        self.run_to_end("checkpoint", "checkpoint", "--fold", "orders", "--until-closed")
        (checkpoint,) = (pathlib.Path(self.bus) / "checkpoint" / "orders").glob("*.ckpt")
        self.damage(checkpoint, 5000)
        refused = self.run_to_end("state", "state", expect=DAMAGED)
        self.assertIn(checkpoint.name, refused.out() + refused.err())

    def test_publish_says_so_of_a_feed(self):
        feed = self.folder / "feed.dbn"
        self.run_to_end("export", "export", "--out", feed)
        feed.write_bytes(feed.read_bytes()[:-1])
        refused = self.run_to_end("publish", "publish", "--source", f"dbn:{feed}", expect=DAMAGED)
        self.assertIn(str(feed), refused.err())


class GoneForGood(harness.BusTest):
    """5: the bus, its publisher or a channel's peer is absent, or does not answer."""

    FOLLOWERS = (("tail",), ("record", "--out", "copy.dbn"), ("book", "--follow"),
                 ("checkpoint", "--fold", "orders"))

    def test_of_a_bus_that_never_comes(self):
        for command in self.FOLLOWERS:
            refused = self.run_to_end(command[0], *command, "--reattach", 0, expect=GONE,
                                      cwd=self.folder)
            self.assertIn(self.bus, refused.err())

    def test_of_a_bus_that_is_not_there(self):
        """Includes commands that need no publisher."""
        for command in (("info",), ("export", "--out", self.folder / "out.dbn"), ("state",), ("verify",),
                        ("book",), ("subscribers",), ("events",), ("health",)):
            refused = self.run_to_end(command[0], *command, expect=GONE)
            self.assertIn(self.bus, refused.err())

    def test_of_a_publisher_that_does_not_answer(self):
        holder = self.start("holder", "publish", "--source", "synthetic:records=10",
                            "--linger", "600s")
        self.until_head(10)
        holder.signal(signal.SIGSTOP)
        for command in ("subscribers", "events", "health"):
            self.run_to_end(command, command, expect=GONE)
        holder.signal(signal.SIGCONT)
        self.until("it to answer", lambda: self.start("asks", "events").wait() == 0)

    def test_of_a_channel_that_is_not_there(self):
        path = str(self.folder / "x.sock")
        start = super(harness.BusTest, self).start  # these commands have no --bus
        for command in (("ping", path), ("pipe", "--connect", path, "--receive"),
                        ("info", "--channel", path)):
            refused = start(command[0], *command)
            self.assertEqual(refused.wait(), GONE, refused.err())
            self.assertIn(path, refused.err())

    def test_of_a_publisher_that_is_killed(self):
        holder = self.start("holder", "publish", "--source", "synthetic:records=1000",
                            "--linger", "600s")
        self.until_head(1000)
        followers = [self.start(command[0], *command, "--reattach", "100ms", cwd=self.folder)
                     for command in self.FOLLOWERS]
        for follower in followers:
            self.until("it to be live", lambda f=follower: "caught up" in f.err())
        holder.kill()
        for follower in followers:
            self.assertEqual(follower.wait(), GONE, follower.err())

    def test_of_a_ping_whose_other_side_is_killed(self):
        path = str(self.folder / "x.sock")
        start = super(harness.BusTest, self).start  # these commands have no --bus
        echo = start("echo", "ping", "--listen", path)
        self.until_listening(path)
        pinging = start("ping", "ping", path, "--count", 1_000_000, "--interval", "1ms",
                        *harness.WITH_PATIENCE)
        self.until_served(path)
        echo.kill()
        self.assertEqual(pinging.wait(), GONE, pinging.err())


if __name__ == "__main__":
    unittest.main(verbosity=2)
