"""HTTP clients that hold connections to `serve` without the token, and silent WebSockets."""

import errno
import random
import re
import signal
import socket
import time

CONNECTIONS = (50, 1200, 3000)
NEW_IN_A_TURN = (2, 20, 100)  # closed connections reopened per iteration
DRIP_SECONDS = 1.0
WEB_SOCKETS = (0, 10, 100)
RECEIVE_BUFFER_BYTES = 4096
CONNECTIONS_OF_SERVE = 1024
UNPROVEN_CLOSED = re.compile(
    r'^lapwing_http_rejected_total\{reason="no_token_yet"\} [1-9]', re.MULTILINE)

HEAD = b"GET /api/v1/buses HTTP/1.1\r\nHost: localhost\r\n"
KINDS = {"nothing": b"", "half a header": HEAD + b"X-Half: ", "no token": HEAD + b"\r\n",
         "wrong token": HEAD + b"Authorization: Bearer " + b"x" * 43 + b"\r\n\r\n",
         "half a body": b"POST /api/login HTTP/1.1\r\nHost: localhost\r\n"
                        b"Content-Length: 43\r\n\r\nx",
         "garbage": b"\x16\x03\x01\x02\x00\x01\x00" * 20, "drip": b""}


def half_open(scene):
    """Thousands of connections without a token, together with the good user's."""
    good, rng = scene.good, scene.rng
    good.start_bus()
    good.start_monitors()
    serve = good.serve
    if serve is None or serve.address is True:
        return False
    count, again = rng.choice(CONNECTIONS), rng.choice(NEW_IN_A_TURN)
    kinds = rng.sample(sorted(KINDS), rng.choice((1, 2, len(KINDS))))
    scene.trial.note(f"{count} connections ({', '.join(kinds)}), {again} of them anew in a turn")
    uid, = scene.attackers(1)
    attacker = scene.attack(uid, _crowding(serve.address.port, count, again, kinds, rng.random()))
    _never_read(scene, serve.address, rng.choice(WEB_SOCKETS))
    if rng.random() < 0.3:
        scene.trial.note("SIGHUP, though there is no certificate to reload")
        serve.process.signal(signal.SIGHUP)
    good.watch(scene.seconds)
    crowd = "nothing" in kinds and count > 2 * CONNECTIONS_OF_SERVE and len(kinds) == 1
    text = serve.metrics() or ""
    if crowd and not UNPROVEN_CLOSED.search(text):
        scene.trial.note("no connection had to be closed for another one")
        return False
    return attacker.count.value > 0


def _never_read(scene, address, count):
    """WebSockets of the good user that are opened but never read."""
    paths = [f"/api/v1/view?bus={scene.good.directory}", "/api/v1/stream"]

    def prepare(counted):
        rng = random.Random(count)
        held = []
        for _ in range(count):
            connection = socket.socket()
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, RECEIVE_BUFFER_BYTES)
            connection.settimeout(1)
            try:
                connection.connect(("127.0.0.1", address.port))
                connection.sendall(address.web_socket_request(rng.choice(paths)))
            except OSError:
                connection.close()
                continue
            held.append(connection)
            counted.add()
        return lambda: len(held)
    scene.attack(scene.good.uid, prepare)


class _Crowd:
    """The given number of connections of each kind, reopened when closed."""

    def __init__(self, port, count, again, kinds, seed):
        self._port, self._again = port, again
        self._kinds = [kinds[index % len(kinds)] for index in range(count)]
        self._connections = [None] * count
        self._rng = random.Random(seed)
        self._at = 0
        self._drip_at = 0.0

    def turn(self, counted, opened_max=None):
        opened = 0
        for _ in range(len(self._connections)):
            self._at = (self._at + 1) % len(self._connections)
            if self._is_open(self._at):
                continue
            counted.add(self._open(self._at))
            opened += 1
            if opened >= (opened_max or self._again):
                break
        self._drip()

    def _is_open(self, index):
        connection = self._connections[index]
        if connection is None:
            return False
        try:
            while connection.recv(4096):
                pass
        except OSError as error:
            if error.errno in (errno.EAGAIN, errno.ENOTCONN):
                return True
        connection.close()
        self._connections[index] = None
        return False

    def _open(self, index):
        connection = socket.socket()
        connection.settimeout(0.2)
        try:
            connection.connect(("127.0.0.1", self._port))
            connection.sendall(KINDS[self._kinds[index]])
        except OSError:
            connection.close()
            return False
        connection.setblocking(False)
        self._connections[index] = connection
        return True

    def _drip(self):
        """Sends one byte of a header per second."""
        if time.monotonic() < self._drip_at:
            return
        self._drip_at = time.monotonic() + DRIP_SECONDS
        for kind, connection in zip(self._kinds, self._connections, strict=True):
            if kind == "drip" and connection is not None:
                try:
                    connection.send(self._rng.choice((b"G", b"x", b":", b" ")))
                except OSError:
                    pass  # detected in the next iteration


def _crowding(port, count, again, kinds, seed):
    """For an Attacker."""
    def prepare(counted):
        crowd = _Crowd(port, count, again, kinds, seed)
        crowd.turn(counted, opened_max=count)
        return lambda: crowd.turn(counted)
    return prepare
