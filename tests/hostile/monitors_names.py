"""Names: buses that imitate the good user's, and thousands of squatted names."""

import os
import socket

import forged_buses
import good_user
import hostile_publisher
from bases import GROUP

NUMBERS = (0, 1, 64, (1 << 32) - 1, 1 << 40, (1 << 63) - 1, (1 << 64) - 1)
SQUATTED = (100, 1000, 5000)
ANNOUNCED = (10, 300, 4000)
KINDS = ("directory", "directory", "closed", "file", "FIFO", "link", "loop", "socket")


# Spoofers

def spoofers(scene):
    """Other users announce buses with the names and the directory of the good user's bus."""
    good, rng = scene.good, scene.rng
    good.start_bus()
    users = scene.attackers(rng.choice((1, 2, 4)))
    scene.shuffled(lambda: [_spoof(scene, uid) for uid in users],
                   lambda: good.start_monitors("--user", "all"))
    good.watch(scene.seconds)
    text = good.serve.metrics() if good.serve else None
    line = f'lapwing_subscriber_up{{bus="{good_user.NAME}",subscriber="{good_user.GHOST}"}} 1'
    if text and line in text:
        scene.trial.found("`serve --expect bus:ghost` is satisfied by a bus of another user")
    return good.others_seen > 0


def _spoof(scene, uid):
    rng = scene.rng
    buses = []
    for _ in range(rng.choice((1, 3, 20))):
        name = rng.choice(_names(scene, uid))
        header, description = _lies(scene) if rng.random() < 0.5 else ({}, {})
        buses.append(scene.forge(uid, name=name, header=header, description=description))
        scene.trial.note(f"a bus of user {uid} called {name!r} that lies about "
                         f"{sorted(header | description)}")
    for suffix in rng.sample(("", ".abc123", f"-{GROUP}"), 2):
        _announce_lies(scene, uid, suffix)
    mode = rng.choice(("lies", "lies", "welcome only"))
    listed = (good_user.GHOST.encode(), good_user.SUBSCRIBER.encode())
    scene.attack(uid, hostile_publisher.playing(buses, [mode], rng.random(), listed))


def _names(scene, uid):
    own = good_user.NAME
    return (own, own, own, f"{own}#2", f"{uid}/{own}", f"{scene.good.uid}/{own}", f"root/{own}",
            f"61211/{own}", "", "#2", "/", "x" * 63, "\x1b[31m" + own, own + "\n", "ü\u202e" + own,
            own + '",x="')


def _lies(scene):
    """(header, description), each with at most a few fields."""
    rng, good = scene.rng, scene.good
    header = rng.choice((
        {}, {}, {"publisher_pid": good.publisher.process.pid}, {"publisher_pid": 0},
        {"capacity": rng.choice(NUMBERS)}, {"slot_bytes": 4096}, {"has_journal": 1},
        {"session_first_sequence": rng.choice(NUMBERS)}, {"abi_version": 2},
        {"feature_bits": 1}, {"boot_id": bytes(16)}, {"created_wall_ns": rng.choice(NUMBERS)},
        {"bus_name": b"\xff" * 64, "schema": b"\xff" * 32}))
    own = str(good.directory)
    description = rng.choice((
        {}, {}, {"ring_path": "/dev/zero"}, {"journal_root": f"{own}/journal"},
        {"journal_root": "/proc"}, {"journal_root": own}, {"capacity": 1 << 62}, {"name": None},
        {"schema": "dbn.mbo"}, {"schema": "\x1b]0;x\x07"}, {"description": "[" * 100_000},
        {"session_id": "0" * 32}, {"closed": True}, {"abi": -1}))
    return header, description


