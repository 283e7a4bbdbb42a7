"""Tests that a filter refuses only the named call, with the given errno."""

import errno
import os
import tempfile
import unittest

import seccomp


def in_child(body):
    """The result of body() in a child process, a number below 256."""
    child = os.fork()
    if child == 0:
        status = 255
        try:
            status = body()
        finally:
            os._exit(status)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def errno_of(action):
    try:
        action()
    except OSError as error:
        return error.errno
    return 0


@unittest.skipUnless(seccomp.SUPPORTED, "SKIPPED: the filters are for x86-64")
class Filters(unittest.TestCase):
    def test_a_call_is_refused_with_the_errno_and_its_neighbour_is_not(self):
        def body():
            seccomp.refuse("fdatasync", errno.EIO)
            with tempfile.TemporaryFile() as file:
                if errno_of(lambda: os.fsync(file.fileno())) != 0:
                    return 1
                return 100 + errno_of(lambda: os.fdatasync(file.fileno()))
        self.assertEqual(in_child(body), 100 + errno.EIO)

    def test_a_call_with_an_argument_is_refused_with_that_argument_alone(self):
        def body():
            seccomp.refuse("openat to write", errno.EROFS)
            if errno_of(lambda: os.close(os.open("/dev/null", os.O_RDONLY))) != 0:
                return 1
            return 100 + errno_of(lambda: os.open("/dev/null", os.O_RDWR))
        self.assertEqual(in_child(body), 100 + errno.EROFS)

    def test_every_name_makes_a_filter_that_the_kernel_takes(self):
        for name in seccomp.NAMES:
            def body(refused=name):
                seccomp.refuse(refused, errno.EPERM)
                return 0
            self.assertEqual(in_child(body), 0, name)


if __name__ == "__main__":
    unittest.main()
