#!/usr/bin/env python3
"""Tests of plan, measuring and report, with simulated programs."""

import json
import pathlib
import re
import shutil
import sys
import tempfile
import unittest
from unittest import mock

import document
import environment
import figures
import gallery
import measuring
import pictures
import plan as plans

ROWS = ["round-trip", "one-way-10k", "one-way-1m", "publish", "publish-batch", "crowd-park-1",
        "crowd-park-64", "channel-64"]
EVERY = {"a": plans.PEER_SCENARIOS}


def probe(walk=100.0, line=90.0):
    return {"kind": "probe", "cores": [0, 1], "line_ns": line, "walk_ns": walk, "clock": "a clock",
            "clock_ns": 12.0, "clock_step_ns": 10.0}


def row(name, measured=120.0, floor=100.0, floor_name="walk", ratio=1.2, **more):
    trial = {"swapped": False, "ratio": ratio, "measured": measured, "floor": floor}
    trial.update((field, more.pop(field)) for field in ("curve", "floor_curve") if field in more)
    details = more.pop("details", {})
    medians = {"measured": {"value": measured, "unit": "ns"},
               floor_name: {"value": floor, "unit": "ns"}}
    medians.update({label: {"value": value, "unit": "ns"} for label, value in details.items()})
    return {"kind": "row", "name": name, "what": name, "over": floor_name, "unit": "ns",
            "ratio": ratio, "ratio_worse_placement": ratio, "bound": "at most", "rejections": 0,
            "medians": medians, "trials": [trial, trial], "steady": True, **more}


def curve(scale):
    shares = (0.0, 0.5, 0.9, 0.99, 0.999, 0.9999, 0.99999, 1.0)
    return [[share, scale * (1 + place * place)] for place, share in enumerate(shares)]


def crowd(wait, size):
    return row(f"crowd-{wait}-{size}", 10.0 + size / 8, 9.0 + size / 8, "strangers", details={
        "age p50": 60.0 * size, "age p99": 200.0 * size, "age max": 900.0 * size, "lost": 0,
        "not yet read after 5 s": 0})


def peer(name, scenario, **fields):
    return {"kind": "peer", "peer": name, "scenario": scenario, "round": 1, "fault": "",
            "cores": [0, 1], "steady": True, "attempts": 1, "probes": [probe(), probe()], **fields}


def sample():
    """One line of each kind."""
    saturation = {"published_per_second": 9e7, "lost": 5, "reported_lost": 5, "out_of_order": 0}
    stopped = {"ns": {"p50": 40, "p99_9": 900, "max": 20000}, "over_10_us_per_million": 3,
               "due": 300000, "published": 300000, "blocked_at_end": False, "rate": 100000.0,
               "seconds": 3.0, "delivery": "overwrites"}
    live = {"received": 290000, "lost": 10000, "torn": 0, "out_of_order": 0}
    return [
        probe(), row("round-trip", budget=1.15, met=False),
        row("one-way-10k", curve=curve(90), floor_curve=curve(80), details={"lost": 0}),
        row("one-way-1m", curve=curve(70), floor_curve=curve(60), details={"lost": 3}),
        row("one-way-5m", curve=curve(60), details={"lost": 3}),
        row("journal-off", curve=curve(20)), row("journal-disk-10ms", curve=curve(22)),
        row("journal-disk-slow", curve=curve(24), details={
            "stalls": 7, "longest stall": 12.5, "journal behind by": 105287}),
        row("catch-up", 230, 310, "copy"),
        row("publish", 3.8, 2.9, "copy", 1.31, budget=1.3, met=False),
        row("channel-round-trip", budget=1.15, met=False, details={"with fences": 130}),
        row("channel-64", 2.4, 0.04, "stream socket", 60, details={"packet socket": 0.05}),
        row("channel-4k", 25, 3.0, "stream socket", 8.3, details={"packet socket": 3.7}),
        row("channel-4m", 4.7, 3.4, "stream socket", 1.4),
        row("fold-latest", 40, 30, "plain", 1.33),
        *(crowd(wait, size) for wait in ("busy", "backoff", "park") for size in (1, 4, 16, 64)),
        peer("lapwing", "round-trip", block_ns_p50=110, damaged=0,
             ns={"p99_9": 300, "max": 20000}),
        peer("pipe", "round-trip", block_ns_p50=9000, damaged=0, ns={"p99_9": 30000, "max": 2e6}),
        peer("lapwing", "saturation", delivered_per_second=8e7, torn=0, **saturation),
        peer("head-counter-ring", "saturation", delivered_per_second=6e7, torn=1234,
             **saturation),
        peer("lapwing", "stopped-reader", longest_stall_ns=20000, **stopped),
        peer("pipe", "stopped-reader", longest_stall_ns=3e9, **{
            **stopped, "published": 700, "blocked_at_end": True, "delivery": "lossless"}),
        peer("lapwing", "stopped-of-two", longest_stall_ns=20000, longest_silence_ns=30000,
             **stopped, **live),
        peer("aeron", "stopped-of-two", longest_stall_ns=2e9, longest_silence_ns=2.5e9,
             **{**stopped, "delivery": "lossless"}, **live),
        {"kind": "late-join", "backlog": 1_000_000, "milliseconds": {
            "tail from snapshot": [40.0, 44.0, 41.0], "tail from start": [300.0, 310.0, 305.0]}},
        {"kind": "instructions", "name": "instructions", "compiler": "x86_64 gcc 12",
         "instructions": {"publish": 69.0, "poll_batch": 38.74}},
    ]