def _announce_lies(scene, uid, suffix):
    """Announcements of directories that do not belong to the user."""
    rng, good = scene.rng, scene.good
    for directory in rng.sample((good.directory, good.home, "/", "/proc/self/root", "/dev/zero",
                                 "relative", f"{good.directory}/../bus", "/x" * 2000, ""), 4):
        forged_buses.announce(uid, directory, good_user.NAME, suffix=suffix, ring_path="/dev/zero",
                              pid=good.publisher.process.pid, started_ns=rng.choice(NUMBERS))
    folder = forged_buses.shared_directory(uid, suffix)
    for number in range(rng.choice((0, 5))):
        path = folder / f"{number:016x}.bus"
        kind = rng.choice(("link", "FIFO", "directory", "garbage", "large", "open to all"))
        if kind == "link":
            path.symlink_to(rng.choice((good.directory / "bus.json", "/dev/zero", path)))
        elif kind == "FIFO":
            os.mkfifo(path, 0o666)
        elif kind == "directory":
            path.mkdir()
        else:
            text = forged_buses.announcement_text(good.directory, good_user.NAME)
            contents = {"garbage": rng.randbytes(300), "open to all": text.encode(),
                        "large": text.encode().ljust(1 << 20)}
            path.write_bytes(contents[kind])
            path.chmod(0o666 if kind == "open to all" else 0o644)
        os.lchown(path, uid, uid)


# Squatters

def squatters(scene):
    """Thousands of names in shared memory, some with the good user's id, and announcements."""
    good, rng = scene.good, scene.rng
    users = scene.attackers(rng.choice((1, 3, 40)))
    squatted, announced = rng.choice(SQUATTED), rng.choice(ANNOUNCED)
    scene.trial.note(f"{len(users)} users with {squatted} names and {announced} announcements")

    def squat():
        if rng.random() < 0.5:
            _squat_at(scene, users[0], forged_buses.SHARED / f"lapwing-{good.uid}", "directory")
        for number in range(squatted):
            _squat(scene, rng.choice(users), number)

    def announce():
        for number in range(announced):
            _announce_nothing(scene, users[number % len(users)], number)

    scene.shuffled(good.start_bus, squat, announce,
                   lambda: good.start_monitors("--user", "all"))
    scene.shuffled(lambda: good.watch(scene.seconds), lambda: _list_once(scene))
    seen = [monitor.newest for monitor in good.monitors if monitor.newest]
    return any(sum(reading.get(count, 0) for count in ("not_trusted", "beyond_limit"))
               for reading in seen)


def _squat(scene, uid, number):
    """One name of that user, which may contain any user's id."""
    rng, good = scene.rng, scene.good
    whose = rng.choice((good.uid, good.uid, uid, 0, (1 << 32) - 1, 1 << 32, -1, "x", ""))
    behind = rng.choice((f".{number:06}", f"-{GROUP}.{number:06}", f"-{number}",
                         f".{number}\x1b[2J", f"-1-2-{number}", f".{number}." + "y" * 200))
    kind = rng.choice(KINDS)
    _squat_at(scene, uid, forged_buses.SHARED / f"lapwing-{whose}{behind}", kind)


def _squat_at(scene, uid, path, kind):
    rng, good = scene.rng, scene.good
    if path.exists() or path.is_symlink():
        return
    if kind in ("directory", "closed"):
        path.mkdir(mode=0o755)
        path.chmod(rng.choice((0o755, 0o777)) if kind == "directory" else 0)
    elif kind == "FIFO":
        os.mkfifo(path, 0o666)
    elif kind == "file":
        path.write_bytes(b"")
    elif kind == "socket" and len(str(path)) < 100:
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(str(path))
    else:
        path.symlink_to(path if kind == "loop" else rng.choice((
            good.home, "/proc/self/fd", "/", f"{forged_buses.SHARED}/lapwing-{good.uid}")))
    os.lchown(path, uid, uid)


def _announce_nothing(scene, uid, number):
    """An announcement of a directory that is empty or does not exist."""
    directory = scene.trial.folder / "empty" / f"{number:05}"
    if number % 3 == 0:
        directory.mkdir(parents=True)
        os.chown(directory, uid, uid)
    suffix = "" if number % 4 else f".a{number % 80:05}"
    forged_buses.announce(uid, directory, good_user.NAME, suffix=suffix)


def _list_once(scene):
    for options in ((), ("--json",)):
        done = scene.good.run("buses", "--user", "all", *options)
        if done.code != 0:
            scene.trial.found(f"`buses` ended with {done.code} beside squatted names")
