"""Another user's rings that change while monitors and a view of `serve` read them: truncated,
emptied, extended, punched, replaced."""

import ctypes
import json
import os
import pathlib
import random
import signal
import socket
import time
import urllib.parse

import bus_files
import web_client
from bases import GROUP

PUNCH = 3  # FALLOC_FL_KEEP_SIZE | FALLOC_FL_PUNCH_HOLE
ROUNDS = 2
ROUND_SECONDS = 1.2

_libc = ctypes.CDLL(None, use_errno=True)
_libc.fallocate.argtypes = [ctypes.c_int, ctypes.c_int, ctypes.c_int64, ctypes.c_int64]


def cut_rings(scene):
    """Attacks the ring of another user's real publisher, running or stopped."""
    good, rng = scene.good, scene.rng
    good.start_bus()
    uid, = scene.attackers(1)
    bus = scene.home(uid) / "victim"
    viewed = 0
    for number in range(ROUNDS):
        publisher, ring = _publish(scene, uid, bus)
        if number == 0:
            good.start_monitors("--user", "all")
        view = _view(scene, bus)
        viewed += view is not None and view.bytes > 0
        if rng.random() < 0.5:
            publisher.signal(signal.SIGSTOP)
        scene.trial.note(_harm(scene, uid, ring))
        good.watch(max(ROUND_SECONDS, scene.seconds / 2))
        good.run("top", "--once", "--json", "--user", "all")
        if view is not None:
            view.poll()
            view.close()
        publisher.kill()  # its ring may have crashed it, which is its user's fault
        _remove(ring)
    return viewed > 0


def _publish(scene, uid, bus):
    known = _ring_of(bus)
    publisher = scene.trial.start(
        "publish", "--bus", bus, "--source", "kv16:records=100000,seed=6", "--loop", "0", "--pace",
        "2000", "--capacity", "4096", "--journal", "none", "--group", GROUP,
        before_exec=scene.user(uid))
    ring = scene.trial.until("a ring of another user", lambda: _ring_of(bus, known))
    scene.trial.until("its records", lambda: _head_of(ring) > 100 or not publisher.alive())
    return publisher, ring


def _ring_of(bus, known=None):
    """The ring in a bus's description, or None if it is the known one."""
    description = bus / "bus.json"
    if not description.exists():
        return None
    ring = pathlib.Path(json.loads(description.read_text())["ring_path"])
    return ring if ring != known and ring.exists() else None


def _head_of(ring):
    with open(ring, "rb") as file:
        return int.from_bytes(os.pread(file.fileno(), 8, bus_files.RING_WORDS["head"]), "little")


def _view(scene, bus):
    """A view of that bus that has shown data, or None."""
    serve = scene.good.serve
    if serve is None or serve.address is True:
        return None
    path = f"/api/v1/view?bus={urllib.parse.quote(str(bus))}"
    deadline = time.monotonic() + web_client.ANSWER_SECONDS
    while time.monotonic() < deadline:
        scene.good.turn()
        try:
            view = web_client.Stream(serve.address, path)
        except OSError:
            return None
        while view.poll() and not view.bytes and time.monotonic() < deadline:
            scene.good.turn()
        if view.bytes:
            return view
        view.close()
    return None


def _harm(scene, uid, ring):
    """Makes a random change. Returns its description."""
    rng = scene.rng
    size = ring.stat().st_size
    kind = rng.choice(("cut", "cut", "extended", "punched", "replaced", "flapping", "scribbled",
                       "removed"))
    ring.chmod(0o644)
    if kind == "cut":
        bytes_left = rng.choice((0, 1, 4095, 4096, 4097, 8191, 8192, 8193, size // 2, size - 1))
        os.truncate(ring, bytes_left)
        return f"the ring is cut to {bytes_left} bytes"
    if kind == "extended":
        os.truncate(ring, rng.choice((size + 1, 2 * size, 1 << 40)))
    elif kind == "punched":
        begin, end = rng.choice(((0, 4096), (4096, 4096), (8192, size), (0, size)))
        with open(ring, "r+b") as file:
            _libc.fallocate(file.fileno(), PUNCH, begin, end)
    elif kind == "flapping":
        scene.attack(uid, _flapping(ring, size, rng.random()))
    elif kind == "scribbled":
        scene.attack(uid, _scribbling(ring, size, rng.random()))
    elif kind == "replaced":
        return f"the ring is replaced by a {_replace(scene, uid, ring)}"
    else:
        ring.unlink()
    return f"the ring is {kind}"


def _flapping(ring, size, seed):
    """For an Attacker: truncates and restores the ring repeatedly."""
    def prepare(count):
        rng = random.Random(seed)
        file = os.open(ring, os.O_RDWR)

        def turn():
            for _ in range(20):
                os.ftruncate(file, rng.choice((0, 4096, 8192, size // 2)))
                os.ftruncate(file, size)
            count.add()
        return turn
    return prepare


def _scribbling(ring, size, seed):
    """For an Attacker: random writes anywhere, including the header."""
    def prepare(count):
        rng = random.Random(seed)
        file = os.open(ring, os.O_RDWR)

        def turn():
            for _ in range(50):
                os.pwrite(file, rng.choice((bytes(8), b"\xff" * 8, rng.randbytes(8))),
                          8 * rng.randrange(rng.choice((512, 1024, size // 8))))
            count.add()
        return turn
    return prepare


def _replace(scene, uid, ring):
    kind = scene.rng.choice(("FIFO", "directory", "link", "socket", "copy"))
    content = ring.read_bytes()
    ring.unlink()
    if kind == "FIFO":
        os.mkfifo(ring, 0o666)
    elif kind == "directory":
        ring.mkdir()
    elif kind == "link":
        ring.symlink_to(scene.rng.choice(("/dev/zero", scene.good.directory / "bus.json", ring)))
    elif kind == "socket":
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(str(ring))
    else:
        ring.write_bytes(content[:scene.rng.choice((0, 8192, len(content)))])
        ring.chmod(0o644)
    os.lchown(ring, uid, GROUP)
    return kind


def _remove(ring):
    if ring.is_dir() and not ring.is_symlink():
        ring.rmdir()
    else:
        ring.unlink(missing_ok=True)
