"""A system call filter for x86-64 that makes one call fail with an errno.

The filter is plain BPF. refuse() installs it permanently in the calling process: call it between
fork and exec.
"""

import ctypes
import platform
import struct

SUPPORTED = platform.machine() == "x86_64"

PR_SET_NO_NEW_PRIVS, PR_SET_SECCOMP, SECCOMP_MODE_FILTER = 38, 22, 2
ARCHITECTURE = 0xC000003E
LOAD, JUMP_EQUAL, JUMP_SET, JUMP_GREATER_EQUAL, RETURN = 0x20, 0x15, 0x45, 0x35, 0x06
ALLOW, ERRNO = 0x7FFF0000, 0x00050000
NUMBER_AT, ARCHITECTURE_AT, ARGUMENTS_AT = 0, 4, 16

CALLS = {
    "io_uring_setup": 425, "io_uring_enter": 426, "io_uring_register": 427, "fallocate": 285,
    "fdatasync": 75, "fsync": 74, "sync_file_range": 277, "madvise": 28, "membarrier": 324,
    "eventfd2": 290, "epoll_create1": 291, "epoll_ctl": 233, "epoll_wait": 232, "memfd_create": 319,
    "flock": 73, "fcntl": 72, "statx": 332, "openat2": 437, "rename": 82, "renameat": 264,
    "renameat2": 316, "unlink": 87, "unlinkat": 263, "link": 86, "linkat": 265, "clone3": 435,
    "clone": 56, "poll": 7, "ppoll": 271, "getrandom": 318, "ftruncate": 77, "pwrite64": 18,
    "writev": 20, "pwritev": 296, "getdents64": 217, "mkdir": 83, "mkdirat": 258, "rmdir": 84,
    "fchmod": 91, "chmod": 90, "fchmodat": 268, "fchown": 93, "chown": 92, "statfs": 137,
    "fstatfs": 138, "socket": 41, "bind": 49, "listen": 50, "connect": 42, "accept4": 288,
    "setsockopt": 54, "getsockopt": 55, "sendmsg": 46, "recvmsg": 47, "sendto": 44, "recvfrom": 45,
    "shutdown": 48, "sysinfo": 99, "sched_getaffinity": 204, "ioctl": 16, "uname": 63, "getcwd": 79,
    "readlink": 89, "prlimit64": 302, "mremap": 25, "mlock": 149, "pidfd_open": 434,
    "pidfd_getfd": 438, "signalfd4": 289, "pipe2": 293, "dup": 32, "lseek": 8,
    "timerfd_create": 283,
}
# Calls that the loader also needs: refused only with an argument (index, jump, operand).
CALLS_WITH_ARGUMENT = {
    "openat to write": (257, 2, JUMP_SET, 0o1103),  # O_WRONLY, O_RDWR, O_CREAT, O_TRUNC
    "openat of a directory": (257, 2, JUMP_SET, 0o200000),
    "mmap, shared": (9, 3, JUMP_SET, 1),
    "pread64 of a page or more": (17, 2, JUMP_GREATER_EQUAL, 4096),
    "newfstatat of a link": (262, 3, JUMP_SET, 0x100),
    "write of a page or more": (1, 2, JUMP_GREATER_EQUAL, 4096),
}
NAMES = sorted(CALLS) + sorted(CALLS_WITH_ARGUMENT)


def _instruction(code, operand, if_true=0, if_false=0):
    return struct.pack("<HBBI", code, if_true, if_false, operand)


def program(name, number):
    """The instructions for a filter that makes the named call fail with errno `number`."""
    if name in CALLS:
        call, condition = CALLS[name], b""
    else:
        call, argument, jump, operand = CALLS_WITH_ARGUMENT[name]
        condition = (_instruction(LOAD, ARGUMENTS_AT + 8 * argument)
                     + _instruction(jump, operand, 0, 1))
    skipped = len(condition) // 8 + 1
    return (_instruction(LOAD, ARCHITECTURE_AT)
            + _instruction(JUMP_EQUAL, ARCHITECTURE, 0, skipped + 2)
            + _instruction(LOAD, NUMBER_AT)
            + _instruction(JUMP_EQUAL, call, 0, skipped)
            + condition
            + _instruction(RETURN, ERRNO | number)
            + _instruction(RETURN, ALLOW))


def refuse(name, number):
    """Makes the call fail in this process, including after exec."""
    instructions = ctypes.create_string_buffer(program(name, number))
    count = (len(instructions) - 1) // 8
    header = struct.pack("<H6xQ", count, ctypes.addressof(instructions))
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 \
            or libc.prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, header, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "no filter of system calls")
