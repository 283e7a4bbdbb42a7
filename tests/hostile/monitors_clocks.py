"""Clocks in other time namespaces, and heartbeats that root sets to the future or the past, while
publishers and subscribers are stopped, killed and restarted.

The monitors' reports must follow each change. Steps of the wall clock cannot be tested here,
because that clock has no namespace.
"""

import json
import os
import signal
import struct
import time

import bus_files
import good_user
import thread_stop
import time_namespace

AHEAD_SECONDS = (3_600, 1_000_000, 1_000_000_000)
HELD_SECONDS = 1.0  # how long a state must last
STEPS = 2
IDLE_SECONDS, IDLE_SHARE = 1.0, 0.1  # maximum share of a processor for a subscriber
SERVICE_THREAD = "lapwing-service"  # renews the heartbeat
FUTURE_NS = (10**9, 3_600 * 10**9, 10**18)
NO_PUBLISHER = 5  # exit code
CHANGING = {"running", "stopped", "silent", "gone", "closed", "unreadable"}


def clocks(scene):
    """The publisher, its subscriber and the monitors have separate clocks."""
    try:
        with time_namespace.of(1):
            pass
    except OSError as reason:
        scene.trial.note(f"no time namespace: {reason}")
        return False
    return _Clocks(scene).run()


