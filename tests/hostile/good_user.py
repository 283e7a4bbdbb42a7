"""A user whose bus is watched during attacks: its publisher, subscriber and monitors.

Every reading must contain the complete bus, and none may be late. The longest time between two
readings is kept for each monitor.
"""

import calendar
import http.client
import json
import os
import signal
import time

import web_client

NAME, SUBSCRIBER, GHOST = "bus", "good", "ghost"
INTERVAL, INTERVAL_SECONDS = "500ms", 0.5
LATE_SECONDS = 30 + INTERVAL_SECONDS  # a check for hangs, not of timing
END_SECONDS_MAX = 30
ASK_SECONDS = 0.2
TURN_SECONDS = 0.05
LISTED_SECONDS = 0.1  # from one request to the next
BUSES_OF_OTHER_MAX = 256  # docs/how-to/monitor.md


def seconds_of(text):
    """A time in the JSON, in seconds since 1970."""
    whole, _, fraction = text.rstrip("Z").partition(".")
    seconds = calendar.timegm(time.strptime(whole, "%Y-%m-%dT%H:%M:%S"))
    return seconds + float(f"0.{fraction or 0}")


class Readings:
    """The times of readings, with the longest pause."""

    def __init__(self, now):
        self.newest, self.longest, self.is_late = now, 0.0, False

    def take(self, seconds):
        self.longest = max(self.longest, seconds - self.newest)
        self.newest = max(self.newest, seconds)

    def check(self, now):
        """True once if the next reading is late."""
        was_late, self.is_late = self.is_late, now - self.newest > LATE_SECONDS
        if self.is_late:
            self.longest = max(self.longest, now - self.newest)
        return self.is_late and not was_late


class TopMonitor:
    """`top --json`."""

    who = "top"

    def __init__(self, process):
        self.process = process
        self.readings = Readings(time.time())
        self.newest = None  # reading
        self.has_begun = False
        self._at, self._rest = 0, b""

    def all_readings(self):
        return [self.readings]

    def poll(self):
        with open(self.process.out_path, "rb") as out:
            out.seek(self._at)
            data = out.read()
        self._at += len(data)
        *lines, self._rest = (self._rest + data).split(b"\n")
        return [json.loads(line) for line in lines if line.startswith(b"{")]


class ServeMonitor:
    """`serve`, with requests over one permanent connection and over new connections."""

    who = "serve"

    def __init__(self, process):
        self.process = process
        self.readings = Readings(time.time())
        self.newest = None
        self.has_begun = False
        self.new_connections = Readings(time.time())
        self.faults = []
        self.address = None
        self._connection = None
        self._ask_at = 0.0

    def all_readings(self):
        return [self.readings, self.new_connections]

    def poll(self):
        if not self.address:
            line = self.process.out_path.read_text()
            if not line.endswith("\n"):
                return []
            self.address = web_client.Address(line)
            self._connection = self.address.connect()
        if time.monotonic() < self._ask_at:
            return []
        self._ask_at = time.monotonic() + ASK_SECONDS
        self._ask_anew()
        return self._ask()

    def _ask(self):
        is_new = self._connection.sock is None
        try:
            status, body = self.address.request(self._connection, "/api/v1/buses")
        except (OSError, http.client.HTTPException) as error:
            self._connection.close()
            if not is_new and self.process.alive():
                self.faults.append(f"closed a connection that had shown the token: {error!r}")
            return []
        if status == 200:
            return [json.loads(body)]
        if status != 503:  # no reading yet
            self.faults.append(f"answered {status} to a request with the token")
        return []

    def _ask_anew(self):
        """A new client with the token."""
        connection = self.address.connect()
        try:
            if self.address.request(connection, "/healthz")[0] == 200:
                self.new_connections.take(time.time())
        except (OSError, http.client.HTTPException):
            pass  # a single failure is allowed; repeated ones make it late
        finally:
            connection.close()

    def metrics(self):
        """The text of /metrics, or None."""
        connection = self.address.connect()
        try:
            status, body = self.address.request(connection, "/metrics")
            return body.decode() if status == 200 else None
        except (OSError, http.client.HTTPException):
            return None
        finally:
            connection.close()


