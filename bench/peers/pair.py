#!/usr/bin/env python3
"""Measures one scenario of one peer once and prints one line of JSON; see bench/peers/README.md.

Starts the peer's processes, with one side on each of two cores, and stops them all.
"""

import argparse
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
SCENARIOS = ("round-trip", "saturation", "stopped-reader", "stopped-of-two")
RECORDS = {"round-trip": 200_000, "saturation": 8_000_000}
# The side that begins, on the first core, and the side that answers, on the second. In scenarios
# with a stopped reader, the second role is stopped.
ROLES = {
    "round-trip": ("initiator", "echo"),
    "saturation": ("publisher", "subscriber"),
    "stopped-reader": ("publisher", "subscriber"),
    "stopped-of-two": ("publisher", "subscriber", "witness"),
}
KEEPING = ("lossless", "keeps")  # values of `delivery` that permit no loss
SHARED_PARENT = "/dev/shm"
SOCKETS_PARENT = "/tmp"
NOT_HERE = 77


class Failed(Exception):
    pass


@dataclass(frozen=True)
class Peer:
    name: str
    version: str
    package: str
    scope: str
    delivery: str
    tears: bool
    driver: bool
    scenarios: tuple
    notes: str


def read_list(path=HERE / "list"):
    peers = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        if line.strip() and not line.startswith("#"):
            name, version, package, scope, delivery, tears, driver, scenarios, notes = line.split(
                None, 8
            )
            peers[name] = Peer(
                name, version, package, scope, delivery, tears == "yes", driver == "yes",
                tuple(scenarios.split(",")), notes,
            )
    return peers


def programs_directory():
    return Path(os.environ.get("LAPWING_PEERS_DIR", ROOT / "build" / "peers"))


class Sides:
    """The processes of one measurement. They are always ended."""

    def __init__(self, program, arguments, deadline):
        self.program = program
        self.arguments = arguments
        self.deadline = deadline
        self.processes = {}

    def start(self, role, core, scenario, extra=()):
        command = [str(self.program), scenario, "--role", role, "--core", str(core)]
        self.processes[role] = subprocess.Popen(
            [*command, *self.arguments, *extra],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )

    def check(self):
        for role, process in self.processes.items():
            if process.poll() not in (None, 0):
                raise Failed(f"the {role} ended with {process.returncode}")
        if time.monotonic() > self.deadline:
            raise Failed("it did not finish within the time limit")

    def await_file(self, path):
        while not path.exists():
            self.check()
            time.sleep(0.001)

    def finish(self, role):
        """The JSON line that a role printed last. Its libraries may print lines before it."""
        process = self.processes[role]
        while process.poll() is None:
            self.check()
            time.sleep(0.005)
        self.check()
        lines = process.stdout.read().strip().splitlines()
        return json.loads(lines[-1]) if lines else {}

    def signal(self, role, number):
        os.killpg(self.processes[role].pid, number)

    def end(self):
        # The driver ends last, because its clients unregister.
        driver = self.processes.pop("driver", None)
        self._end(self.processes.values())
        self._end([driver] if driver else [])

    def _end(self, processes):
        for process in processes:
            for number in (signal.SIGCONT, signal.SIGTERM):
                self._send(process, number)
        patience = time.monotonic() + 3
        for process in processes:
            while process.poll() is None and time.monotonic() < patience:
                time.sleep(0.005)
            self._send(process, signal.SIGKILL)
            process.wait()

    @staticmethod
    def _send(process, number):
        try:
            os.killpg(process.pid, number)
        except ProcessLookupError:
            pass


def measure(peer, options, shared, sides):
    """The fields of one measurement."""
    first, *others = ROLES[options.scenario]
    if peer.driver:
        sides.start("driver", options.cores[1], "-")
        sides.await_file(shared / "driver.ready")
    if peer.scope == "threads":
        sides.start("both", options.cores[0], options.scenario,
                    ["--other-core", str(options.cores[1])])
        return sides.finish("both")
    for role in others:
        sides.start(role, options.cores[1], options.scenario)
    sides.start(first, options.cores[0], options.scenario)
    if options.scenario.startswith("stopped-"):
        return measure_stopped(options, shared, sides)
    fields = sides.finish(first)
    fields.update(sides.finish(others[0]))
    return fields


