#!/usr/bin/env python3
"""Compares lapwing.dashboard.json with dashboard.py, the SDK's models, and the list of metrics.

run.sh creates its environment.
"""

import copy
import json
import sys
import unittest

from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.cog.plugins import register_default_plugins
from grafana_foundation_sdk.models.dashboard import Dashboard

import dashboard
import metrics

COLUMNS = 24


def survives(document):
    """A dashboard's JSON after the SDK has read and written it."""
    return json.loads(json.dumps(Dashboard.from_json(copy.deepcopy(document)), cls=JSONEncoder))


class DashboardTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        register_default_plugins()
        cls.document = json.loads(dashboard.PATH.read_text(encoding="utf-8"))
        cls.panels = [panel for panel in cls.document["panels"] if panel["type"] != "row"]
        cls.metrics = metrics.read_metrics()

    def test_the_file_is_the_output_of_the_script(self):
        self.assertEqual(dashboard.text_of(dashboard.build()),
                         dashboard.PATH.read_text(encoding="utf-8"),
                         "run dashboard.py again and commit its output")

    def test_the_sdk_reads_the_whole_file(self):
        self.assertEqual(survives(self.document), self.document)

    def test_a_planted_key_does_not_survive(self):
        first = self.document["panels"].index(self.panels[0])
        for part in (lambda document: document,
                     lambda document: document["panels"][first],
                     lambda document: document["panels"][first]["targets"][0],
                     lambda document: document["panels"][first]["options"],
                     lambda document: document["panels"][first]["fieldConfig"]["defaults"],
                     lambda document: document["templating"]["list"][1]):
            planted = copy.deepcopy(self.document)
            part(planted)["planted"] = 1
            self.assertNotEqual(survives(planted), planted)
            self.assertEqual(survives(planted), self.document)

    def test_each_query_uses_metrics_and_labels_of_the_list(self):
        asked = 0
        for panel in self.panels:
            for target in panel["targets"]:
                with self.subTest(panel=panel["title"]):
                    self.assertEqual(list(metrics.faults(target["expr"], self.metrics)), [])
                    asked += len(list(metrics.selectors(target["expr"])))
        self.assertGreater(asked, len(self.panels))

    def test_variables_use_labels_of_the_list(self):
        variables = {one["name"]: one for one in self.document["templating"]["list"]}
        self.assertEqual(list(variables), ["datasource", "bus", "subscriber"])
        for name in ("bus", "subscriber"):
            expression = variables[name]["query"]
            self.assertEqual(list(metrics.faults(expression, self.metrics)), [])
            (series,) = (one for one, _ in metrics.selectors(expression))
            self.assertIn(name, metrics.metric_of(series, self.metrics).labels)

    def test_legends_use_labels_of_their_metric(self):
        for panel in self.panels:
            for target in panel["targets"]:
                names = [metrics.metric_of(series, self.metrics).labels
                         for series, _ in metrics.selectors(target["expr"])]
                known = {label for labels in names for label in labels} | metrics.OF_PROMETHEUS | {"le"}
                for part in target.get("legendFormat", "").split("{{")[1:]:
                    self.assertIn(part.split("}}")[0], known, panel["title"])

    def test_each_panel_has_a_description_a_unit_and_a_position(self):
        taken = set()
        self.assertEqual(len({panel["id"] for panel in self.document["panels"]}),
                         len(self.document["panels"]))
        for panel in self.document["panels"]:
            place = panel["gridPos"]
            cells = {(x, y) for x in range(place["x"], place["x"] + place["w"])
                     for y in range(place["y"], place["y"] + place["h"])}
            self.assertLessEqual(place["x"] + place["w"], COLUMNS, panel["title"])
            self.assertFalse(cells & taken, f"{panel['title']} overlaps another panel")
            taken |= cells
        for panel in self.panels:
            self.assertTrue(panel["description"], panel["title"])
            self.assertTrue(panel["fieldConfig"]["defaults"]["unit"], panel["title"])
        height = max(y for _, y in taken) + 1
        self.assertEqual(len(taken), COLUMNS * height, "the panels leave a gap")


if __name__ == "__main__":
    sys.exit(unittest.main())
