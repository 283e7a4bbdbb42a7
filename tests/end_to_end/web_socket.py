"""A WebSocket client (RFC 6455) for the streams of `lapwing serve`."""

import base64
import json
import os
import struct


def request(token, path, **headers):
    """The bytes of the request. Without a token, the headers may contain a cookie."""
    fields = {"Host": "localhost", "Upgrade": "websocket", "Connection": "Upgrade",
              "Sec-WebSocket-Key": base64.b64encode(os.urandom(16)).decode(),
              "Sec-WebSocket-Version": "13", **headers}
    if token:
        fields["Authorization"] = f"Bearer {token}"
    lines = "".join(f"{name}: {value}\r\n" for name, value in fields.items())
    return f"GET {path} HTTP/1.1\r\n{lines}\r\n".encode()


class Stream:
    """The messages from a path. `status` is the answer's status; 101 for a WebSocket."""

    def __init__(self, connection, token, path="/api/v1/stream", **headers):
        self.connection = connection
        connection.sendall(request(token, path, **headers))
        self.file = connection.makefile("rb")
        self.status = int(self.file.readline().split()[1])
        while self.file.readline().strip():
            pass

    def read(self):
        """The next message."""
        while True:
            first, second = self.file.read(2)
            size = second & 127
            if size == 126:
                (size,) = struct.unpack(">H", self.file.read(2))
            elif size == 127:
                (size,) = struct.unpack(">Q", self.file.read(8))
            payload = self.file.read(size)
            if first & 15 == 1:
                return json.loads(payload)
            if first & 15 == 9:  # answer a ping with a pong, masked by zeros
                self.connection.sendall(bytes([0x8A, 0x80 | len(payload), 0, 0, 0, 0]) + payload)