def report_of(lines, reasons=(), missing=None, rivals=()):
    machine = environment.record()
    machine.update(date="2026-01-01", minutes=3, commit="abc",
                   rivals=dict.fromkeys(rivals, ["round-trip", "saturation"]))
    return document.report(machine, lines, [], missing or {}, list(reasons), [], "bench/run.sh")


class WordsTest(unittest.TestCase):
    def test_figures_have_three_digits_and_their_unit(self):
        for value, words in ((0, "0"), (21.345, "21.3 ns"), (999.6, "1 µs"), (1056, "1.06 µs"),
                             (2.5e6, "2.5 ms"), (1.85e9, "1.85 s")):
            self.assertEqual(gallery.nanoseconds(value), words)
        for value, words in ((42, "42"), (200e3, "200 thousand"), (87.14e6, "87.1 million")):
            self.assertEqual(gallery.short(value), words)
        for value, words in ((1e7, "10 MB/s"), (2.44e9, "2.44 GB/s"), (5e5, "500 kB/s")):
            self.assertEqual(gallery.bytes_a_second(value), words)

    def test_an_axis_in_decades_contains_every_value(self):
        self.assertEqual(gallery.whole_decades([3, 40]), (1, 100))
        self.assertEqual(gallery.whole_decades([100, 100]), (100, 1000))


class PlanTest(unittest.TestCase):
    def test_a_quick_run_is_measured_in_two_and_a_half_minutes(self):
        every_quick_row = plans.Plan(list(plans.QUICK_ROWS), {}, quick=True)
        self.assertEqual(len(every_quick_row.rows), len(plans.QUICK_ROWS))
        self.assertLess(every_quick_row.seconds(), 150)

    def test_a_full_run_with_every_peer_is_measured_in_an_hour_and_a_half(self):
        root = pathlib.Path(measuring.__file__).resolve().parents[2]
        source = (root / "bench" / "rows.cc").read_text(encoding="utf-8")
        rows = re.findall(r'^    {"([a-z0-9-]+)", run_', source, re.MULTILINE)
        peers = measuring.peers_listed(root)
        self.assertGreater(len(rows), 50)
        self.assertGreater(len(peers), 10)
        self.assertLess(plans.Plan(rows, peers).seconds(), 5400)

    def test_only_takes_names_and_beginnings(self):
        plan = plans.Plan(ROWS, EVERY, only=["one-way", "publish", "saturation"])
        self.assertEqual(plan.rows, ["one-way-10k", "one-way-1m", "publish"])
        self.assertEqual(plan.scenarios, ["saturation"])
        self.assertEqual((plan.backlogs, plan.unknown), ([], []))

    def test_an_unknown_name_is_reported(self):
        self.assertEqual(plans.Plan(ROWS, {}, only=["publish", "pubish"]).unknown, ["pubish"])

    def test_a_quick_run_joins_late_once_and_a_full_one_after_each_backlog(self):
        quick = plans.Plan(ROWS, {}, quick=True)
        self.assertEqual((quick.backlogs, quick.late_join_runs), ([1_000_000], 1))
        self.assertEqual(plans.Plan(ROWS, {}).backlogs, [1_000_000, 10_000_000])

    def test_without_peers_no_scenario_is_planned(self):
        self.assertEqual(plans.Plan(ROWS, {}).scenarios, [])


