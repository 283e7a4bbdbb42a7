"""A process that simulates the publishers of forged buses: it holds their rings' locks, renews
their heartbeats and serves their control sockets, each in a hostile way."""

import errno
import fcntl
import os
import random
import socket
import struct
import time

import bus_files
import control_frames as frames

F_OFD_SETLK = 37  # Linux only; Python has no name for it
WHOLE_FILE = struct.pack("hhqqi4x", fcntl.F_WRLCK, os.SEEK_SET, 0, 0, 0)
BEAT_SECONDS = 0.3
DRIP_SECONDS = 1.0
BURST = 50  # packets per client and iteration
LISTED_MAX = 3000
FAR_FUTURE_NS = 1 << 62
WORDS = (0, 1, 1 << 40, (1 << 63) - 1, 1 << 63, (1 << 64) - 1)


def hold(bus):
    """A descriptor with a publisher's lock."""
    ring = os.open(bus.ring, os.O_RDWR)
    fcntl.fcntl(ring, F_OFD_SETLK, WHOLE_FILE)
    return ring


class Client:
    """A connected monitor."""

    def __init__(self, connection):
        self.connection = connection
        self.request = b""  # the newest request
        self.answered = 0
        self.again_at = 0
        self.is_welcomed = False

    def send(self, packet):
        """Returns False if the client accepts no more for now, or has disconnected."""
        try:
            self.connection.send(packet)
            return True
        except OSError:
            return False

    def receive(self):
        """Receives a request. Returns False at the end."""
        try:
            packet = self.connection.recv(frames.BYTES_MAX)
        except OSError as error:
            return error.errno in (errno.EAGAIN, errno.EINTR)
        self.request = packet
        return bool(packet)


