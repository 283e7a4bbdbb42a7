"""Answers calls over a duplex with the square of a number. Clients may use any language.

    call_server.py /tmp/squares.sock

Request: type 1, a number of 8 bytes, little-endian. Reply: type 2, its square, modulo 2^64.
"""

import struct
import sys

import lapwing

REQUEST, REPLY = 1, 2
NO_SUCH_CALL = 1  # each server defines its own error codes
NUMBER = struct.Struct("<Q")


def answer(duplex: lapwing.Duplex, request: lapwing.Request) -> None:
    if request.type != REQUEST or len(request.payload) != NUMBER.size:
        duplex.reply_error(request, NO_SUCH_CALL, "a request has type 1 and 8 bytes")
        return
    (number,) = NUMBER.unpack(request.payload)
    duplex.reply(request, NUMBER.pack(number * number % 2**64), REPLY)


def serve(path: str) -> None:
    """Serves one client until it closes the channel."""
    with lapwing.Listener(path) as listener, listener.accept(lapwing.Duplex) as duplex:
        for request in duplex:
            if request.call:  # not a one-way message
                answer(duplex, request)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: call_server.py PATH")
    serve(sys.argv[1])