class Scripted(measuring.Measuring):
    """Programs return prepared answers in turn. Their arguments are recorded."""

    def __init__(self, out, plan, probes, answers=None):
        super().__init__(pathlib.Path("."), out, out, ".", ".", plan, lambda text: None)
        self.probes = list(probes)
        self.answers = answers
        self.asked = []

    def program(self, command, answers=(0,)):
        if "--probe" in command:
            return [self.probes.pop(0) if len(self.probes) > 1 else self.probes[0]]
        self.asked.append(command)
        if callable(self.answers):
            return self.answers()
        return self.answers or [{"answer": 1}]


class MeasuringTest(unittest.TestCase):
    def setUp(self):
        self.out = pathlib.Path(tempfile.mkdtemp(prefix="lapwing-report-"))
        self.addCleanup(shutil.rmtree, self.out)

    def scripted(self, plan, probes, answers=None):
        run = Scripted(self.out, plan, probes, answers)
        self.addCleanup(run.close)
        return run

    def test_a_row_between_equal_floors_is_measured_once(self):
        run = self.scripted(plans.Plan(["publish"], {}), [probe(100), probe(124)])
        run.rows()
        self.assertEqual(len(run.asked), 1)
        self.assertTrue(run.lines[-1]["steady"])

    def test_a_row_is_repeated_when_the_floors_around_it_differ(self):
        for changed in (probe(walk=126), probe(line=60)):
            run = self.scripted(plans.Plan(["publish"], {}), [probe(), changed, changed])
            run.rows()
            self.assertEqual(len(run.asked), 2, changed)
            self.assertEqual(run.lines[-1]["attempts"], 2)

    def test_a_row_is_repeated_when_the_cores_moved_within_a_probe(self):
        for line, walk in ((470, 90), (90, 400)):
            moved = probe(walk, line)
            run = self.scripted(plans.Plan(["publish"], {}), [moved, moved, probe(), probe()])
            run.rows()
            self.assertEqual(len(run.asked), 3)
            self.assertTrue(run.lines[-1]["steady"])
        far = probe(walk=400, line=480)
        run = self.scripted(plans.Plan(["publish"], {}), [far, far])
        run.rows()
        self.assertEqual(len(run.asked), 1)

    def test_a_row_whose_floors_never_agree_is_marked(self):
        restless = [probe(100), probe(300)] * 9
        run = self.scripted(plans.Plan(["publish"], {}), restless)
        run.rows()
        self.assertEqual(len(run.asked), measuring.ATTEMPTS_MAX)
        self.assertFalse(run.lines[-1]["steady"])

    def test_a_measurement_without_a_floor_is_not_repeated_and_counts(self):
        for scenario, times in (("round-trip", 2), ("stopped-reader", 1), ("stopped-of-two", 1)):
            plan = plans.Plan([], {"a": [scenario]}, only=[scenario])
            run = self.scripted(plan, [probe(100)] + [probe(300), probe(100), probe(100)] * 9)
            run.peers()
            rounds = plan.rounds(scenario)
            self.assertEqual(len(run.asked) > rounds, times > 1, scenario)
            self.assertEqual(figures.trials_of(run.lines)[0] > 0, times > 1, scenario)
            self.assertEqual(len(figures.peers_of(run.lines, scenario)["a"]), rounds, scenario)

    def test_peers_are_interleaved_and_each_begins_in_turn(self):
        plan = plans.Plan([], dict.fromkeys("abc", ["round-trip"]), only=["round-trip"])
        run = self.scripted(plan, [probe()])
        run.peers()
        order = [command[2] for command in run.asked]
        self.assertEqual(order[:9], ["a", "b", "c", "b", "c", "a", "c", "a", "b"])
        cores = [command[command.index("--cores") + 1] for command in run.asked]
        self.assertEqual(cores[:6], ["0,1"] * 3 + ["1,0"] * 3)

    def test_a_peer_is_measured_only_in_its_scenarios(self):
        peers = {"a": ["round-trip", "stopped-of-two"], "b": ["stopped-of-two"],
                 "c": ["stopped-reader"]}
        run = self.scripted(plans.Plan([], peers, quick=True, only=plans.PEER_SCENARIOS), [probe()])
        run.peers()
        self.assertEqual([command[2:4] for command in run.asked], [
            ["a", "round-trip"], ["a", "round-trip"], ["c", "stopped-reader"],
            ["a", "stopped-of-two"], ["b", "stopped-of-two"]])
        small = next(line for line in run.lines if line.get("scenario") == "round-trip-32")
        self.assertEqual((small["peer"], run.asked[1][-2:]), ("a", ["--bytes", "32"]))
        self.assertEqual(run.asked[-1][-2:], ["--seconds", "3"])

    def test_all_peers_saturate_for_the_same_time(self):
        plan = plans.Plan([], dict.fromkeys("ab", ["saturation"]), only=["saturation"])
        run = self.scripted(plan, [probe()], [{"published_per_second": 2e8}])
        run.peers()
        pilots = [line for line in run.lines if line["kind"] == "pilot"]
        self.assertEqual([line["peer"] for line in pilots], ["a", "b"])
        counts = [command[command.index("--records") + 1] for command in run.asked
                if "--records" in command]
        rounds = 2 * plan.rounds("saturation")
        self.assertEqual(counts, [str(round(2e8 * plans.SATURATION_SECONDS))] * rounds)
        self.assertEqual(len(run.asked), rounds + 2)

    def test_the_joins_of_all_runs_are_grouped_by_subject(self):
        joins = [{"run": run, "subject": subject, "milliseconds": run * factor, "said": ""}
                 for run in (1, 2, 3) for subject, factor in (("tail", 10.0), ("orders", 1.0))]
        run = self.scripted(plans.Plan([], {}, only=["late-join"]), [probe()], joins)
        run.late_joins()
        self.assertEqual(figures.late_joins_of(run.lines), {backlog: {
            "tail": [10.0, 20.0, 30.0], "orders": [1.0, 2.0, 3.0]} for backlog in plans.BACKLOGS})
        asked = [command[command.index("--backlog") + 1] for command in run.asked]
        self.assertEqual(asked, [str(backlog) for backlog in plans.BACKLOGS])

    def test_a_failure_includes_the_message_before_it(self):
        run = measuring.Measuring(self.out, self.out, self.out, "", "", plans.Plan([], {}),
                                  print)
        self.addCleanup(run.close)
        for printed, reason in (("no room\npair: it ended", "pair: it ended (no room)"),
                           ("no room\n\tat main\npair: it ended", "pair: it ended (no room)"),
                           ("no room", "no room"), ("", "it ended with 3")):
            with self.assertRaises(measuring.Failed) as failure:
                run.program([sys.executable, "-c", "import sys; sys.stderr.write(sys.argv[1]); "
                             "sys.exit(3)", printed])
            self.assertEqual(str(failure.exception), reason)

    def test_without_valgrind_the_report_shows_why_nothing_was_counted(self):
        plan = plans.Plan([], {}, only=["instructions"])
        run = self.scripted(plan, [probe()], [{"skipped": "valgrind is not installed"}])
        run.instructions()
        self.assertEqual(run.asked[0][1:], ["--json", str(self.out)])
        text = report_of(run.lines)
        self.assertNotIn("## Instructions", text)
        self.assertIn("- `instructions`: SKIPPED: valgrind is not installed", text)

    def test_results_and_failures_are_written_at_once(self):
        def fail():
            raise measuring.Failed("it broke")
        run = self.scripted(plans.Plan(["publish"], {}), [probe()], fail)
        run.rows()
        written = [json.loads(line) for line in (self.out / "raw.jsonl").read_text().splitlines()]
        self.assertEqual(written[-1], {"kind": "row", "name": "publish", "failed": "it broke"})
        self.assertEqual(figures.failed_of(written), [("publish", "FAILED: it broke")])