def measure_stopped(options, shared, sides):
    publisher, stopped, *witnesses = ROLES[options.scenario]
    sides.await_file(shared / "publisher.ready")
    if not options.reader_runs:
        sides.signal(stopped, signal.SIGSTOP)
    for witness in witnesses:
        sides.await_file(shared / f"{witness}.counts")
    (shared / "go").touch()
    fields = {"stopped": not options.reader_runs, "rate": options.rate, **sides.finish(publisher)}
    for witness in witnesses:
        heard = sides.finish(witness)
        # Like Arrivals::lost() in the other languages: torn records count as torn, not as lost.
        came = heard["received"] - heard["out_of_order"]
        fields.update(heard, lost=max(0, fields["published"] - came))
    return fields


def fault_of(peer, fields):
    if fields.get("damaged"):
        return f"{fields['damaged']} damaged round trips"
    # Torn records are an error, unless the peer's reader does not check for them.
    if fields.get("torn") and not peer.tears:
        return f"{fields['torn']} torn records"
    if fields.get("out_of_order") and not peer.tears:
        return f"{fields['out_of_order']} records out of order"
    if fields.get("lost") and peer.delivery in KEEPING:
        return f"{fields['lost']} records lost"
    return ""


def cores(text):
    return [int(core) for core in text.split(",")]


def parse(arguments):
    parser = argparse.ArgumentParser(
        description="Measures one scenario of one peer once.", usage="pair.py PEER SCENARIO …"
    )
    parser.add_argument("peer")
    parser.add_argument("scenario", choices=SCENARIOS)
    parser.add_argument("--cores", default="0,1", type=cores)
    parser.add_argument("--bytes", type=int, default=56)
    parser.add_argument("--records", type=int)
    parser.add_argument("--warm-up", type=int, default=1 << 20)
    parser.add_argument("--seconds", type=float, default=15)
    parser.add_argument("--rate", type=float, default=500_000)
    parser.add_argument("--capacity", type=int)
    parser.add_argument("--reader-runs", action="store_true")
    parser.add_argument("--time-limit", type=float, default=120)
    options = parser.parse_args(arguments)
    if len(options.cores) != 2:
        parser.error("--cores takes two cores, for example 0,1")
    if options.records is None:
        options.records = RECORDS.get(options.scenario, 0)
    return options


def main(arguments):
    options = parse(arguments)
    peer = read_list().get(options.peer)
    if peer is None:
        print(f"pair: {options.peer} is not in {HERE / 'list'}", file=sys.stderr)
        return 2
    program = programs_directory() / peer.name
    if options.scenario not in peer.scenarios:
        print(f"pair: {peer.name} has no scenario {options.scenario}", file=sys.stderr)
        return NOT_HERE
    if not os.access(program, os.X_OK):
        print(f"pair: {program} is missing. Run bench/peers/build.sh.", file=sys.stderr)
        return NOT_HERE
    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) != signal.SIG_IGN:  # ignored with nohup
            signal.signal(number, lambda number, frame: sys.exit(1))
    shared = Path(tempfile.mkdtemp(prefix="lapwing-peer-", dir=SHARED_PARENT))
    given = {
        "--bytes": options.bytes, "--records": options.records, "--warm-up": options.warm_up,
        "--seconds": options.seconds, "--rate": options.rate, "--capacity": options.capacity,
        "--shared": shared,
    }
    texts = [text for name, value in given.items() if value is not None
             for text in (name, str(value))]
    sides = Sides(program, texts, time.monotonic() + options.time_limit)
    try:
        fields = measure(peer, options, shared, sides)
    except (Failed, json.JSONDecodeError) as failure:
        print(f"pair: {peer.name} {options.scenario}: {failure}", file=sys.stderr)
        return 1
    finally:
        sides.end()
        shutil.rmtree(shared, ignore_errors=True)
        for folder in (SHARED_PARENT, SOCKETS_PARENT):
            for left in Path(folder).glob(shared.name + "_*"):
                left.unlink(missing_ok=True)  # files that some peers create there
    line = {"peer": peer.name, "version": peer.version, "delivery": peer.delivery,
            "scenario": options.scenario, "bytes": options.bytes, "cores": options.cores, **fields,
            "fault": fault_of(peer, fields)}
    print(json.dumps(line))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