class HostileBus:
    """A forged bus and the behaviour of its socket, one of MODES."""

    def __init__(self, bus, mode, rng, listed=()):
        self._bus, self._mode, self._rng, self._listed = bus, mode, rng, listed
        self._ring = hold(bus)
        self._clients = []
        self._beat_at = 0
        self._words = rng.choice(("still", "still", "racing", "wild"))
        self._listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._listener.bind(str(bus.socket))
        os.chmod(bus.socket, 0o666)
        self._listener.listen(0 if mode == "deaf" else 64)
        self._listener.setblocking(False)

    def turn(self, count):
        self._beat()
        if self._mode == "deaf":
            return
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                break
            count.add()
            connection.setblocking(False)
            self._clients.append(Client(connection))
        self._clients = [client for client in self._clients if self._serve(client)]

    def _beat(self):
        now = time.monotonic()
        if now < self._beat_at:
            return
        self._beat_at = now + BEAT_SECONDS
        self._put("heartbeat", time.monotonic_ns())
        if self._words == "racing":
            self._put("head", int(now * 1e6))
        elif self._words == "wild":
            word = self._rng.choice(("head", "archived", "durable", "oldest", "journal_state"))
            self._put(word, self._rng.choice(WORDS))

    def _put(self, word, value):
        os.pwrite(self._ring, struct.pack("<Q", value), bus_files.RING_WORDS[word])

    def _serve(self, client):
        """Returns False if the connection has ended."""
        if not client.receive():
            client.connection.close()
            return False
        return MODES[self._mode](self, client) is not False

    # Answers to a client

    def _welcome(self, client):
        """Sends a Welcome after a Hello. Returns True when it has been sent."""
        if client.is_welcomed:
            return True
        if frames.kind_of(client.request) != "Hello":
            return False
        newest = frames.get(client.request, "Hello", "version")
        client.request = b""
        client.is_welcomed = client.send(self._welcome_frame(newest))
        return client.is_welcomed

    def _welcome_frame(self, newest=frames.CONTROL_VERSION):
        """A Welcome of this release or of an earlier one."""
        description = self._bus.description
        return frames.frame(
            "Welcome", session_id=self._bus.session_id, journal_id=self._bus.journal_id,
            session_first=1, head=300, durable=0, capacity=description["capacity"],
            slot_bytes=description["slot_bytes"], record_bytes=description["record_bytes"],
            version=self._rng.choice((2, 3, newest, newest)), schema=description["schema"].encode(),
            bus_name=self._bus.name.encode()[:63], ring_path=str(self._bus.ring).encode())

    def _silent(self, _):
        pass

    def _half_a_frame(self, client):
        if client.request and not client.answered:
            frame = self._welcome_frame()
            client.answered = client.send(frame[:self._rng.choice((1, 8, 16, 700, 1223))])

    def _garbage(self, client):
        for _ in range(BURST):
            size = self._rng.choice((1, 16, 96, 1248, 2048, 9000))
            if not client.send(self._rng.randbytes(size)):
                return

    def _drip(self, client):
        """One byte per second."""
        if client.request and time.monotonic() > client.again_at:
            client.again_at = time.monotonic() + DRIP_SECONDS
            client.send(b"\x4c")

    def _slow_frames(self, client):
        """One valid frame per second, which clients skip."""
        if self._welcome(client) and time.monotonic() > client.again_at:
            client.again_at = time.monotonic() + DRIP_SECONDS
            client.send(self._unknown())

    @staticmethod
    def _unknown():
        header = frames.HEADER.pack(frames.MAGIC, frames.FRAME_VERSION, 999, frames.BYTES_MAX, 0)
        return header + bytes(frames.BYTES_MAX - len(header))

    def _unknown_for_ever(self, client):
        self._welcome(client)
        frame = self._unknown()
        for _ in range(BURST):
            if not client.send(frame):
                return

    def _welcome_only(self, client):
        self._welcome(client)

    def _infos_for_ever(self, client):
        if self._welcome(client) and client.request:
            tag = frames.tag_of(client.request) + self._rng.choice((0, 0, 0, 1)) & WORDS[-1]
            for _ in range(BURST):
                if not client.send(self._info(tag)):
                    return

    def _events_for_ever(self, client):
        if not self._welcome(client) or not client.request:
            return
        tag = frames.tag_of(client.request)
        if frames.kind_of(client.request) == "ListSubscribers":
            client.send(frames.frame("EndOfList", tag=tag))
            client.request = b""
            return
        for _ in range(BURST):
            client.answered += 1
            if not client.send(self._event(tag, client.answered)):
                return

    def _closes(self, client):
        if self._rng.random() < 0.5:
            self._welcome(client)
        if client.request or client.is_welcomed:
            client.connection.close()
            return False
        return True

    def _lies(self, client):
        """Complete answers that contain only false values."""
        if not self._welcome(client) or not client.request:
            return
        kind, tag = frames.kind_of(client.request), frames.tag_of(client.request)
        if kind == "ListSubscribers":
            names = [*self._listed, *(None for _ in range(self._rng.choice((0, 3, 40))))]
            sent = sum(client.send(self._info(tag, name)) for name in names)
            client.send(frames.frame("EndOfList", tag=tag, refused=self._rng.choice(WORDS),
                                     count=self._rng.choice((sent, 0, (1 << 64) - 1)),
                                     dropped=self._rng.choice(WORDS)))
        elif kind == "ListEvents":
            for _ in range(self._rng.choice((0, 3, 40))):
                client.send(self._event(tag, self._rng.choice(WORDS)))
            client.send(frames.frame("EndOfEvents", tag=tag, count=self._rng.choice(WORDS),
                                     newest=self._rng.choice(WORDS)))
        client.request = b""

    def _wall_ns(self):
        """Now, the past, the future, and impossible times."""
        now = time.time_ns()
        return self._rng.choice((now, 0, 1, now - 10**18, now + 10**9, now + 10**18, FAR_FUTURE_NS,
                                 (1 << 64) - 1))

    def _info(self, tag, name=None):
        rng = self._rng
        name = name or rng.choice((b"good", b"x" * 64, b"\x1b[31m\n", b"\xff\xfe", b""))
        return frames.frame(
            "SubscriberInfo", tag=tag, name=name,
            pid=rng.choice((0, 1, os.getpid(), (1 << 32) - 1)),
            uid=rng.choice((0, self._bus.uid)), role=1, state=rng.choice((1, 2, 3, 4, 5, 6, 0)),
            reported=rng.choice((0, 1, 1)), position=rng.choice(WORDS), records=rng.choice(WORDS),
            gaps=rng.choice(WORDS), lost=rng.choice(WORDS), head_seen=rng.choice(WORDS),
            connected_wall_ns=self._wall_ns(), reported_wall_ns=self._wall_ns(),
            wait=rng.choice((0, 1, 3, 99)), on_gap=rng.choice((0, 1, 99)),
            report_age_ns=rng.choice((0, 0, 1, *WORDS)), process_start=rng.choice(WORDS),
            missing_since_wall_ns=rng.choice((0, 0, self._wall_ns())))

    def _event(self, tag, number):
        rng = self._rng
        return frames.frame("EventInfo", tag=tag, number=number, wall_ns=self._wall_ns(),
                            kind=rng.randrange(16), reason=rng.randrange(12),
                            sys_errno=rng.choice((-1, 0, 5, 1 << 30)), pid=rng.choice((0, 1, 99)),
                            position=rng.choice(WORDS), lost=rng.choice(WORDS),
                            count=rng.choice(WORDS), name=rng.choice((b"good", b"\x1b]0;x\x07")),
                            text=rng.choice((b"", b"\xff" * 128, b"why\n")))


MODES = {
    "deaf": None, "silent": HostileBus._silent, "half a frame": HostileBus._half_a_frame,
    "garbage": HostileBus._garbage, "drip": HostileBus._drip,
    "slow frames": HostileBus._slow_frames, "unknown for ever": HostileBus._unknown_for_ever,
    "welcome only": HostileBus._welcome_only, "infos for ever": HostileBus._infos_for_ever,
    "events for ever": HostileBus._events_for_ever, "closes": HostileBus._closes,
    "lies": HostileBus._lies}


def playing(buses, modes, seed, listed=()):
    """For an Attacker: simulates these buses, with alternating modes."""
    def prepare(count):
        rng = random.Random(seed)
        played = [HostileBus(bus, modes[index % len(modes)], rng, listed)
                  for index, bus in enumerate(buses)]

        def turn():
            for bus in played:
                bus.turn(count)
        return turn
    return prepare
