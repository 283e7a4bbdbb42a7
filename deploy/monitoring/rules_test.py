#!/usr/bin/env python3
"""Checks lapwing.rules.yml with promtool, its unit tests, and the list of metrics.

run.sh creates its environment. Every alert needs a case in which it fires and one in which it stays
quiet, and its text must state what happened and what to do. A rule without its `for`, without one
of its conditions, or with a lower limit must fail a case; otherwise no case is near enough.
"""

import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import yaml

import metrics

HERE = Path(__file__).resolve().parent
RULES = HERE / "lapwing.rules.yml"
CASES = HERE / "lapwing.rules_test.yml"
SEVERITIES = ("critical", "warning")
# Matches a line that adds a condition or an alternative to the lines above it.
CONDITION = re.compile(r"^\s*(and|unless|or)\b")
LOWER = {  # (alert, comparison): a lower limit, or a longer horizon
    ("LapwingJournalLagging", "> 0.5 *"): "> 0.45 *",
    ("LapwingDiskFull", "4 * 3600"): "8 * 3600",
    ("LapwingPublishStalled", "> 0.1"): "> 0.075",
    ("LapwingSubscriberLagging", "> 5\n"): "> 3.5\n",
    ("LapwingSubscriberStopped", "> 30\n"): "> 4\n",
    ("LapwingCheckpointOld", "> 3600"): "> 2700",
    ("LapwingJournalFailed", "failed|shed"): "failed|shed|none",
    ("LapwingFeedSilent", "[2m]"): "[30s]",
}


def loaded(path):
    return yaml.safe_load(path.read_text(encoding="utf-8"))


def promtool(*arguments):
    return subprocess.run(["promtool", *map(str, arguments)], capture_output=True, text=True,
                          timeout=300, check=False)


def alerts(rules):
    return {rule["alert"]: rule for group in rules["groups"] for rule in group["rules"]}


def variants(rule):
    """(description of a change, changed rule) for each change that a case must detect."""
    if "for" in rule:
        yield "no `for`", {key: rule[key] for key in rule if key != "for"}
    lines = rule["expr"].splitlines(keepends=True)
    for number, line in enumerate(lines):
        if CONDITION.match(line):
            rest = "".join(lines[:number] + lines[number + 1:])
            yield f"without: {line.strip()}", {**rule, "expr": rest}
    for (alert, limit), lower in LOWER.items():
        if alert == rule["alert"]:
            if limit not in rule["expr"]:
                raise AssertionError(f"{alert} does not compare with {limit!r}")
            yield f"{lower.strip()} for {limit.strip()}", {
                **rule, "expr": rule["expr"].replace(limit, lower)}


class Rules(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.rules = loaded(RULES)
        cls.alerts = alerts(cls.rules)
        cls.cases = loaded(CASES)["tests"]
        cls.metrics = metrics.read_metrics()

    def test_promtool_accepts_the_rules(self):
        done = promtool("check", "rules", RULES)
        print(done.stdout, flush=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn(f"SUCCESS: {len(self.alerts)} rules found", done.stdout)

    def test_every_case_of_promtool_passes(self):
        done = promtool("test", "rules", CASES)
        print(done.stdout, flush=True)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn("SUCCESS", done.stdout)

    def test_each_alert_fires_in_one_case_and_stays_quiet_in_another(self):
        for name in self.alerts:
            with self.subTest(alert=name):
                fires = self.cases_of(f"{name} fires")
                self.assertTrue(any(check.get("exp_alerts") for check in fires), "never fires")
                quiet = self.cases_of(f"{name} stays quiet")
                self.assertGreater(len(quiet), 1, "too few moments at which it is quiet")
                self.assertFalse(any(check.get("exp_alerts") for check in quiet))
        known = tuple(f"{name} {does}" for name in self.alerts for does in ("fires", "stays quiet"))
        for case in self.cases:
            self.assertTrue(case["name"].startswith(known), case["name"])
            for check in case["alert_rule_test"]:
                self.assertEqual(case["name"].split()[0], check["alertname"])

    def cases_of(self, beginning):
        return [check for case in self.cases if case["name"].startswith(beginning)
                for check in case["alert_rule_test"]]

    def test_a_rule_that_is_changed_fails_a_case(self):
        tried = 0
        for name in self.alerts:
            self.assertTrue(self.passes(name, self.alerts[name]), name)
            for change, rule in variants(self.alerts[name]):
                with self.subTest(alert=name, change=change):
                    self.assertFalse(self.passes(name, rule), "every case still passes")
                    tried += 1
        self.assertGreater(tried, 30)

    def passes(self, name, rule):
        """Whether the cases of `name` pass with this rule instead."""
        cases = loaded(CASES)
        cases["tests"] = [case for case in cases["tests"] if case["name"].split()[0] == name]
        with tempfile.TemporaryDirectory() as folder:
            changed = {"groups": [{"name": "changed", "rules": [rule]}]}
            Path(folder, RULES.name).write_text(yaml.safe_dump(changed), encoding="utf-8")
            Path(folder, CASES.name).write_text(yaml.safe_dump(cases), encoding="utf-8")
            checked = promtool("check", "rules", Path(folder, RULES.name))
            self.assertEqual(checked.returncode, 0, checked.stderr)  # it is a valid rule
            return promtool("test", "rules", Path(folder, CASES.name)).returncode == 0

    def test_each_alert_has_a_severity_and_says_what_to_do(self):
        for name, rule in self.alerts.items():
            with self.subTest(alert=name):
                self.assertIn(rule["labels"]["severity"], SEVERITIES)
                self.assertEqual(set(rule["annotations"]), {"summary", "description"})
                self.assertLess(len(rule["annotations"]["summary"]), 120)
                self.assertIn("`lapwing ", rule["annotations"]["description"], "no command")
                self.assertIn("$labels.instance", " ".join(rule["annotations"].values()))

    def test_each_alert_uses_metrics_and_labels_of_the_list(self):
        for name, rule in self.alerts.items():
            with self.subTest(alert=name):
                self.assertEqual(list(metrics.faults(rule["expr"], self.metrics)), [])

    def test_the_cases_have_metrics_with_the_labels_of_the_list(self):
        seen = set()
        for case in self.cases:
            for series in case["input_series"]:
                self.assertEqual(list(metrics.faults(series["series"], self.metrics)), [])
                for name, labels in metrics.selectors(series["series"]):
                    seen.add(name)
                    metric = metrics.metric_of(name, self.metrics)
                    self.assertLessEqual(set(metric.labels), set(labels), series["series"])
        self.assertGreater(len(seen), 10)

    def test_unknown_metrics_and_labels_are_detected(self):
        for expression in ("lapwing_bus_down == 0", "lapwing_bus_up{subscriber='a'} == 0",
                           "rate(lapwing_journal_sync_seconds[5m])", "lapwing_bus_up_count",
                           "lapwing_subscriber_up{le='1'}"):
            self.assertEqual(len(list(metrics.faults(expression, self.metrics))), 1, expression)

    def test_the_document_has_each_alert_with_its_severity(self):
        page = HERE.parents[1] / "docs" / "how-to" / "monitor-with-prometheus.md"
        text = page.read_text(encoding="utf-8")
        rows = re.findall(r"^\| `(Lapwing\w+)` \| (\w+) \|", text, re.M)
        self.assertEqual(sorted(rows), sorted((name, rule["labels"]["severity"])
                                              for name, rule in self.alerts.items()))


if __name__ == "__main__":
    sys.exit(unittest.main())
