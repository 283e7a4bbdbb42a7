#!/usr/bin/env python3
"""Tests that each scenario of each built peer runs, counts correctly, and detects a bad peer."""

import json
import os
import subprocess
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
if "LAPWING_BUILD_DIR" in os.environ:
    os.environ.setdefault(
        "LAPWING_PEERS_DIR", str(Path(os.environ["LAPWING_BUILD_DIR"], "bench", "peers"))
    )

import pair

ROUNDS = 1000
TRIES = 20
PEERS = [
    peer for peer in pair.read_list().values() if (pair.programs_directory() / peer.name).exists()
]


def run_pair(*arguments):
    return subprocess.run(
        [sys.executable, pair.__file__, *map(str, arguments)],
        capture_output=True, text=True, timeout=300,
    )


class PeersTest(unittest.TestCase):
    def measure(self, *arguments):
        result = run_pair(*arguments)
        self.assertEqual(result.returncode, 0, result.stderr)
        line = json.loads(result.stdout)
        if line["scenario"] != "saturation":
            self.assertEqual(list(line["ns"]), ["p50", "p90", "p99", "p99_9", "max"])
            self.assertEqual(list(line["ns"].values()), sorted(line["ns"].values()))
        return line

    def each(self, scenario):
        for peer in PEERS:
            if scenario in peer.scenarios:
                with self.subTest(peer=peer.name):
                    yield peer

    def test_something_was_built(self):
        self.assertIn("lapwing", [peer.name for peer in PEERS])
        self.assertIn("head-counter-ring", [peer.name for peer in PEERS])

    def test_round_trips_come_back_whole(self):
        for peer in self.each("round-trip"):
            for record_bytes in (32, 56):
                line = self.measure(peer.name, "round-trip", "--records", ROUNDS, "--warm-up", 100,
                                    "--bytes", record_bytes)
                self.assertEqual(line["fault"], "")
                self.assertEqual(line["damaged"], 0)
                self.assertEqual(line["round_trips"], ROUNDS // 128 * 128)
                self.assertGreater(line["block_ns_p50"], 0)

    def test_every_record_is_accounted_for(self):
        for peer in self.each("saturation"):
            line = self.measure(peer.name, "saturation", "--records", ROUNDS)
            self.assertEqual(line["fault"], "")
            self.assertEqual(line["published"], ROUNDS)
            self.assertEqual(line["received"] + line["lost"], ROUNDS)
            self.assertEqual(line["torn"] + line["out_of_order"], 0)

    def test_a_stopped_reader_blocks_only_lossless_publishers(self):
        for peer in self.each("stopped-reader"):
            line = self.measure(peer.name, "stopped-reader", "--rate", ROUNDS, "--seconds", 1)
            self.assertTrue(line["stopped"])
            self.assertEqual(line["due"], ROUNDS)
            if peer.delivery != "lossless":
                self.assertFalse(line["blocked_at_end"])

    def test_the_records_of_a_reader_beside_a_stopped_one_are_accounted_for(self):
        for peer in self.each("stopped-of-two"):
            line = self.measure(peer.name, "stopped-of-two", "--rate", ROUNDS, "--seconds", 1)
            self.assertEqual(line["fault"], "")
            self.assertTrue(line["stopped"])
            self.assertEqual(line["due"], ROUNDS)
            self.assertGreater(line["published"], 0)
            self.assertEqual(line["received"] + line["lost"], line["published"])
            self.assertEqual(line["torn"] + line["out_of_order"], 0)
            self.assertGreater(line["longest_silence_ns"], 0)

    def test_a_publisher_that_waits_for_a_stopped_reader_delays_the_other_reader(self):
        # Room for 2^14 records; twice as many are due.
        crowded = ("--rate", 32_768, "--seconds", 1, "--capacity", 16_384)
        for peer in self.each("stopped-of-two"):
            if not peer.name.startswith(("lapwing", "iceoryx2")):
                continue
            line = self.measure(peer.name, "stopped-of-two", *crowded)
            waits = peer.delivery == "lossless"
            self.assertEqual(line["blocked_at_end"], waits)
            if not waits:
                self.assertEqual(line["received"] + line["lost"], line["published"])
                continue
            self.assertLess(line["published"], line["due"])
            self.assertGreater(line["longest_silence_ns"], line["longest_stall_ns"] / 2)
            for _ in range(TRIES):
                control = self.measure(peer.name, "stopped-of-two", *crowded, "--reader-runs")
                self.assertFalse(control["stopped"])
                if not control["blocked_at_end"]:
                    break
            self.assertFalse(control["blocked_at_end"], f"in each of {TRIES} runs")

    def test_a_full_pipe_is_reported_as_a_stall(self):
        # 1 MiB contains 18,724 records of 56 bytes; twice as many are due.
        for _ in range(TRIES):
            line = self.measure("pipe", "stopped-reader", "--rate", 40_000, "--seconds", 1)
            self.assertLess(line["published"], line["due"])
            if line["blocked_at_end"] and line["longest_stall_ns"] > 1_000_000:
                break
            # A publisher that was preempted for most of the second may not have filled it.
            self.assertLessEqual(line["published"], 18_724)
        self.assertTrue(line["blocked_at_end"], f"never filled in {TRIES} runs")
        self.assertGreater(line["longest_stall_ns"], 1_000_000)
        self.assertLessEqual(line["ns"]["max"], 1_000_000_000)  # no wait extends beyond the end
        self.assertGreater(line["over_10_us_per_million"], 0)

    def test_a_reader_that_runs_is_the_control(self):
        for _ in range(TRIES):
            line = self.measure("pipe", "stopped-reader", "--rate", 40_000, "--seconds", 1,
                                "--reader-runs")
            self.assertFalse(line["stopped"])
            if not line["blocked_at_end"]:  # or it did not run for the last half second
                return
        self.fail(f"a reader that runs blocked its publisher in each of {TRIES} runs")

    def test_torn_records_are_counted(self):
        # A ring of 16 slots that is lapped continuously, without validation: some records must be
        # torn.
        for _ in range(TRIES):
            line = self.measure("head-counter-ring", "saturation", "--records", 4_000_000,
                                "--capacity", 16)
            self.assertGreaterEqual(line["received"] + line["lost"], 4_000_000)
            if line["torn"] > 0:
                return
        self.fail(f"no torn record in {TRIES} runs of a ring that must tear records")

    def test_losses_are_counted_as_the_peer_reports_them(self):
        # Enough slots that no record is torn at the ends, and few enough that the reader is lapped.
        for _ in range(TRIES):
            line = self.measure("lapwing", "saturation", "--records", 4_000_000,
                                "--capacity", 4096)
            self.assertEqual(line["lost"], line["reported_lost"])
            self.assertEqual(line["received"] + line["lost"], 4_000_000)
            self.assertEqual(line["torn"] + line["out_of_order"], 0)
            if line["lost"] > 0:
                return
        self.fail(f"never lapped in {TRIES} runs")

    def test_histograms_of_all_languages_agree(self):
        durations = [n * n * 7919 % 1_000_003 + n for n in range(1, 3001)]
        text = "".join(f"{duration}\n" for duration in [*durations, 10**12])
        seen = {}
        for peer in PEERS:
            program = pair.programs_directory() / peer.name
            result = subprocess.run([program, "histogram"], input=text, capture_output=True,
                                    text=True, timeout=60)
            self.assertEqual(result.returncode, 0, f"{peer.name}: {result.stderr}")
            seen[peer.name] = json.loads(result.stdout)
        exact = sorted([*durations, 10**12])
        for name, percentiles in seen.items():
            self.assertEqual(percentiles, seen["lapwing"], name)
        self.assertEqual(seen["lapwing"]["max"], 10**12)
        middle = exact[len(exact) // 2]
        self.assertLessEqual(middle, seen["lapwing"]["p50"])
        self.assertLessEqual(seen["lapwing"]["p50"], middle * 65 / 64)

    def test_torn_records_are_a_fault_only_of_readers_that_check(self):
        peers = pair.read_list()
        for field in ("torn", "out_of_order"):
            self.assertEqual(pair.fault_of(peers["head-counter-ring"], {field: 3}), "")
            self.assertIn("3 ", pair.fault_of(peers["bcast"], {field: 3}))

    def test_missing_peers_and_programs_are_reported(self):
        result = run_pair("no-such-peer", "round-trip")
        self.assertEqual(result.returncode, 2)
        self.assertIn("no-such-peer", result.stderr)
        environment = {**os.environ, "LAPWING_PEERS_DIR": "/nonexistent"}
        result = subprocess.run([sys.executable, pair.__file__, "pipe", "round-trip"],
                                capture_output=True, text=True, env=environment, timeout=60)
        self.assertEqual(result.returncode, pair.NOT_HERE)
        self.assertIn("build.sh", result.stderr)

    def test_a_side_that_fails_fails_the_measurement(self):
        result = run_pair("head-counter-ring", "round-trip", "--cores", "0,1000000")
        self.assertEqual(result.returncode, 1)
        self.assertIn("ended with", result.stderr)
        self.assertEqual(result.stdout, "")


if __name__ == "__main__":
    unittest.main()