class ReportTest(unittest.TestCase):
    def test_the_report_contains_every_kind_of_line(self):
        text = report_of(sample())
        for title in ("Every row", "One way", "Publishing with a journal", "Subscribers",
                      "The channel", "Comparison with peers", "Late join", "Instructions", "The machine"):
            self.assertIn(f"## {title}", text)
        self.assertIn("**missed**", text)

    def test_instructions_are_reported_with_their_compiler(self):
        text = report_of(sample())
        self.assertIn("| `poll_batch` | 38.7 |", text)
        self.assertIn("x86_64 gcc 12", text)

    def test_torn_and_lost_records_of_a_peer_are_reported(self):
        line = next(line for line in report_of(sample()).splitlines()
                    if line.startswith("| head-counter-ring"))
        self.assertEqual([cell.strip() for cell in line.split("|")][4:8],
                         ["5", "5", "1,234", "0"])

    def test_the_effects_of_a_stopped_reader_are_reported(self):
        text = report_of(sample())
        self.assertIn("100,000 records a second for 3 s, while the only reader is stopped.", text)
        cells = {line.split(" | ")[0]: line.split(" | ") for line in text.splitlines()
                 if "lossless | 40 ns" in line or "overwrites | 40 ns" in line}
        self.assertEqual(cells["| pipe"][1:8], ["lossless", "40 ns", "900 ns", "20 us", "3 s", "1",
                                                "3.00"])
        self.assertEqual(cells["| pipe"][8], "299,300")
        self.assertEqual(cells["| aeron"][6], "no")
        self.assertEqual(cells["| aeron"][9:14], ["290,000", "10,000", "0", "0", "2.5 s"])

    def test_the_stalls_of_a_slow_disk_are_next_to_its_percentiles(self):
        line = next(line for line in report_of(sample()).splitlines()
                    if line.startswith("| `journal-disk-slow`") and "105,287" in line)
        self.assertEqual([cell.strip() for cell in line.split("|")][9:12],
                         ["7", "12.5 ms", "105,287"])

    def test_the_channel_is_compared_with_sockets_by_message_size(self):
        text = report_of(sample())
        channel = text[text.index("## The channel"):text.index("## Comparison")].splitlines()
        cells = [[cell.strip() for cell in line.split("|")[1:-1]] for line in channel]
        self.assertIn(["64 B", "2.40", "0.04", "0.05", "60.00 (60.00 to 60.00)"], cells)
        self.assertIn(["4 KiB", "25.0", "3.00", "3.70", "8.30 (8.30 to 8.30)"], cells)
        self.assertIn(["4 MiB", "4.70", "3.40", "too large", "1.40 (1.40 to 1.40)"], cells)
        self.assertNotIn("`channel-64`", "".join(channel))
        row_of_trip = next(line for line in cells if line[:1] == ["`channel-round-trip`"])
        self.assertEqual(row_of_trip[2:5], ["120.0 ns", "with fences 130.0 ns", "`walk` 100.0"])

    def test_budgets_of_far_cores_and_with_a_unit_are_reported(self):
        above = {"at_most": 3, "unit": "ns", "detail": "above bare p50", "worse_placement": 4.25}
        restart = {"at_most": 60, "unit": "ms", "detail": "", "worse_placement": 51.04}
        for row_of, words in (
                (row("a", budget=1.13, budget_far=1.02, met=False),
                 "≤ 1.13, far ≤ 1.02: **missed**"),
                (row("a", absolute_budget=above, met=False),
                 "≤ 3 ns above bare p50 (4.25): **missed**"),
                (row("a", absolute_budget=restart, met=True), "≤ 60 ms (51.0): met"),
                (row("a"), "none")):
            self.assertEqual(document.verdict(row_of), words)

    def test_a_fault_and_a_missing_peer_are_reported(self):
        lines = [*sample(), row("one-reader", fault="3 torn records")]
        text = report_of(lines, missing={"aeron": "no Java"})
        self.assertIn("FAULT: 3 torn records", text)
        self.assertIn("- aeron: no Java", text)
        self.assertIn("- `one-reader`: FAULT: 3 torn records", text)

    def test_a_peer_with_only_unequal_floors_is_shown_and_marked(self):
        trip = {"block_ns_p50": 110, "damaged": 0, "ns": {"p99_9": 300, "max": 20000}}
        flat = {"delivered_per_second": 8e7, "published_per_second": 9e7, "lost": 5,
                "reported_lost": 5, "torn": 0, "out_of_order": 0}
        for scenario, fields in (("round-trip", trip), ("saturation", flat)):
            lines = [peer("a", scenario, steady=False, **fields)]
            cells = next(line for line in report_of(lines).splitlines() if line.startswith("| a |"))
            self.assertTrue(cells.endswith("| 1 | the floors differed |"), cells)
            steady = [*lines, peer("a", scenario, **fields)]
            self.assertNotIn("the floors differed", report_of(steady))

    def test_a_round_with_a_fault_or_between_unequal_floors_does_not_count(self):
        lines = [peer("a", "round-trip", block_ns_p50=1), peer("a", "round-trip", steady=False),
                 {**peer("a", "round-trip"), "fault": "damaged"}]
        self.assertEqual(len(figures.peers_of(lines, "round-trip")["a"]), 1)

    def test_a_curve_is_the_median_of_the_trials_up_to_the_maximum_of_all(self):
        trials = [{"curve": [[0.5, value], [1.0, 10 * value]]} for value in (1.0, 2.0, 30.0)]
        self.assertEqual(figures.curve_of({"trials": trials}), [(0.5, 2.0), (1.0, 300.0)])

    def test_bare_lines_are_below_each_one_way_row_that_has_them(self):
        lines = report_of(sample()).splitlines()
        for name, its, bare in (("10k", "180 ns", "160 ns"), ("1m", "140 ns", "120 ns")):
            place = next(i for i, line in enumerate(lines)
                         if line.startswith(f"| `one-way-{name}` | {its} | "))
            self.assertTrue(lines[place + 1].startswith(
                f"| {document.BARE_LINES} | {bare} | "), lines[place + 1])
            self.assertTrue(lines[place + 1].endswith("| – |"), lines[place + 1])
        self.assertEqual(sum(line.startswith(f"| {document.BARE_LINES} |") for line in lines), 2)

    def shows_floors(self, lines):
        out = pathlib.Path(tempfile.mkdtemp(prefix="lapwing-pictures-"))
        self.addCleanup(shutil.rmtree, out)
        with mock.patch.object(gallery, "ENDING", "svg"):
            pictures.draw(out, lines, False)
        return f'id="{gallery.FLOORS}"' in (out / "latency.svg").read_text(encoding="utf-8")

    def test_the_latency_picture_shows_bare_lines_if_they_were_measured(self):
        if pictures.pyplot is None:
            self.skipTest("SKIPPED: python3-matplotlib is not installed")
        self.assertTrue(self.shows_floors(sample()))
        of_before = row("one-way-10k", curve=curve(90), details={"lost": 0})
        self.assertFalse(self.shows_floors([of_before]))

    def test_every_picture_is_drawn(self):
        if pictures.pyplot is None:
            self.skipTest("SKIPPED: python3-matplotlib is not installed")
        out = pathlib.Path(tempfile.mkdtemp(prefix="lapwing-pictures-"))
        self.addCleanup(shutil.rmtree, out)
        files = [file for file, _ in pictures.draw(out, sample(), True)]
        names = ("latency", "round-trip", "throughput", "stopped-reader", "stopped-of-two", "publish",
                 "bus-and-channel", "folds", "subscribers-latency", "subscribers-publish", "journal",
                 "late-join", "catch-up", "channel-sizes")
        self.assertEqual(files, [f"{name}.png" for name in names])
        for file in files:
            self.assertGreater((out / file).stat().st_size, 1000)


