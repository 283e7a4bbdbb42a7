"""Requests squares from a server. See call_server.py for the protocol.

    call_client.py /tmp/squares.sock 7 12
"""

import struct
import sys

import lapwing

REQUEST, REPLY = 1, 2
NUMBER = struct.Struct("<Q")
SECONDS = 10.0


def ask(path: str, numbers: list[int]) -> None:
    with lapwing.Duplex.connect(path, retry=SECONDS, timeout=SECONDS) as duplex:
        for number in numbers:
            reply = duplex.call(NUMBER.pack(number), REQUEST, SECONDS)
            if reply.is_error:
                sys.exit(f"the server answered with error {reply.code}: {reply.payload.decode()}")
            if reply.type != REPLY:
                sys.exit(f"the server answered with type {reply.type}")
            print(f"{number} * {number} = {NUMBER.unpack(reply.payload)[0]}")


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit("usage: call_client.py PATH NUMBER…")
    ask(sys.argv[1], [int(number) for number in sys.argv[2:]])
