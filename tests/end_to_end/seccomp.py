"""Refuses a system call by name with an errno, as container runtimes do.

    self.start("publish", ..., preexec_fn=lambda: seccomp.refuse("io_uring_enter", errno.EPERM))
"""

import ctypes
import errno
import struct

# System call numbers of x86-64.
NUMBERS = {"poll": 7, "access": 21, "fstatfs": 138, "sync_file_range": 277,
           "membarrier": 324, "io_uring_setup": 425, "io_uring_enter": 426,
           "io_uring_register": 427, "epoll_pwait2": 441}
SET_NO_NEW_PRIVILEGES, SET_SECCOMP, MODE_FILTER = 38, 22, 2
LOAD, JUMP_IF_EQUAL, RETURN = 0x20, 0x15, 0x06
ANSWER_ERRNO, ALLOW = 0x00050000, 0x7FFF0000


def refuse(call, answer=errno.EPERM):
    """Makes the call fail with that errno, in this process and its children."""
    code = [(LOAD, 0, 0, 0),  # the system call's number
            (JUMP_IF_EQUAL, 0, 1, NUMBERS[call]),
            (RETURN, 0, 0, ANSWER_ERRNO | answer),
            (RETURN, 0, 0, ALLOW)]
    program = b"".join(struct.pack("HBBI", *instruction) for instruction in code)
    buffer = ctypes.create_string_buffer(program)
    header = struct.pack("HxxxxxxP", len(code), ctypes.addressof(buffer))
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(SET_NO_NEW_PRIVILEGES, 1, 0, 0, 0) or libc.prctl(
            SET_SECCOMP, MODE_FILTER, ctypes.c_char_p(header), 0, 0):
        raise OSError(ctypes.get_errno(), "seccomp")