def trip(name, ns, scenario="round-trip", **more):
    return {**peer(name, scenario, block_ns_p50=ns, damaged=0, ns={"p99_9": 300, "max": 20000}),
            **more}


def flat(name, millions, **more):
    return {**peer(name, "saturation", delivered_per_second=millions * 1e6, lost=7, torn=0,
                   published_per_second=9e8, reported_lost=7, out_of_order=0), **more}


class ComparisonTest(unittest.TestCase):
    def cells_of(self, what, *lines, rivals=("b", "c")):
        """The other cells of that line; None if there is no such line."""
        cells = [[cell.strip() for cell in line.split("|")[1:-1]]
                 for line in report_of(list(lines), rivals=rivals).splitlines()]
        return next((line[1:] for line in cells if line[:1] == [what]), None)

    def buses(self, *lines):
        return self.cells_of("round trip over two buses", trip("c", 900), trip("torn", 20), *lines)

    def delivery(self, *lines):
        return self.cells_of("records delivered to one live reader", flat("c", 50), flat("torn", 900),
                         *lines)

    def test_a_round_trip_is_compared_with_the_fastest_rival_unless_that_is_at_the_floor(self):
        for ours, rival, words in (
                (110, 136, ["1.10 × walk", "b: 1.36 × walk", "0.81", "≤ 0.85: met"]),
                (120, 136, ["1.20 × walk", "b: 1.36 × walk", "0.88", "≤ 0.85: **missed**"]),
                (120, 130, ["1.20 × walk", "b: 1.30 × walk", "0.92",
                            "none: the fastest is not above 1.35 × walk"])):
            self.assertEqual(self.buses(trip("lapwing", ours), trip("b", rival)), words)

    def test_the_channel_is_compared_with_messages_of_its_size(self):
        lines = [trip(name, ns, size) for size, factor in (("round-trip", 9), ("round-trip-32", 1))
                 for name, ns in (("lapwing-channel", 90 * factor), ("b", 200), ("c", 300))]
        self.assertEqual(self.cells_of("round trip over two channels, 32 bytes", *lines),
                         ["0.90 × walk", "b: 2.00 × walk", "0.45", "≤ 0.85: met"])

    def test_delivery_is_compared_with_the_fastest_rival(self):
        for ours, words in ((240, ["1.60", "≥ 1.3: met"]), (165, ["1.10", "≥ 1.3: **missed**"])):
            self.assertEqual(self.delivery(flat("lapwing", ours), flat("b", 150)), [
                f"{ours}.0 million a second", "b: 150.0 million a second", *words])

    def test_the_worse_placement_decides(self):
        swapped = {"cores": [1, 0]}
        self.assertEqual(
            self.buses(trip("lapwing", 100), trip("lapwing", 300, **swapped), trip("b", 200),
                       trip("b", 240, **swapped)),
            ["3.00 × walk", "b: 2.40 × walk", "1.25", "≤ 0.85: **missed**"])
        self.assertEqual(
            self.delivery(flat("lapwing", 400), flat("lapwing", 150, **swapped), flat("b", 100),
                          flat("b", 300, **swapped))[2:], ["0.50", "≥ 1.3: **missed**"])

    def test_there_is_no_verdict_without_every_rival(self):
        self.assertEqual(self.buses(trip("lapwing", 110))[3], "none: not measured: b")
        lost = {**trip("b", 200), "fault": "damaged"}
        self.assertEqual(self.buses(trip("lapwing", 110), lost)[3], "none: not measured: b")

    def test_a_promise_that_lapwing_breaks_in_any_round_is_the_verdict(self):
        good = (flat("lapwing", 240), flat("b", 100))
        for broken, words in (({"fault": "3 torn records"}, "3 torn records"),
                              ({"lost": 9}, "9 records lost, 7 reported")):
            self.assertEqual(self.delivery(*good, flat("lapwing", 240, **broken))[3],
                             f"**FAULT: {words}**")

    def test_rounds_between_unequal_floors_are_marked_if_there_are_no_others(self):
        restless = trip("b", 200, steady=False)
        self.assertEqual(self.buses(trip("lapwing", 110), restless)[3],
                         "≤ 0.85: met; the floors differed")
        self.assertEqual(self.buses(trip("lapwing", 110), restless, trip("b", 200))[3],
                         "≤ 0.85: met")

    def test_without_rivals_there_is_no_comparison(self):
        self.assertIsNone(self.cells_of("round trip over two buses", trip("lapwing", 110),
                                    trip("b", 200), rivals=()))

    def test_rivals_work_between_processes_and_tear_nothing(self):
        rivals = measuring.rivals_listed(pathlib.Path(measuring.__file__).resolve().parents[2])
        self.assertIn("bcast", rivals)
        self.assertFalse({"lapwing", "lapwing-channel", "disruptor", "head-counter-ring"} &
                         set(rivals))


if __name__ == "__main__":
    unittest.main()
