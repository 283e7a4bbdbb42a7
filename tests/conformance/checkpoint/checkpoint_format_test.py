"""Tests checkpoints with an independent reader, written from docs/reference/file-formats.md."""

import json
import pathlib
import random
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "end_to_end"))

import harness
import read_checkpoint

RECORDS = 60_000


class CheckpointFormat(harness.BusTest):
    """Tests the folds of a market-by-order bus."""

    def checkpoint(self, fold):
        self.run_to_end("publish", "publish", "--source", f"synthetic:records={RECORDS}")
        self.run_to_end("checkpoint", "checkpoint", "--fold", fold, "--until-closed")
        path, = pathlib.Path(self.bus, "checkpoint", fold).glob("*.ckpt")
        return read_checkpoint.Checkpoint(path)

    def state(self, fold, *more):
        shown = self.run_to_end("state", "state", "--fold", fold, "--json", *more)
        return [json.loads(line) for line in shown.out().splitlines()]

    def assert_same_head(self, checkpoint, about):
        for name, key in (("fold", "fold"), ("fold_version", "fold_version"), ("schema", "schema"),
                          ("journal", "journal_id"), ("session", "session_id"),
                          ("as_of", "sequence"), ("entries", "entry_count"),
                          ("entry_bytes", "entry_bytes")):
            self.assertEqual(about[name], checkpoint.header[key], name)
        self.assertEqual(about["digest"], checkpoint.digest())
        self.assertEqual(checkpoint.header["sequence"], RECORDS)
        self.assertEqual(checkpoint.header["record_bytes"], 56)
        info = self.info()
        self.assertEqual(info["journal_id"], checkpoint.header["journal_id"])

    def test_a_checkpoint_of_orders_reads_the_same_by_the_document_alone(self):
        checkpoint = self.checkpoint("orders")
        about, *shown = self.state("orders", "--entries")
        self.assert_same_head(checkpoint, about)
        orders = [read_checkpoint.order_of(entry) for entry in checkpoint.entries()]
        self.assertGreater(len(orders), 10)
        self.assertEqual(len(shown), len(orders))
        for line, order in zip(shown, orders, strict=True):
            for name in ("publisher_id", "instrument_id", "order_id", "price", "size", "flags"):
                self.assertEqual(line[name], order[name], name)
            self.assertEqual(line["action"].encode(), order["action"])
            if order["action"] == b"A":
                self.assertEqual(line["seq"], order["place"])
        keys = [read_checkpoint.order_key(order) for order in orders]
        self.assertEqual(keys, sorted(set(keys)))

    def test_a_checkpoint_of_the_latest_reads_the_same_by_the_document_alone(self):
        checkpoint = self.checkpoint("latest")
        about, *shown = self.state("latest", "--entries")
        self.assert_same_head(checkpoint, about)
        self.assertEqual(len(shown), checkpoint.header["entry_count"])
        self.assertGreater(len(shown), 0)

    def test_the_reader_of_the_document_finds_damage_too(self):
        path = self.checkpoint("orders").path
        path.chmod(0o600)
        whole = path.read_bytes()
        for _ in range(200):
            at = random.randrange(len(whole))
            path.write_bytes(whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1:])
            with self.assertRaises(read_checkpoint.Damaged, msg=f"flip at {at}"):
                read_checkpoint.Checkpoint(path)


if __name__ == "__main__":
    unittest.main(verbosity=2)
