"""Publishers that do not answer or send false data on the sockets of another user's buses; and
subscribers that send invalid reports to the good user's own publisher."""

import os
import random
import socket
import time

import control_frames as frames
import hostile_publisher
from hostile_publisher import WORDS

BUSES = (1, 5, 25)
QUIET = "quiet"
ANSWER_SECONDS = 2
REPORT_SECONDS = 0.02  # less than 200 frames per second


def silent_sockets(scene):
    """Every bus of another user has a socket that gives hostile answers, or no socket."""
    good, rng = scene.good, scene.rng
    good.start_bus()
    attackers = []

    def attack():
        for uid in scene.attackers(rng.choice((1, 1, 3))):
            buses = [scene.forge(uid, name=f"other-{uid}-{number}")
                     for number in range(rng.choice(BUSES))]
            modes = rng.sample(sorted(hostile_publisher.MODES), rng.choice((1, 2, 12)))
            scene.trial.note(f"{len(buses)} sockets of user {uid}: {', '.join(modes)}")
            playing = hostile_publisher.playing(buses, modes, rng.random())
            attackers.append(scene.attack(uid, playing))

    scene.shuffled(attack, lambda: good.start_monitors("--user", "all"))
    good.watch(scene.seconds)
    _ask_one(scene)
    is_heard = any(attacker.count.value for attacker in attackers)
    return is_heard or good.others_seen > 0  # those that never accept do not count


def _ask_one(scene):
    """Checks that a command for such a bus ends."""
    uids = sorted(path for path in scene.trial.folder.iterdir() if path.name.isdigit())
    bus = scene.rng.choice(sorted(uids[0].iterdir())) / "bus"
    command = scene.rng.choice((("info",), ("health",), ("subscribers", "--json"), ("events",),
                                ("top", "--once", "--json")))
    scene.good.run(*command, "--bus", bus)


# Reports

def reports(scene):
    """The good user's subscribers report impossible positions and counts. Releases from before age
    reports send only wall times."""
    good, rng = scene.good, scene.rng
    good.start_bus()
    path = good.directory / "control.sock"
    scene.shuffled(good.start_monitors, lambda: scene.attack(good.uid, _reporting(
        path, rng.choice((1, 30)), rng.random())))
    scene.attack(good.uid, _quiet(path))
    uid, = scene.attackers(1)
    bus = scene.forge(uid, name="other")
    scene.attack(uid, hostile_publisher.playing([bus], ["lies"], rng.random()))
    good.watch(scene.seconds)
    good.until_reading("a silent subscriber", _has_silent_one)
    done = good.run("subscribers", "--json", "--bus", good.directory)
    if done.code != 0:
        scene.trial.found(f"`subscribers` ended with {done.code}")
    return done.out.count(b'"liar') > 0


def _has_silent_one(own):
    return any(one["name"] == QUIET and one.get("silent")
               for one in (own or {}).get("subscribers") or ())


def _quiet(path):
    """For an Attacker: a subscriber that is behind and never reports again."""
    def prepare(_):
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        connection.connect(str(path))
        connection.send(frames.frame("Hello", abi=1, role=frames.SUBSCRIBER, name=QUIET.encode(),
                                     pid=os.getpid(), version=3, min_version=1))
        connection.recv(frames.BYTES_MAX)
        connection.send(frames.frame("Report", position=1, records=1, state=2, head=2))
        return lambda: connection
    return prepare


def _reporting(path, count, seed):
    """For an Attacker: that many subscribers with invalid reports."""
    def prepare(counted):
        rng = random.Random(seed)
        connections = list(filter(None, (_connect(path, rng) for _ in range(count))))
        state = {"next_at": 0.0}

        def turn():
            if time.monotonic() < state["next_at"]:
                return
            state["next_at"] = time.monotonic() + REPORT_SECONDS
            for index, connection in enumerate(connections):
                try:
                    connection.send(_report(rng))
                    counted.add()
                except BlockingIOError:
                    pass  # the publisher is behind
                except OSError:
                    connections[index] = _connect(path, rng) or connection
        return turn
    return prepare


def _connect(path, rng):
    """A subscriber's connection, or None without a publisher."""
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    connection.settimeout(ANSWER_SECONDS)
    name = rng.choice((b"liar", b"liar\x1b[31m", b"liar" + b"\xff" * 60))
    hello = frames.frame("Hello", abi=1, role=frames.SUBSCRIBER, name=name, may_park=1,
                         pid=rng.choice((0, 1, os.getpid())),
                         version=rng.choice((2, 3, 4, 99)), min_version=1)
    try:
        connection.connect(str(path))
        connection.send(hello)
        connection.recv(frames.BYTES_MAX)
    except OSError:
        connection.close()
        return None
    connection.setblocking(False)
    return connection


def _report(rng):
    return frames.frame("Report", position=rng.choice(WORDS), records=rng.choice(WORDS),
                        gaps=rng.choice(WORDS), lost=rng.choice(WORDS), filled=rng.choice(WORDS),
                        state=rng.choice((1, 2, 3, 4)), head=rng.choice(WORDS),
                        wait=rng.choice((0, 1, 2, 3, 77)), on_gap=rng.choice((0, 1, 2, 3, 77)),
                        gaps_before=rng.choice(WORDS), lost_before=rng.choice(WORDS))
