"""Tests `lapwing serve` with Prometheus: the list of metrics, every panel's query, every alert.

Prometheus scrapes the monitor of a live bus with a journal, subscribers, a checkpointer and a
channel. deploy/monitoring/setup.sh installs Prometheus. Without it the test is skipped, or fails if
LAPWING_REQUIRE_REGISTRIES is 1.
"""

import http.client
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import unittest
import urllib.parse
from pathlib import Path

import harness
import web_socket

MONITORING = Path(__file__).resolve().parents[2] / "deploy" / "monitoring"
sys.path.insert(0, str(MONITORING))
import metrics  # noqa: E402

TOKEN = "a-token-for-a-test-" + "0123456789abcdef" * 2
VARIABLES = {"$bus": ".*", "$subscriber": ".*", "$__rate_interval": "10s", "$__range": "1m"}
SAMPLE = re.compile(r"([a-z_]\w*)(?:\{(.*)\})? (\S+)")
LABEL = re.compile(r'(\w+)="')


def get(port, path, token=None):
    """(status, body) of a GET request to 127.0.0.1."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=harness.HANG_SECONDS)
    try:
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        connection.request("GET", path, headers=headers)
        answer = connection.getresponse()
        return answer.status, answer.read().decode()
    finally:
        connection.close()


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


class Exposition:
    """The text of /metrics: help and type of each name, and the labels of its series."""

    def __init__(self, text):
        self.help = dict(re.findall(r"^# HELP (\w+) (.*)$", text, re.M))
        self.type = dict(re.findall(r"^# TYPE (\w+) (\w+)$", text, re.M))
        self.labels = {}
        for line in text.splitlines():
            if line and not line.startswith("#"):
                name, labels, _ = SAMPLE.fullmatch(line).groups()
                self.labels.setdefault(name, set()).add(tuple(LABEL.findall(labels or "")))


class Monitoring(harness.ProgramTest):
    def setUp(self):
        super().setUp()
        self.token_file = self.folder / "token"
        self.token_file.write_text(TOKEN + "\n")
        self.token_file.chmod(0o600)
        self.bus = self.folder / "es"
        self.start("publish", "publish", "--bus", self.bus, "--source", "synthetic:records=0",
                   "--pace", 20_000)
        self.start("tail", "tail", "--bus", self.bus, "--format", "none", "--reattach",
                   f"{harness.HANG_SECONDS}s")
        self.fills = self.folder / "fills"  # its records have a publish time
        self.start_signals()
        self.start("measure", "tail", "--bus", self.fills, "--measure", 1, "--format", "none",
                   "--reattach", f"{harness.HANG_SECONDS}s")
        self.start("checkpoint", "checkpoint", "--bus", self.bus, "--fold", "latest", "--every",
                   "1s", "--reattach", f"{harness.HANG_SECONDS}s")
        calls = str(self.folder / "calls.sock")
        self.start("listen", "ping", "--listen", calls)
        self.start("ping", "ping", calls, "--count", 100_000_000, "--interval", "10ms",
                   *harness.WITH_PATIENCE)
        self.port = self.serve()
        self.view()

    def start_signals(self):
        program = Path(os.environ.get("LAPWING_BUILD_DIR", "")) / "tests" / "signals"
        self.assertTrue(os.access(program, os.X_OK), f"{program} is not built")
        self.signals = harness.Running([program, self.fills, "0", "live"], self.folder, "signals",
                                       stdin=subprocess.PIPE)
        self.running.append(self.signals)
        self.addCleanup(self.signals.process.stdin.close)

    def serve(self):
        serve = self.start("serve", "serve", "--bus", self.bus, "--bus", self.fills, "--expect", "es:tail", "--token-file",
                           self.token_file, "--listen", "127.0.0.1:0")
        address = self.until("the address", lambda: "\n" in serve.out() and serve.out())
        port = urllib.parse.urlsplit(address.split()[0]).port
        self.assertEqual(get(port, "/metrics")[0], 401)  # causes a rejection
        return port

    def view(self):
        """Opens a view of the bus and reads one message."""
        self.until("the bus to be known", lambda: get(
            self.port, f"/api/v1/view?bus={self.bus}", TOKEN)[0] == 426)
        connection = socket.create_connection(("127.0.0.1", self.port), harness.HANG_SECONDS)
        self.addCleanup(connection.close)
        stream = web_socket.Stream(connection, TOKEN, f"/api/v1/view?bus={self.bus}")
        stream.read()

    def exposition(self):
        status, text = get(self.port, "/metrics", TOKEN)
        self.assertEqual(status, 200)
        return text

    def test_it_exposes_the_list_and_nothing_else(self):
        listed = metrics.read_metrics()
        self.until("all of the list", lambda: not set(listed) - set(
            Exposition(self.exposition()).type))
        said = Exposition(self.exposition())
        self.assertEqual({name: (said.type[name], said.help.get(name)) for name in said.type},
                         {name: (one.type, one.help) for name, one in listed.items()})
        for series, sets in said.labels.items():
            metric = metrics.metric_of(series, listed)
            self.assertIsNotNone(metric, series)
            wanted = set(metric.labels) | ({"le"} if series.endswith("_bucket") else set())
            self.assertEqual({frozenset(labels) for labels in sets}, {frozenset(wanted)}, series)

    def test_promtool_has_nothing_to_say(self):
        self.until("the subscriber's ages",
                   lambda: "lapwing_subscriber_latency_seconds_count" in self.exposition())
        done = subprocess.run(["promtool", "check", "metrics"], input=self.exposition(),
                              capture_output=True, text=True, check=False)
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "", ""))

    def start_prometheus(self):
        """Starts Prometheus. Returns its port."""
        configuration = {
            "global": {"scrape_interval": "1s", "evaluation_interval": "1s"},
            "rule_files": [str(MONITORING / "lapwing.rules.yml")],
            "scrape_configs": [{
                "job_name": "lapwing",
                "authorization": {"credentials_file": str(self.token_file)},
                "static_configs": [{"targets": [f"127.0.0.1:{self.port}"]}]}]}
        path = self.folder / "prometheus.yml"
        path.write_text(json.dumps(configuration))  # valid YAML as well
        port = free_port()
        self.running.append(harness.Running(
            [shutil.which("prometheus"), f"--config.file={path}",
             f"--storage.tsdb.path={self.folder / 'tsdb'}",
             f"--web.listen-address=127.0.0.1:{port}"], self.folder, "prometheus"))

        def ready():
            try:
                return get(port, "/-/ready")[0] == 200
            except OSError:
                return False
        self.until("Prometheus", ready)
        return port

    def ask(self, port, path, **parameters):
        status, text = get(port, f"/api/v1/{path}?{urllib.parse.urlencode(parameters)}")
        self.assertEqual(status, 200, text)
        return json.loads(text)["data"]

    def test_each_panel_shows_a_series_and_no_alert_fires(self):
        port = self.start_prometheus()
        board = json.loads((MONITORING / "lapwing.dashboard.json").read_text())
        asked = 0
        for panel in board["panels"]:
            for target in panel.get("targets", ()):
                expression = target["expr"]
                for name, value in VARIABLES.items():
                    expression = expression.replace(name, value)
                self.until(f"a series of {panel['title']}: {expression}", lambda expression=expression: (
                    self.ask(port, "query", query=expression)["result"]))
                asked += 1
        self.assertGreater(asked, 40)
        for variable, value in (("bus", "es"), ("subscriber", "tail")):
            self.assertIn(value, self.ask(port, f"label/{variable}/values"))
        self.check_alerts(port)

    def check_alerts(self, port):
        """Every rule can be evaluated on the scraped data, and does not fire for a healthy bus."""
        def rules():
            groups = self.ask(port, "rules")["groups"]
            found = [rule for group in groups for rule in group["rules"]]
            return all(rule["health"] != "unknown" for rule in found) and found
        found = self.until("the rules to be evaluated", rules)
        self.assertEqual(len(found), 16)
        for rule in found:
            self.assertEqual((rule["health"], rule.get("lastError")), ("ok", None), rule["name"])
            self.assertNotEqual(rule["state"], "firing", rule)
            self.check_commands(rule["annotations"]["description"])

    def check_commands(self, text):
        """The commands in an alert exist, with their options."""
        commands = re.findall(r"`lapwing (\w+)([^`]*)`", text)
        self.assertTrue(commands, text)
        for command, rest in commands:
            done = subprocess.run([harness.program(), command, "--help"], capture_output=True,
                                  text=True, check=False)
            self.assertEqual(done.returncode, 0, command)
            for option in re.findall(r"--[a-z-]+", rest):
                self.assertIn(option, done.stdout, f"of lapwing {command}")

    def process(self, name):
        return next(one for one in self.running if one.name == name)

    def test_alerts_fire_for_what_is_killed_and_what_is_stopped(self):
        port = self.start_prometheus()
        self.until("the subscribers", lambda: {"tail"} == {
            one["metric"]["subscriber"] for one in self.ask(
                port, "query", query='lapwing_subscriber_up{subscriber="tail"} == 1')["result"]})
        self.process("tail").kill()
        self.process("measure").signal(signal.SIGSTOP)
        self.until_firing(port, "LapwingSubscriberMissing", bus="es", subscriber="tail")
        self.until_firing(port, "LapwingSubscriberStopped", bus="fills", subscriber="tail")
        self.process("publish").kill()
        self.until_firing(port, "LapwingPublisherGone", bus="es")

    def until_firing(self, port, name, **labels):
        def firing():
            return any(alert["state"] == "firing" and
                       {"alertname": name, **labels}.items() <= alert["labels"].items()
                       for alert in self.ask(port, "alerts")["alerts"])
        self.until(f"{name} to fire", firing)

    def test_a_bus_that_is_closed_cleanly_takes_its_series_with_it(self):
        self.until("the bus", lambda: 'lapwing_bus_up{bus="es"} 1' in self.exposition())
        self.process("publish").stop()
        # The expectation remains.
        expected = ['lapwing_subscriber_up{bus="es",subscriber="tail"} 0']
        self.until("it to be gone", lambda: expected == [
            line for line in self.exposition().splitlines() if 'bus="es"' in line])


if __name__ == "__main__":
    if shutil.which("prometheus") is None or shutil.which("promtool") is None:
        print("SKIPPED: Prometheus is not installed; deploy/monitoring/setup.sh installs it")
        sys.exit(1 if os.environ.get("LAPWING_REQUIRE_REGISTRIES") == "1" else 77)
    sys.exit(unittest.main())
