"""The list of metrics (metrics.txt), and the metrics that an expression uses."""

import re
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
TYPES = ("counter", "gauge", "histogram")
SUFFIXES = ("_bucket", "_sum", "_count")  # of the series of a histogram
OF_PROMETHEUS = {"job", "instance"}  # labels that scraping adds
NAME = r"\b(?:lapwing|process)_\w+"


@dataclass(frozen=True)
class Metric:
    name: str
    type: str
    labels: tuple
    help: str


def read_metrics(path=HERE / "metrics.txt"):
    """The metrics by name. Raises ValueError for an invalid line."""
    metrics = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        if not line or line.startswith("#"):
            continue
        words = line.split(maxsplit=3)
        if len(words) != 4 or words[1] not in TYPES or words[0] in metrics:
            raise ValueError(f"{path.name}: not a metric, or there twice: {line}")
        name, kind, labels, text = words
        metrics[name] = Metric(name, kind, () if labels == "-" else tuple(labels.split(",")), text)
    return metrics


def metric_of(series, metrics):
    """The metric of a series, or None."""
    found = metrics.get(series)
    if found:
        return found if found.type != "histogram" else None
    for suffix in SUFFIXES:
        found = metrics.get(series.removesuffix(suffix))
        if series.endswith(suffix) and found and found.type == "histogram":
            return found
    return None


def selectors(expression):
    """(name of a series, labels that select it) for each selector of our metrics."""
    for found in re.finditer(rf"({NAME})(?:\s*\{{([^}}]*)\}})?", expression):
        yield found[1], re.findall(r"(\w+)\s*(?:=~|!~|!=|=)", found[2] or "")


def faults(expression, metrics):
    """Metrics and labels in an expression that are not in the list, a sentence for each."""
    for series, labels in selectors(expression):
        metric = metric_of(series, metrics)
        if metric is None:
            yield f"{series} is not a series of a listed metric"
            continue
        known = {*metric.labels, *OF_PROMETHEUS} | ({"le"} if series.endswith("_bucket") else set())
        yield from (f"{series} has no label {label}" for label in labels if label not in known)