class _Clocks:
    def __init__(self, scene):
        self.scene, self.rng, self.good = scene, scene.rng, scene.good
        self.trial = scene.trial
        self.subscribed_at = 0.0
        offsets = (0, *AHEAD_SECONDS, -int(time.monotonic() / 2))
        self.publisher, self.subscriber, self.monitor = (self.rng.choice(offsets)
                                                         for _ in range(3))
        scene.trial.note(f"clocks: publisher {self.publisher:+} s, subscriber "
                         f"{self.subscriber:+} s, monitors {self.monitor:+} s")

    def run(self):
        good = self.good
        self._publish()
        self._subscribe()
        good.until_listed(good_user.SUBSCRIBER)
        with time_namespace.of(self.monitor):
            good.start_monitors(serve=self.rng.random() < 0.5)
        good.watch(HELD_SECONDS)
        good.is_steady = False
        steps = (self.publisher_stopped, self.publisher_killed, self.publisher_silent,
                 self.publisher_closed, self.subscriber_stopped, self.subscriber_killed,
                 self.heartbeat_forged)
        for step in self.rng.sample(steps, STEPS):
            self.trial.note(step.__name__.replace("_", " "))
            step()
        self._subscriber_is_idle()
        return True

    def _subscriber_is_idle(self):
        """Checks that the subscriber parks between records, regardless of its clock."""
        seconds = time.monotonic() - self.subscribed_at
        used = self.trial.check(self.good.subscriber, stop_after=0).processor_seconds
        if used > IDLE_SECONDS + seconds * IDLE_SHARE:
            self.trial.found(f"a subscriber used {used:.1f} s of processor time in {seconds:.0f} s")

    def _publish(self):
        with time_namespace.of(self.publisher):
            self.good.publish()

    def _subscribe(self):
        with time_namespace.of(self.subscriber):
            self.good.subscriber = self.good.subscribe()
        self.subscribed_at = time.monotonic()

    # The publisher

    def publisher_stopped(self):
        self._forge_sometimes()
        self.good.publisher.signal(signal.SIGSTOP)
        self._forge_sometimes()
        self._reaches("stopped")
        self.good.publisher.signal(signal.SIGCONT)
        self._runs_again()

    def publisher_killed(self):
        self._forge_sometimes()
        self.good.publisher.kill()
        self._forge_sometimes()
        self._reaches("gone")
        self._publish()
        self._runs_again()

    def publisher_silent(self):
        """Stops one thread of the publisher, so that the kernel reports a running process."""
        pid = self.good.publisher.process.pid
        threads = [thread for thread in thread_stop.threads_of(pid)
                   if _name_of(pid, thread) == SERVICE_THREAD]
        if len(threads) != 1:
            self.trial.found(f"a publisher has {len(threads)} threads {SERVICE_THREAD}")
            return
        try:
            with thread_stop.Stopped(threads[0]):
                self._forge_sometimes()
                self._reaches("silent")
        except PermissionError:
            self.trial.note("ptrace is not allowed")
        self._runs_again()

    def publisher_closed(self):
        self.good.states = CHANGING
        self.trial.check(self.good.publisher, stop_after=0)
        self.good.until_reading("a closed bus", lambda own: own is None or own["ring"] is None)
        self._publish()
        self._runs_again()

    def _reaches(self, state):
        """Checks that the monitors report that state continuously."""
        good = self.good
        good.states = CHANGING
        if good.until_reading(state, lambda own: own is not None and own["state"] == state):
            good.states = {state}
            good.watch(HELD_SECONDS)
        self._commands_report(state)
        good.states = CHANGING

    def _commands_report(self, state):
        with time_namespace.of(self.monitor):
            health = self.good.run("health", "--bus", self.good.directory, "--ignore-subscribers")
            buses = self.good.run("buses", "--json")
        if health.code != (0 if state == "running" else NO_PUBLISHER):
            self.trial.found(f"`health` ended with {health.code} while the publisher was "
                                   f"{state}")
        shown = [bus["state"] for bus in json.loads(buses.out)["buses"]
                 if bus["directory"] == str(self.good.directory)] if buses.code == 0 else []
        if shown != [state]:
            self.trial.found(f"`buses` reported {shown} while the publisher was {state}")

    def _runs_again(self):
        """The publisher is running, with its subscriber attached and not missing."""
        good = self.good
        good.states = CHANGING

        def is_well(own):
            found = _subscriber_of(own)
            return own is not None and own["state"] == "running" and found is not None \
                and found["state"] != "missing" and not found["stopped"]
        if good.until_reading("running with its subscriber", is_well):
            good.states = {"running"}
            good.watch(HELD_SECONDS)
        self._commands_report("running")

    # The subscriber

    def subscriber_stopped(self):
        self.good.subscriber.signal(signal.SIGSTOP)
        self.good.until_reading("a stopped subscriber", lambda own: _is_stopped(own) is True)
        self.good.subscriber.signal(signal.SIGCONT)
        self.good.until_reading("a subscriber that runs", lambda own: _is_stopped(own) is False)

    def subscriber_killed(self):
        self.good.subscriber.kill()
        self.good.until_reading("no subscriber", lambda own: own is not None
                                and own["subscribers"] is not None and not _subscriber_of(own))
        self._subscribe()
        self._runs_again()

    # The heartbeat

    def heartbeat_forged(self):
        """Changes the heartbeat of a running publisher, which renews it within a second."""
        for _ in range(3):
            is_past = self._forge()
            self.good.states = {"running", "silent"} if is_past else {"running"}
            self.good.watch(HELD_SECONDS / 2)
        self._runs_again()

    def _forge_sometimes(self):
        if self.rng.random() < 0.6:
            self.good.states = CHANGING
            self._forge()

    def _forge(self):
        """Writes another time to the ring as root. Returns True if monitors see it as past."""
        now = time.monotonic_ns() + self.monitor * 10**9
        value = self.rng.choice((0, 1, now // 2, *(now + ahead for ahead in FUTURE_NS),
                                 (1 << 63) - 1, (1 << 64) - 1))
        description = json.loads((self.good.directory / "bus.json").read_text())
        ring = os.open(description["ring_path"], os.O_RDWR)
        try:
            os.pwrite(ring, struct.pack("<Q", value), bus_files.RING_WORDS["heartbeat"])
        finally:
            os.close(ring)
        self.trial.note(f"heartbeat set to {value}, the monitors' clock shows {now}")
        return value <= now


def _name_of(pid, thread):
    with open(f"/proc/{pid}/task/{thread}/comm", encoding="utf-8") as name:
        return name.read().strip()


def _subscriber_of(own):
    found = [one for one in (own or {}).get("subscribers") or ()
             if one["name"] == good_user.SUBSCRIBER]
    return found[0] if found else None


def _is_stopped(own):
    found = _subscriber_of(own)
    return found["stopped"] if found else None
