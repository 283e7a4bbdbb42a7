"""Clients of `lapwing serve`: requests with a token, WebSockets, and the machine's loopback device,
which is initially down in a new network namespace."""

import base64
import fcntl
import http.client
import os
import socket
import struct

SIOCGIFFLAGS, SIOCSIFFLAGS, IFF_UP = 0x8913, 0x8914, 1
ANSWER_SECONDS = 10


def raise_loopback():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as device:
        request = struct.pack("16sh14x", b"lo", 0)
        flags = struct.unpack("16sh14x", fcntl.ioctl(device, SIOCGIFFLAGS, request))[1]
        fcntl.ioctl(device, SIOCSIFFLAGS, struct.pack("16sh14x", b"lo", flags | IFF_UP))


class Address:
    """The address and token that a server prints when it starts."""

    def __init__(self, line):
        place, self.token = line.strip().split("/#token=")
        self.port = int(place.rpartition(":")[2])

    def connect(self):
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=ANSWER_SECONDS)

    def request(self, connection, path):
        """(status, body). Raises OSError or HTTPException."""
        connection.request("GET", path, headers={"Authorization": f"Bearer {self.token}"})
        answer = connection.getresponse()
        return answer.status, answer.read()

    def web_socket_request(self, path):
        """The bytes of a request for a WebSocket."""
        key = base64.b64encode(os.urandom(16)).decode()
        return (f"GET {path} HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\n"
                f"Connection: Upgrade\r\nSec-WebSocket-Key: {key}\r\nSec-WebSocket-Version: 13\r\n"
                f"Authorization: Bearer {self.token}\r\n\r\n").encode()


class Stream:
    """A WebSocket whose bytes are counted, but not parsed."""

    def __init__(self, address, path):
        self.connection = socket.create_connection(("127.0.0.1", address.port), ANSWER_SECONDS)
        self.connection.sendall(address.web_socket_request(path))
        self.connection.setblocking(False)
        self._received = b""
        self.bytes = 0  # after the answer's header

    def poll(self):
        """Reads available bytes. Returns False when the connection has ended."""
        try:
            while data := self.connection.recv(65536):
                self._take(data)
            return False
        except BlockingIOError:
            return True
        except OSError:
            return False

    def _take(self, data):
        if self.bytes:
            self.bytes += len(data)
            return
        self._received += data
        head, end, rest = self._received.partition(b"\r\n\r\n")
        if end and b" 101 " in head.splitlines()[0]:
            self.bytes = len(rest)

    def close(self):
        self.connection.close()
