#!/usr/bin/env python3
"""Measures the cost of `lapwing serve` for a publisher and a client, next to 1,000 silent clients.

    bench/served.sh [--rounds 3] [--seconds 20] [--clients 1000]

Two publishers send 20,000 records per second each, each with its own server. One good client reads
the view of the first bus. Alternately the silent clients open the view of that bus, or of the other
bus, as strangers that load the machine equally. Prints one line per run, and the medians over the
rounds of the ratio of the two for the first publisher's slow publishes (p99.9) and for the good
client's messages. Needs build/release. Exit: 0 measured, 1 a run failed, 2 wrong usage.
"""

import argparse
import contextlib
import json
import os
import re
import resource
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests" / "end_to_end"))

import web_socket  # noqa: E402

BUILD = Path(os.environ.get("LAPWING_BUILD_DIR", ROOT / "build" / "release"))
PROGRAM = BUILD / "lapwing"
TOKEN = "t" * 64
PACE = 20_000  # records per second
SETTLE_SECONDS = 12  # until every client has connected, and after the last counted message
WAIT_SECONDS = 60
CLIENTS_MAX = 1000  # a server accepts 1,024 connections
DESCRIPTORS = CLIENTS_MAX + 64  # of this program and of a server
RECEIVE_BYTES = 2048  # receive buffer of a silent client, which fills soon


def until(what, is_so):
    end = time.monotonic() + WAIT_SECONDS
    while not (found := is_so()):
        if time.monotonic() > end:
            raise RuntimeError(f"{what} took more than {WAIT_SECONDS} s")
        time.sleep(0.05)
    return found


@contextlib.contextmanager
def program(*arguments, output):
    with open(output, "w", encoding="utf-8") as out:
        process = subprocess.Popen([PROGRAM, *map(str, arguments)], stdout=out,
                                   stderr=subprocess.DEVNULL)
        try:
            yield process
        finally:
            process.terminate()
            process.wait()


def connected(port, receive_bytes=None):
    connection = socket.socket()
    if receive_bytes:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_bytes)
    connection.settimeout(WAIT_SECONDS)
    connection.connect(("127.0.0.1", port))
    return connection


@contextlib.contextmanager
def silent_clients(port, bus, count):
    """Clients that request the view, but read nothing."""
    with contextlib.ExitStack() as open_until:
        for _ in range(count):
            connection = open_until.enter_context(connected(port, RECEIVE_BYTES))
            connection.sendall(web_socket.request(TOKEN, view_of(bus)))
        yield


def view_of(bus):
    return f"/api/v1/view?bus={bus}"


class Served:
    """A bus, its publisher, and its server."""

    def __init__(self, bus, seconds, open_until):
        self.bus = bus
        self.summary, address = Path(f"{bus}.summary"), Path(f"{bus}.address")
        token_file = Path(f"{bus}.token")
        token_file.touch(0o600)
        token_file.write_text(TOKEN)
        self.publisher = open_until.enter_context(program(
            "publish", "--bus", bus, "--source",
            f"synthetic:records={PACE * (seconds + SETTLE_SECONDS)},instruments=3", "--pace", PACE,
            "--summary", output=self.summary))
        until("the bus", (bus / "bus.json").exists)
        self.server = open_until.enter_context(program(
            "serve", "--bus", bus, "--listen", "127.0.0.1:0", "--token-file", token_file,
            output=address))
        self.port = int(until("the server", lambda: re.search(r":(\d+)/", address.read_text()))[1])


def run(is_stranger, seconds, count):
    """Messages of the good client, cost of publishing, and maximum memory of a server."""
    with contextlib.ExitStack() as open_until:
        folder = Path(open_until.enter_context(tempfile.TemporaryDirectory(prefix="lw-")))
        served, other = (Served(folder / name, seconds, open_until) for name in ("served", "other"))
        crowded = other if is_stranger else served
        open_until.enter_context(silent_clients(crowded.port, crowded.bus, count))
        good = web_socket.Stream(open_until.enter_context(connected(served.port)), TOKEN,
                                 view_of(served.bus))
        good.read()
        began, messages = time.monotonic(), 0
        while time.monotonic() < began + seconds:
            last = good.read()
            messages += 1
        rate = messages / (time.monotonic() - began)
        memory = max(memory_most(each.server.pid) for each in (served, other))
        if served.publisher.wait(seconds + WAIT_SECONDS) != 0:
            raise RuntimeError(f"the publisher ended with {served.publisher.returncode}")
        published = json.loads(served.summary.read_text())["publish_ns"]
        return {"rate": rate, "conflated": last["conflated"], "p999": published["p999"],
                "max": published["max"], "memory": memory}


def memory_most(pid):
    status = Path("/proc", str(pid), "status").read_text()
    return int(re.search(r"VmHWM:\s+(\d+)", status)[1]) * 1024


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=int, default=20)
    parser.add_argument("--clients", type=int, default=1000)
    options = parser.parse_args()
    if min(options.rounds, options.seconds, options.clients) < 1:
        parser.error("--rounds, --seconds and --clients are 1 at least")
    if options.clients > CLIENTS_MAX:
        parser.error(f"--clients: {CLIENTS_MAX} at most")
    if not PROGRAM.exists():
        parser.error(f"there is no {PROGRAM}: cmake --preset release && cmake --build build/release")
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < DESCRIPTORS:
        if hard < DESCRIPTORS:
            parser.error(f"it needs {DESCRIPTORS} descriptors; the limit is {hard}")
        resource.setrlimit(resource.RLIMIT_NOFILE, (DESCRIPTORS, hard))
    ratios = {"p999": [], "rate": []}
    for _ in range(options.rounds):
        of = {}
        for is_stranger in (False, True):
            of[is_stranger] = one = run(is_stranger, options.seconds, options.clients)
            print(f"beside {options.clients} {'strangers' if is_stranger else 'silent clients'}: "
                  f"{one['rate']:.2f} messages a second, {one['conflated']} conflated; publish p99.9 "
                  f"{one['p999']} ns, max {one['max'] / 1000:.1f} us; a server's memory "
                  f"{one['memory'] >> 20} MiB at most", flush=True)
        for what, kept in ratios.items():
            kept.append(of[False][what] / of[True][what])
    print("silent clients over strangers, medians: "
          f"slow publishes {statistics.median(ratios['p999']):.2f}, "
          f"messages {statistics.median(ratios['rate']):.2f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
