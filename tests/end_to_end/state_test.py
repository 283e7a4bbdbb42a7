"""Tests `lapwing state`: its output, its choice of a checkpoint, and that it changes nothing."""

import json
import os
import pathlib
import shutil
import unittest

import harness

RECORDS = 20_000
USAGE, DAMAGED = 2, 4
SEED_OF_KEY_0 = (1 << 64) - 0x9E3779B97F4A7C15


class State(harness.BusTest):
    """The state of a bus with a synthetic market-by-order feed."""

    def publish(self, source=f"synthetic:records={RECORDS}", bus=None):
        self.run_to_end("publish", "publish", "--source", source, bus=bus)

    def checkpoint(self, fold="orders", bus=None):
        self.run_to_end("checkpoint", "checkpoint", "--fold", fold, "--until-closed", bus=bus)

    def checkpoints(self, fold="orders"):
        return sorted(pathlib.Path(self.bus, "checkpoint", fold).glob("*.ckpt"))

    def lines(self, *arguments):
        shown = self.run_to_end("state", "state", "--json", *arguments)
        return [json.loads(line) for line in shown.out().splitlines()]

    def refused(self, code, *arguments):
        return self.run_to_end("state", "state", *arguments, expect=code).err()

    def two_checkpoints(self):
        """Creates checkpoints as of RECORDS and 2 × RECORDS. Returns the files, newest last."""
        for _ in range(2):
            self.publish()
            self.checkpoint()
        files = self.checkpoints()
        self.assertEqual([int(file.stem) for file in files], [RECORDS, 2 * RECORDS])
        return files

    def spoil(self, file, at=5000):
        file.chmod(0o600)
        content = bytearray(file.read_bytes())
        content[at] ^= 1
        file.write_bytes(content)

    def test_it_says_which_checkpoint_it_is_as_text_and_as_json(self):
        self.publish()
        self.checkpoint()
        about, = self.lines()
        self.assertEqual((about["fold"], about["schema"], about["as_of"], about["skipped"]),
                         ("orders", "dbn.mbo", RECORDS, []))
        self.assertEqual(about["journal"], self.info()["journal_id"])
        self.assertGreater(about["age_ns"], 0)
        text = self.run_to_end("text", "state").out()
        for part in (about["checkpoint"], f"record {RECORDS} of journal {about['journal']}",
                     f"{about['entries']} of 64 bytes", about["digest"], " ago"):
            self.assertIn(part, text)
        self.assertEqual(self.lines("--at", RECORDS)[0]["digest"], about["digest"])

    def test_its_digest_is_that_of_the_checkpointer(self):
        self.publish()
        summary = self.run_to_end("summary", "checkpoint", "--fold", "latest", "--until-closed",
                                  "--summary").summary()
        about, = self.lines("--fold", "latest")
        self.assertEqual((about["digest"], about["as_of"]), (summary["digest"], RECORDS))

    def test_a_key_gives_its_entries_and_no_others(self):
        self.publish()
        self.checkpoint()
        about, *entries = self.lines("--entries")
        self.assertEqual(len(entries), about["entries"])
        order = next(entry for entry in entries if entry["action"] == "A")
        key = f"id:{order['instrument_id']}/{order['order_id']}"
        self.assertEqual(self.lines("--key", key), [order])
        text = self.run_to_end("one", "state", "--key", key).out()
        self.assertIn(f"order_id={order['order_id']}", text)
        of_instrument = [entry for entry in entries
                         if entry["instrument_id"] == order["instrument_id"]]
        self.assertEqual(self.lines("--key", f"id:{order['instrument_id']}"), of_instrument)
        self.assertEqual(self.lines("--entries", "--limit", 3)[1:], entries[:3])
        unknown = f"id:{order['instrument_id']}/18446744073709551615"
        self.assertIn("has no entry", self.refused(1, "--key", unknown))
        self.assertIn("has no entry", self.refused(1, "--key", "id:4000000000"))
        # Digits are a symbol, not a number.
        self.assertIn("--key 1: bus ", self.refused(1, "--key", 1))
        self.assertIn("id: must be followed by a whole number", self.refused(USAGE, "--key", "id:x"))

    def test_a_symbol_is_the_instrument_that_the_feeds_metadata_names(self):
        self.publish(source=f"synthetic:records={RECORDS},instruments=3")
        self.checkpoint()
        _, *entries = self.lines("--entries")
        ids = sorted({entry["instrument_id"] for entry in entries})
        self.assertEqual(len(ids), 3)
        for number in ids:
            of_symbol = self.lines("--key", f"SYN{number}")
            self.assertEqual(of_symbol, self.lines("--key", f"id:{number}"))
            self.assertEqual({entry["instrument_id"] for entry in of_symbol}, {number})
        order = next(entry for entry in entries if entry["action"] == "A")
        key = f"SYN{order['instrument_id']}/{order['order_id']}"
        self.assertEqual(self.lines("--key", key), [order])
        self.assertIn("--key SYN: ", self.refused(1, "--key", "SYN"))
        self.assertIn("has no such symbol; its 3 symbols are SYN1, SYN2 and SYN3",
                      self.refused(1, "--key", "SYN"))

    def test_a_key_of_a_kv16_bus_gives_its_pair(self):
        # The first key of this feed is 0.
        self.publish(source=f"kv16:records=7,keys=5,seed={SEED_OF_KEY_0}")
        self.checkpoint("latest")
        about, *pairs = self.lines("--entries")
        self.assertEqual((about["fold"], len(pairs)), ("latest", 5))
        self.assertEqual([pair["key"] for pair in pairs], sorted(pair["key"] for pair in pairs))
        for pair in pairs:
            self.assertEqual(self.lines("--key", pair["key"]), [pair])
            text = self.run_to_end("one", "state", "--key", pair["key"]).out()
            self.assertEqual(text, f"key={pair['key']} value={pair['value']}\n")
        self.assertEqual((pairs[0]["key"], pairs[0]["value"]), (0, 6))
        self.assertEqual(self.lines("--key", f"id:{pairs[1]['key']}"), [pairs[1]])
        self.assertIn("has no entry 1", self.refused(1, "--key", 1))
        self.assertIn("is a number", self.refused(USAGE, "--key", "ESH4"))
        self.assertIn("is a number", self.refused(USAGE, "--key", -1))

    def test_wrong_arguments_are_wrong_usage(self):
        self.publish()
        self.checkpoint()
        for arguments in (["--fold", "nonsense"], ["--limit", "-1"], ["--limit", "x"],
                          ["--at", "x"], ["--at", "0"],
                          ["--key", "1", "--entries"], ["--key", "id:1/x"], ["--no-such-option"]):
            with self.subTest(arguments=arguments):
                self.refused(USAGE, *arguments)
        self.checkpoint("latest")
        self.refused(USAGE, "--fold", "latest", "--key", "id:1/2")
        process = harness.ProgramTest.start(self, "bare", "state")
        self.assertEqual(process.wait(), USAGE)

    def test_without_a_bus_or_a_checkpoint_it_says_what_is_missing(self):
        self.assertIn("no bus at", self.refused(5))
        self.publish()
        self.assertIn("`lapwing checkpoint --fold orders` writes one", self.refused(1))
        self.checkpoint("latest")
        self.assertIn("no checkpoint in", self.refused(1))
        self.refused(1, "--fold", "latest", "--at", RECORDS - 1)

    def test_a_damaged_one_is_skipped_with_its_reason_and_the_older_one_is_shown(self):
        older, newer = self.two_checkpoints()
        self.spoil(newer)
        about, = self.lines()
        self.assertEqual((about["as_of"], len(about["skipped"])), (RECORDS, 1))
        self.assertIn(f"{newer}: block 0 of", about["skipped"][0])
        self.assertIn(f"skipped     {newer}: block 0 of", self.run_to_end("text", "state").out())
        self.assertIn("block 0 of", self.refused(DAMAGED, "--at", 2 * RECORDS))
        self.spoil(older)
        message = self.refused(DAMAGED)
        for file in (older, newer):
            self.assertIn(f"{file}: block 0 of", message)

    def test_one_of_another_bus_or_under_anothers_name_is_refused(self):
        other = str(self.folder / "other")
        self.publish(bus=other)
        self.checkpoint(bus=other)
        self.publish()
        shutil.copytree(pathlib.Path(other, "checkpoint"), pathlib.Path(self.bus, "checkpoint"))
        self.assertIn("of another bus, or from before a reset", self.refused(1))
        shutil.rmtree(pathlib.Path(self.bus, "checkpoint"))
        self.checkpoint()
        file, = self.checkpoints()
        file.rename(file.with_name("00000000000000999999.ckpt"))
        self.assertIn("under another's name", self.refused(1))

    def test_it_touches_nothing_beside_a_publisher_or_without(self):
        self.publish()
        self.checkpoint()

        def seen():
            return {str(path): (path.lstat().st_mtime_ns, path.lstat().st_size)
                    for path in pathlib.Path(self.bus).rglob("*")}
        before = seen()
        without = self.lines("--entries")
        self.assertEqual(seen(), before)
        publisher = self.start("live", "publish", "--source", "synthetic:records=10",
                               "--linger", "600s")
        self.until_head(RECORDS + 10)
        beside = self.lines("--entries")
        self.assertEqual(beside[0]["digest"], without[0]["digest"])
        self.assertEqual(self.info()["subscribers"], 0)
        publisher.stop()

    def test_a_directory_that_others_may_write_to_is_not_trusted(self):
        self.publish()
        self.checkpoint()
        os.chmod(pathlib.Path(self.bus, "checkpoint", "orders"), 0o770)
        self.assertIn("chmod go-w", self.refused(1))


if __name__ == "__main__":
    unittest.main(verbosity=2)
