#!/usr/bin/env python3
"""docs/reference/metrics.md lists each metric in metrics.txt, with its type and its labels."""

import re
import sys
import unittest

import metrics

PAGE = metrics.HERE.parents[1] / "docs" / "reference" / "metrics.md"
ROW = r"^\| ((?:`\w+`(?: h)?(?:, )?)+) \| ([\w, ]*)\| .+ \|$"


def listed(text):
    """{name: (is a histogram, labels)} from the series table and the sentence about the process."""
    found = {}
    for names, labels in re.findall(ROW, text.split("\n## Series\n")[1], re.M):
        for name, histogram in re.findall(r"`(\w+)`( h)?", names):
            found[f"lapwing_{name}"] = (bool(histogram), tuple(labels.replace(",", " ").split()))
    return found | {name: (False, ()) for name in re.findall(r"`(process_\w+)`", text)}


class Page(unittest.TestCase):
    def test_it_lists_every_metric_with_type_and_labels(self):
        known = {metric.name: (metric.type == "histogram", metric.labels)
                 for metric in metrics.read_metrics().values()}
        text = PAGE.read_text(encoding="utf-8").split("\nThe reasons of ")[0]
        self.assertEqual(listed(text), known)

    def test_a_wrong_type_or_label_is_detected(self):
        head = "\n## Series\n\n"
        self.assertEqual(listed(head + "| `a`, `b_seconds` h | bus, fold | of a bus |\n"),
                         {"lapwing_a": (False, ("bus", "fold")), "lapwing_b_seconds": (True, ("bus", "fold"))})
        self.assertEqual(listed(head + "| `a` | | one |\n"), {"lapwing_a": (False, ())})


if __name__ == "__main__":
    sys.exit(unittest.main())