class GoodUser:
    def __init__(self, trial, uid, become):
        self.trial, self.uid, self._become = trial, uid, become
        self.home = trial.folder / "good"
        self.directory = self.home / NAME
        self.publisher = self.subscriber = None
        self.monitors = []
        self.states = {"running"}  # states that a reading may report
        self.is_steady = True  # all readings must contain the subscribers
        self.others_seen = 0
        self.home.mkdir()
        os.chown(self.home, uid, uid)

    def start(self, *arguments):
        return self.trial.start(*arguments, before_exec=self._become)

    def run(self, *arguments, **keywords):
        return self.trial.run(*arguments, before_exec=self._become, **keywords)

    # The bus

    def publish(self):
        self.publisher = self.start(
            "publish", "--bus", self.directory, "--source", "kv16:records=100000,seed=5", "--loop",
            "0", "--pace", "500", "--capacity", "4096", "--segment-bytes", "64K",
            "--sync-interval", "100ms")

    def subscribe(self, name=SUBSCRIBER):
        return self.start("tail", "--bus", self.directory, "--name", name, "--format", "none",
                          "--reattach", "60s", "--wait", "park")

    def start_bus(self):
        """Starts a publisher and its subscriber."""
        self.publish()
        self.subscriber = self.subscribe()
        self.until_listed(SUBSCRIBER)

    def listed(self):
        """The subscribers that the publisher lists, or None."""
        time.sleep(LISTED_SECONDS)
        said = len(self.trial.said)
        done = self.start("subscribers", "--json", "--bus", self.directory).outcome()
        del self.trial.said[said:]
        return json.loads(done.out)["subscribers"] if done.code == 0 else None

    def until_listed(self, *names):
        """Waits until these subscribers are attached."""
        def are_listed():
            there = [one["name"] for one in self.listed() or () if one["state"] != "missing"]
            return all(name in there for name in names)
        return self.trial.until(f"{', '.join(names)} to be attached", are_listed)

    # Monitors

    def start_monitors(self, *options, top=True, serve=True):
        if top:
            self.monitors.append(TopMonitor(self.start("top", "--json", "--interval", INTERVAL,
                                                       *options)))
        if serve:
            self.monitors.append(ServeMonitor(self.start(
                "serve", "--listen", "127.0.0.1:0", "--interval", INTERVAL, "--expect",
                f"{NAME}:{GHOST}", *options)))

    @property
    def serve(self):
        """The monitor `serve`, after it has printed its address."""
        found = [monitor for monitor in self.monitors if monitor.who == "serve"]
        if found and self.trial.until("the address of serve", lambda: self._address_of(found[0])):
            return found[0]
        return None

    @staticmethod
    def _address_of(monitor):
        monitor.poll()
        return monitor.address or not monitor.process.alive()

    def watch(self, seconds):
        """Checks readings for `seconds`, and until each monitor has made a reading after that."""
        until, wall = time.monotonic() + seconds, time.time() + seconds
        while self.monitors and time.monotonic() < until:
            self.turn()
        while any(readings.newest < wall and not readings.is_late for monitor in self.monitors
                  for readings in monitor.all_readings()):
            self.turn()

    def until_reading(self, what, condition):
        """Waits until each monitor has made a reading for which condition(good bus or None) is
        true."""
        waiting = {monitor: monitor.newest for monitor in self.monitors}
        deadline = time.monotonic() + LATE_SECONDS
        while waiting and time.monotonic() < deadline:
            self.turn()
            for monitor, before in list(waiting.items()):
                if monitor not in self.monitors:
                    del waiting[monitor]
                elif monitor.newest is not before and condition(self._own(monitor.newest)):
                    del waiting[monitor]
        for monitor in waiting:
            shown = self._own(monitor.newest) if monitor.newest else None
            state = shown["state"] if shown else "no bus"
            self.trial.found(f"`{monitor.who}` did not report {what} within {LATE_SECONDS:.0f} s, "
                             f"but: {state}")
        return not waiting

    def turn(self):
        for monitor in list(self.monitors):
            for reading in monitor.poll():
                self._take(monitor, reading)
            self._check(monitor)
        time.sleep(TURN_SECONDS)

    def _check(self, monitor):
        late = []
        if monitor.readings.check(time.time()):
            late.append("a reading of the good user's bus")
        if monitor.who == "serve":
            if monitor.new_connections.check(time.time()):
                late.append("an answer to a new connection")
            for fault in monitor.faults:
                self.trial.found(f"`serve` {fault}")
            monitor.faults.clear()
        for what in late:
            own = self._own(monitor.newest) if monitor.newest else None
            newest = "; ".join(self._faults_of(own)) if own else "it is not listed"
            self.trial.found(f"`{monitor.who}`: {what} is more than {LATE_SECONDS:.0f} s late; "
                             f"the newest: {newest or 'good'}")
        if not monitor.process.alive():
            ended = self.trial.check(monitor.process)
            self.monitors.remove(monitor)
            words = ended.err.decode(errors="replace")[-300:]
            self.trial.found(f"`{monitor.who}` ended with {ended.code}: {words}")

    def _own(self, reading):
        for bus in reading["buses"]:
            if bus["directory"] == str(self.directory):
                return bus
        return None

    def _take(self, monitor, reading):
        if monitor.newest and reading["time"] == monitor.newest["time"]:
            return
        monitor.newest = reading
        own = self._own(reading)
        monitor.has_begun |= own is not None and not list(self._faults_of(own))
        # Its first reading may precede the discovery of the bus.
        if not monitor.has_begun and self.is_steady:
            return
        monitor.readings.take(seconds_of(reading["time"]))
        for fault in self._faults(reading):
            self.trial.found(f"`{monitor.who}`: {fault}")

    def _faults(self, reading):
        """The faults of a reading, as sentences."""
        own = self._own(reading)
        if own is not None:
            yield from self._faults_of(own)
        elif "running" in self.states and self.is_steady:
            yield "a reading lacks the good user's bus"
        labels = [bus.get("label", bus["name"]) for bus in reading["buses"]]
        if len(set(labels)) != len(labels):
            twice = sorted({label for label in labels if labels.count(label) > 1})
            yield f"two buses have the label {twice[0]!r}"
        others = [bus for bus in reading["buses"] if bus is not own]
        hostile = [bus for bus in others
                   if bus["directory"].startswith(f"{self.trial.folder}/")]
        self.others_seen = max(self.others_seen, len(hostile))
        yield from self._faults_of_others(reading, others)

    def _faults_of(self, own):
        if own.get("label", own["name"]) != NAME or own.get("uid", self.uid) != self.uid:
            yield (f"the good user's bus is called {own.get('label')!r} and belongs to user "
                   f"{own.get('uid')}")
        if own["state"] not in self.states:
            yield f"the good user's bus is reported as {own['state']}"
        if not self.is_steady:
            return
        if own["ring"] is None:
            yield f"the good user's bus has no ring: {own.get('ring_why')}"
        if own["subscribers"] is None:
            yield f"the good user's bus has no subscribers: {own.get('subscribers_why')}"
        elif not any(one["name"] == SUBSCRIBER and one["state"] != "missing"
                     for one in own["subscribers"]):
            yield "the good user's subscriber is not listed"

    def _faults_of_others(self, reading, others):
        counts = {}
        for bus in others:
            uid = bus.get("uid")
            if uid in (None, self.uid, 0):
                continue
            counts[uid] = counts.get(uid, 0) + 1
            if "/" not in bus["label"]:
                yield f"a bus of user {uid} has the label {bus['label']!r}"
        for uid, count in counts.items():
            if count > BUSES_OF_OTHER_MAX:
                yield f"{count} buses of user {uid} are read"
        uids = [bus.get("uid") in (None, self.uid, 0) for bus in reading["buses"]]
        if uids != sorted(uids, reverse=True):
            yield "a bus of another user comes before one of a trusted user"

    # The end

    def end(self):
        """Asserts that every monitor ends on SIGTERM with code 0. Returns {name: longest pause}."""
        longest = {}
        for monitor in self.monitors:
            begun = time.monotonic()
            ended = self.trial.check(monitor.process, stop_after=0)
            if ended.code != 0:
                self.trial.found(f"`{monitor.who}` ended with {ended.code} on SIGTERM")
            seconds = time.monotonic() - begun
            if seconds > END_SECONDS_MAX:
                self.trial.found(f"`{monitor.who}` took {seconds:.0f} s to end on SIGTERM")
            longest[monitor.who] = monitor.readings.longest
            longest[f"the end of {monitor.who}"] = seconds
            if monitor.who == "serve":
                longest["a new connection"] = monitor.new_connections.longest
        for process in (self.subscriber, self.publisher):
            if process and process.alive():
                process.signal(signal.SIGCONT)
                self.trial.check(process, stop_after=0)
        return longest
