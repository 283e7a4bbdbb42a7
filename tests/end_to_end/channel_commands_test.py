"""Tests the channel commands pipe and ping, and the output of info, with various failures."""

import hashlib
import itertools
import json
import os
import random
import resource
import signal
import subprocess
import threading
import time
import unittest

import harness

DONE, OTHER, USAGE, PEER_GONE, LOST = 0, 1, 2, 5, 6
MIB = 1 << 20
PIPE_BYTES = int(os.environ.get("LAPWING_PIPE_MIB", "64")) * MIB
TAKE_OVERS = 5


def random_bytes(size):
    """Blocks of noise, all different."""
    noise = bytearray(random.randbytes(MIB))
    for number in range(size // MIB):
        noise[:8] = number.to_bytes(8, "little")
        yield bytes(noise)


def random_lines(size):
    """The same as text lines: empty, short and long ones."""
    lines = bytearray()
    while len(lines) < MIB:
        length = random.choice((0, 1, 7, 80, 300, 5000))
        lines += random.randbytes(length).translate(bytes(32 + i % 90 for i in range(256))) + b"\n"
    for number in range(size // MIB):
        yield b"block %d\n" % number + lines


class ChannelTest(harness.ProgramTest):
    """A test with a socket path."""

    def setUp(self):
        super().setUp()
        self.path = str(self.folder / "x.sock")

    def pipe(self, name, side, *options, **popen):
        """Starts one side. The connecting side waits for the listening one."""
        retry = harness.WITH_PATIENCE if side == "--connect" else ()
        return self.start(name, "pipe", side, self.path, *retry, *options, "--summary", **popen)

    def feeder(self, name, side, *options, **popen):
        """A sender that reads process.stdin."""
        sender = self.pipe(name, side, *options, stdin=subprocess.PIPE, **popen)
        self.addCleanup(self.end_input, sender)
        return sender

    def feed(self, sender, data):
        sender.process.stdin.write(data)
        sender.process.stdin.flush()

    def end_input(self, sender):
        try:
            sender.process.stdin.close()
        except BrokenPipeError:
            pass  # it ended first, as intended in some tests

    def summary(self, process):
        lines = [line for line in process.err().splitlines() if line.startswith("{")]
        self.assertTrue(lines, f"{process.name} printed no summary; it said:\n{process.err()}")
        return json.loads(lines[-1])

    def assert_ends(self, process, code, *words):
        self.assertEqual(process.wait(), code, process.err())
        for word in words:
            self.assertIn(word, process.err())

    def until_out(self, process, text):
        self.until(f"{text!r} in the output of {process.name}", lambda: text in process.out())

    def directions(self):
        return [direction for channel in self.channels("--channel", self.path)
                for direction in channel["directions"]]

    def until_taken(self, count):
        """Waits until the receiver has acknowledged `count` messages. It writes them first."""
        self.until(f"{count} to be taken", lambda: any(
            direction.get("messages_received", 0) >= count for direction in self.directions()))

    def until_under_way(self, count):
        """Waits until `count` messages are sent but not yet taken."""
        self.until(f"{count} to be under way", lambda: any(
            direction.get("messages_in_flight", 0) == count for direction in self.directions()))


class WhatGoesInComesOut(ChannelTest):
    """Text and binary data, by lines and raw, with either side listening."""

    def carry(self, blocks, sending, *options):
        """Sends blocks through a pair and compares the hashes of input and output."""
        receiving = "--connect" if sending == "--listen" else "--listen"
        receive = ("--receive",) if receiving == "--connect" else ()
        send = ("--send",) if sending == "--listen" else ()
        messages = options[:2]
        receiver = self.pipe("receiver", receiving, *receive, *messages, stdout=subprocess.PIPE)
        sender = self.feeder("sender", sending, *send, *options)
        sums = {"in": hashlib.sha256(), "out": hashlib.sha256()}

        def collect():
            while block := receiver.process.stdout.read(MIB):
                sums["out"].update(block)
            receiver.process.stdout.close()

        collector = threading.Thread(target=collect)
        collector.start()
        for block in blocks:
            sums["in"].update(block)
            sender.process.stdin.write(block)
        self.end_input(sender)
        self.assert_ends(sender, DONE)
        self.assert_ends(receiver, DONE)
        collector.join()
        self.assertEqual(sums["in"].hexdigest(), sums["out"].hexdigest())
        sent, received = self.summary(sender), self.summary(receiver)
        for count in ("messages", "bytes"):
            self.assertEqual(sent[count], received[count])
        self.assertEqual(sent["lost"], 0)
        print(f"\n{sent['messages']} messages, {sent['bytes_per_second'] / 1e6:.0f} MB/s, waited "
              f"{sent['full_waits']} times for room and {received['empty_waits']} for messages")
        return sent

    def test_binary_raw_to_the_listening_side(self):
        self.assertEqual(self.carry(random_bytes(PIPE_BYTES), "--connect", "--messages",
                                    "raw")["bytes"], PIPE_BYTES // MIB * MIB)

    def test_binary_raw_from_the_listening_side(self):
        self.carry(random_bytes(PIPE_BYTES), "--listen", "--messages", "raw", "--wait", "park")

    def test_text_by_lines_to_the_listening_side(self):
        self.carry(random_lines(PIPE_BYTES), "--connect", "--messages", "lines")

    def test_text_by_lines_from_the_listening_side(self):
        self.carry(random_lines(PIPE_BYTES), "--listen", "--messages", "lines", "--wait", "park")

    def test_binary_by_lines_with_zeros_and_all(self):
        def blocks():
            yield from random_bytes(16 * MIB)
            yield b"\n"  # the last line of a file has a line feed
        self.carry(blocks(), "--connect", "--messages", "lines", "--max-message", "1M")

    def test_on_a_channel_that_holds_two_messages(self):
        sent = self.carry(random_bytes(16 * MIB), "--connect", "--messages", "raw",
                          "--max-message", 400, "--capacity", "1K")
        self.assertGreater(sent["full_waits"], 0)

    def test_nothing_at_all(self):
        self.assertEqual(self.carry((), "--connect", "--messages", "raw")["messages"], 0)

    def test_a_last_line_without_its_line_feed_gets_one(self):
        receiver = self.pipe("receiver", "--listen", "--messages", "lines")
        sender = self.feeder("sender", "--connect", "--messages", "lines")
        self.feed(sender, b"one\n\nthree")
        self.end_input(sender)
        self.assert_ends(sender, DONE)
        self.assert_ends(receiver, DONE)
        self.assertEqual(receiver.out(), "one\n\nthree\n")

    def test_types_are_sent_and_shown(self):
        receiver = self.pipe("receiver", "--listen", "--messages", "lines", "--show-types")
        sender = self.feeder("sender", "--connect", "--messages", "lines", "--type", 42)
        self.feed(sender, b"one\ntwo\n")
        self.end_input(sender)
        self.assert_ends(receiver, DONE)
        self.assertEqual(receiver.out(), "42\tone\n42\ttwo\n")

    def test_what_was_read_arrives_while_the_input_is_silent(self):
        receiver = self.pipe("receiver", "--listen", "--messages", "lines", "--wait", "park")
        sender = self.feeder("sender", "--connect", "--messages", "lines", "--wait", "park")
        for number in range(200):
            self.feed(sender, b"line %d\n" % number)
            if number % 20 == 0:
                self.until_out(receiver, f"line {number}\n")
        self.until_out(receiver, "line 199\n")
        self.end_input(sender)
        self.assert_ends(receiver, DONE)


class SidesThatDie(ChannelTest):
    """One side is killed, stopped or asked to end: the other side detects it and reports its own
    progress."""

    def pair(self, *options):
        receiver = self.pipe("receiver", "--listen", "--messages", "lines")
        sender = self.feeder("sender", "--connect", "--messages", "lines", *options)
        self.feed(sender, b"first\n")
        self.until_out(receiver, "first\n")
        self.until_taken(1)
        return sender, receiver

    def pour(self, sender):
        """Feeds numbered lines until the sender has ended."""
        def feed():
            number = 0
            try:
                while True:
                    sender.process.stdin.write(b"".join(b"%d\n" % n
                                                        for n in range(number, number + 1000)))
                    number += 1000
            except (BrokenPipeError, ValueError):
                pass
        thread = threading.Thread(target=feed, daemon=True)
        thread.start()
        return thread

    def assert_prefix(self, receiver):
        lines = receiver.out().split("\n")
        self.assertEqual(lines[0], "first")
        self.assertEqual(lines[-1], "", "the last line is whole")
        self.assertEqual(lines[1:-1], [str(n) for n in range(len(lines) - 2)])
        return len(lines) - 1

    def test_a_sender_killed_in_the_middle(self):
        sender, receiver = self.pair()
        pouring = self.pour(sender)
        self.until_out(receiver, "20000\n")
        sender.kill()
        self.assert_ends(receiver, PEER_GONE, str(sender.pid), "ended without closing")
        written = self.assert_prefix(receiver)
        self.assertEqual(self.summary(receiver)["messages"], written)
        self.assertIn(f"{written} messages", receiver.err())
        self.end_input(sender)
        pouring.join()

    def test_a_receiver_killed_in_the_middle(self):
        sender, receiver = self.pair()
        pouring = self.pour(sender)
        self.until_out(receiver, "20000\n")
        receiver.kill()
        self.assert_ends(sender, PEER_GONE, str(receiver.pid), "has not ended")
        summary = self.summary(sender)
        taken = summary["messages"] - summary["lost"]
        self.assertIn(f"of {summary['messages']} messages sent, it received {taken}",
                      sender.err())
        self.assertLessEqual(taken, receiver.out().count("\n"), "taken means written")
        pouring.join()

    def test_a_dead_receiver_is_noticed_while_the_input_is_silent(self):
        sender, receiver = self.pair()
        receiver.kill()
        self.assert_ends(sender, PEER_GONE, "of 1 messages sent, it received 1")

    def test_a_dead_sender_is_noticed_while_it_is_silent(self):
        sender, receiver = self.pair("--wait", "park")
        sender.kill()
        self.assert_ends(receiver, PEER_GONE, str(sender.pid))

    def test_a_stopped_receiver_loses_nothing(self):
        sender, receiver = self.pair()
        receiver.signal(signal.SIGSTOP)
        lines = b"".join(b"%d\n" % number for number in range(300_000))
        feeding = threading.Thread(target=self.feed, args=(sender, lines))
        feeding.start()
        self.until("the sender to wait for room", lambda: any(
            side["full_waits"] > 0 for channel in self.channels("--channel", self.path)
            for side in channel["sides"]))
        self.assertTrue(sender.alive())
        receiver.signal(signal.SIGCONT)
        feeding.join()
        self.end_input(sender)
        self.assert_ends(sender, DONE)
        self.assert_ends(receiver, DONE)
        self.assertEqual(receiver.out().encode(), b"first\n" + lines)

    def test_a_sender_whose_input_ended_waits_until_everything_is_written(self):
        sender, receiver = self.pair()
        receiver.signal(signal.SIGSTOP)
        self.feed(sender, b"second\n")
        self.end_input(sender)
        self.until_under_way(1)
        time.sleep(1)  # long enough to end if it did not have to wait
        self.assertTrue(sender.alive())
        receiver.kill()
        self.assert_ends(sender, PEER_GONE, "of 2 messages sent, it received 1")

    def test_a_stopped_sender_is_not_dead(self):
        sender, receiver = self.pair()
        sender.signal(signal.SIGSTOP)
        self.feed(sender, b"second\n")
        time.sleep(2)  # silence does not count as death
        self.assertTrue(receiver.alive())
        sender.signal(signal.SIGCONT)
        self.until_out(receiver, "second\n")

    def test_a_sender_that_is_told_to_end_sends_what_it_read(self):
        for number in (signal.SIGTERM, signal.SIGINT):
            sender, receiver = self.pair()
            self.feed(sender, b"second\nunfinished")
            self.until_out(receiver, "second\n")
            sender.signal(number)
            self.assert_ends(sender, DONE, "10 bytes of standard input were read but not sent")
            self.assert_ends(receiver, DONE)
            self.assertEqual(receiver.out(), "first\nsecond\n")

    def test_a_receiver_that_is_told_to_end_does_and_the_sender_knows(self):
        sender, receiver = self.pair()
        receiver.signal(signal.SIGTERM)
        self.assert_ends(receiver, DONE)
        self.assert_ends(sender, PEER_GONE, "closed the channel")
        self.assertFalse(os.path.exists(self.path))

    def test_one_that_waits_for_a_peer_can_be_told_to_end(self):
        receiver = self.pipe("receiver", "--listen")
        self.until_listening(self.path)
        receiver.signal(signal.SIGTERM)
        self.assert_ends(receiver, DONE)
        self.assertFalse(os.path.exists(self.path))


class OutputsAndInputsThatFail(ChannelTest):
    """No silent loss: a side that fails reports its position, and both sides detect it."""

    LINES = b"".join(b"%d\n" % number for number in range(200_000))

    def send_lines(self, expect, *options):
        source = self.folder / "lines"
        source.write_bytes(self.LINES)
        with open(source, "rb") as lines:
            sender = self.pipe("sender", "--connect", "--messages", "lines", *options, stdin=lines)
        self.assertEqual(sender.wait(), expect, sender.err())
        return sender

    def test_a_full_disk(self):
        with open("/dev/full", "wb") as full:
            receiver = self.pipe("receiver", "--listen", "--messages", "lines", stdout=full)
        sender = self.send_lines(PEER_GONE)
        self.assert_ends(receiver, OTHER, "No space left on device", "message 1 was not written")
        self.assertIn("it received 0", sender.err())

    def test_a_disk_that_fills_up(self):
        limit = 100_000
        out = open(self.folder / "limited", "wb")
        receiver = self.pipe("receiver", "--listen", "--messages", "lines", stdout=out,
                             preexec_fn=lambda: limit_files(limit))
        out.close()
        sender = self.send_lines(PEER_GONE)
        self.assert_ends(receiver, OTHER, "File too large")
        written = (self.folder / "limited").read_bytes()
        self.assertEqual(written, self.LINES[:limit])
        whole = written.count(b"\n")
        self.assertIn(f"message {whole + 1} was not written", receiver.err())
        self.assertEqual(self.summary(receiver)["messages"], whole)
        self.assertIn(f"it received {whole}", sender.err())

    def test_a_reader_that_ends(self):
        receiver = self.pipe("receiver", "--listen", "--messages", "lines", stdout=subprocess.PIPE)
        sender = self.feeder("sender", "--connect", "--messages", "lines")
        self.feed(sender, b"first\n")
        self.assertEqual(receiver.process.stdout.readline(), b"first\n")
        receiver.process.stdout.close()
        self.assert_ends(receiver, OTHER, "standard output is closed", "message 2 was not written")
        self.assert_ends(sender, PEER_GONE)

    def test_standard_descriptors_that_are_closed(self):
        for side, fd, words in (("--listen", 1, "standard output is closed"),
                                ("--connect", 0, "standard input is closed")):
            process = self.start("closed" + side, "pipe", side, self.path,
                                 preexec_fn=lambda fd=fd: os.close(fd))
            self.assert_ends(process, USAGE, words)

    def refuse_long_line(self, line, *words):
        receiver = self.pipe("receiver", "--listen", "--messages", "lines")
        sender = self.feeder("sender", "--connect", "--messages", "lines", "--max-message", 1000)
        self.feed(sender, b"one\ntwo\n" + line)
        self.assert_ends(sender, OTHER, "line 3 of standard input", "--max-message", *words)
        # The receiver must not treat it as the end of the input.
        self.assert_ends(receiver, PEER_GONE, "ended without closing", "2 messages")
        self.assertEqual(receiver.out(), "one\ntwo\n")

    def test_a_line_that_is_too_long(self):
        self.refuse_long_line(b"x" * 1001 + b"\nfour\n", "1001 bytes")

    def test_a_line_that_never_ends(self):
        self.refuse_long_line(b"x" * 20_000, "more than 1000 bytes")

    def test_a_line_that_just_fits(self):
        receiver = self.pipe("receiver", "--listen", "--messages", "lines")
        sender = self.feeder("sender", "--connect", "--messages", "lines", "--max-message", 1000)
        self.feed(sender, b"x" * 1000 + b"\n")
        self.end_input(sender)
        self.assert_ends(sender, DONE)
        self.assert_ends(receiver, DONE)
        self.assertEqual(receiver.out(), "x" * 1000 + "\n")

    def test_an_input_that_is_a_directory(self):
        self.pipe("receiver", "--listen")
        directory = os.open(self.folder, os.O_RDONLY)
        sender = self.pipe("sender", "--connect", stdin=directory)
        os.close(directory)
        self.assert_ends(sender, OTHER, "reading standard input", "directory")


def limit_files(limit):
    """Simulates a disk with `limit` bytes: a write beyond them is truncated, and the next one
    fails."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)


class WrongArguments(ChannelTest):
    """Each error message says what is wrong and what would be right."""

    def refuse(self, code, words, *arguments):
        process = self.run_to_end("wrong", *arguments, expect=code)
        for word in words:
            self.assertIn(word, process.err())

    def test_each_is_wrong_usage_that_says_what_to_do(self):
        path = self.path
        for words, arguments in (
                (("--listen PATH", "--connect PATH"), ("pipe",)),
                (("excludes",), ("pipe", "--listen", path, "--connect", path)),
                (("excludes",), ("pipe", "--listen", path, "--send", "--receive")),
                (("requires --connect",), ("pipe", "--listen", path, "--retry", "1s")),
                (("requires --listen",), ("pipe", "--connect", path, "--keep")),
                (("requires --listen",), ("pipe", "--connect", path, "--take-over")),
                (("lines,raw",), ("pipe", "--listen", path, "--messages", "words")),
                (("sending side",), ("pipe", "--listen", path, "--capacity", "1M")),
                (("sending side",), ("pipe", "--listen", path, "--type", 1)),
                (("--messages lines",), ("pipe", "--listen", path, "--show-types")),
                (("power of two", "262144"), ("pipe", "--listen", path, "--send", "--capacity",
                                              1000)),
                (("too small", "262144"), ("pipe", "--connect", path, "--capacity", "64K")),
                (("at most 1073741824",), ("pipe", "--connect", path, "--max-message", "2G")),
                (("5Q is not a size", "64K"), ("pipe", "--connect", path, "--max-message", "5Q")),
                (("PATH", "--listen PATH"), ("ping",)),
                (("0 is not a whole number from 1",), ("ping", path, "--count", 0)),
                (("from 0 to 1048576",), ("ping", path, "--size", "2M")),
                (("excludes",), ("ping", path, "--listen", path)),
                (("--bus DIR", "--channel PATH", "--channels"), ("info",)),
                (("excludes",), ("info", "--channels", "--channel", path)),
        ):
            with self.subTest(arguments=arguments):
                self.refuse(USAGE, words, *arguments)
                self.assertFalse(os.path.exists(path))

    def test_who_connects_looks_for_a_listener_before_it_makes_its_memory(self):
        # With this little address space, the memory could not be mapped.
        few = {"preexec_fn": lambda: resource.setrlimit(resource.RLIMIT_AS, (MIB << 9, MIB << 9))}
        for retry in ((), ("--retry", "100ms")):
            one = self.start("one", "pipe", "--connect", self.path, "--max-message", "1G", *retry,
                             stdin=subprocess.DEVNULL, **few)
            self.assertEqual(one.wait(), PEER_GONE, one.err())
            self.assertIn("no listener runs at", one.err())

    def test_places_where_no_channel_can_be(self):
        self.refuse(PEER_GONE, (self.path, "start one there"), "pipe", "--connect", self.path)
        self.refuse(PEER_GONE, (self.path, "remove --take-over"), "pipe", "--listen",
                    self.path, "--take-over")
        self.refuse(OTHER, ("/nowhere",), "pipe", "--listen", "/nowhere/x.sock")
        self.refuse(PEER_GONE, (self.path, "--channels"), "info", "--channel", self.path)
        self.refuse(USAGE, ("107",), "pipe", "--listen", f"{self.folder}/{'x' * 200}")
        with open(self.path, "w", encoding="ascii") as file:
            file.write("precious")
        self.refuse(OTHER, (self.path, "not changed"), "pipe", "--listen", self.path)
        self.refuse(OTHER, (self.path,), "pipe", "--connect", self.path)
        with open(self.path, encoding="ascii") as file:
            self.assertEqual(file.read(), "precious")

    def test_a_path_that_is_listened_on(self):
        holder = self.pipe("holder", "--listen")
        self.until_listening(self.path)
        self.refuse(OTHER, (self.path, "listening"), "pipe", "--listen", self.path)
        self.assertTrue(holder.alive())

    def test_two_sides_that_both_send(self):
        listener = self.pipe("listener", "--listen", "--send")
        self.until_listening(self.path)
        self.refuse(OTHER, ("producer",), "pipe", "--connect", self.path, *harness.WITH_PATIENCE)
        self.until("the refusal", lambda: "refused" in listener.err())
        self.assertTrue(listener.alive())

    def test_a_user_who_is_not_expected(self):
        listener = self.pipe("listener", "--listen", "--expect-uid", os.geteuid() + 1)
        self.until_listening(self.path)
        self.refuse(OTHER, (f"user {os.geteuid()}", "not expected"), "pipe", "--connect", self.path,
                    *harness.WITH_PATIENCE)
        self.assertTrue(listener.alive())


class Listeners(ChannelTest):
    """One peer after another, with a successor in between."""

    def client(self, number, lines=50):
        return self.start(f"client{number}", "pipe", "--connect", self.path, "--messages", "lines",
                          *harness.WITH_PATIENCE, stdin=self.file_of(number, lines))

    def file_of(self, number, lines):
        path = self.folder / f"in{number}"
        path.write_text("".join(f"{number} {line}\n" for line in range(lines)))
        source = open(path, "rb")
        self.addCleanup(source.close)
        return source

    def assert_everything_once(self, outputs, clients, lines=50):
        """Each client's lines occur once, in order, and in one output."""
        seen = {}
        for output in outputs:
            for line in output.splitlines():
                number, place = map(int, line.split())
                self.assertEqual(seen.get(number, 0), place, f"client {number}")
                seen[number] = place + 1
        self.assertEqual(seen, {number: lines for number in range(clients)})

    def test_many_clients_at_once_are_served_one_after_another(self):
        keeper = self.pipe("keeper", "--listen", "--messages", "lines", "--keep")
        clients = [self.client(number) for number in range(20)]
        for client in clients:
            self.assert_ends(client, DONE)
        keeper.signal(signal.SIGTERM)
        self.assert_ends(keeper, DONE)
        self.assert_everything_once([keeper.out()], 20)
        self.assertEqual(self.summary(keeper)["peers"], 20)

    def test_a_client_that_is_killed_does_not_end_it(self):
        keeper = self.pipe("keeper", "--listen", "--messages", "lines", "--keep")
        victim = self.feeder("victim", "--connect", "--messages", "lines")
        self.feed(victim, b"last words\n")
        self.until_out(keeper, "last words\n")
        victim.kill()
        self.assert_ends(self.client(0), DONE)
        keeper.signal(signal.SIGTERM)
        self.assert_ends(keeper, DONE, f"pid {victim.pid}", "ended without closing")
        self.assertEqual(keeper.out().count("\n"), 51)

    def test_without_keep_it_ends_with_the_first_and_others_are_told_so(self):
        receiver = self.pipe("receiver", "--listen")
        first = self.feeder("first", "--connect")
        self.until("the channel", lambda: self.channels("--channel", self.path))
        self.until("the socket to go", lambda: not os.path.exists(self.path))
        self.run_to_end("second", "pipe", "--connect", self.path, expect=PEER_GONE)
        self.end_input(first)
        self.assert_ends(receiver, DONE)

    def test_a_sender_that_keeps_goes_on_with_the_next_and_says_what_was_lost(self):
        sender = self.feeder("sender", "--listen", "--send", "--keep", "--messages", "lines")
        first = self.pipe("first", "--connect", "--receive", "--messages", "lines")
        self.feed(sender, b"one\n")
        self.until_out(first, "one\n")
        self.until_taken(1)
        first.signal(signal.SIGSTOP)
        self.feed(sender, b"two\n")
        self.until_under_way(1)
        first.kill()
        second = self.pipe("second", "--connect", "--receive", "--messages", "lines")
        self.until_served(self.path, second.pid)
        self.feed(sender, b"three\n")
        self.until_out(second, "three\n")
        self.end_input(sender)
        self.assert_ends(sender, LOST, "of 2 messages sent, it received 1")
        self.assert_ends(second, DONE)
        self.assertEqual(self.summary(sender)["lost"], 1)

    def test_take_overs_under_a_stream_of_clients_lose_none(self):
        keepers = [self.pipe("keeper0", "--listen", "--messages", "lines", "--keep")]
        self.until_listening(self.path)
        clients = []
        numbers = itertools.count()
        stop = threading.Event()

        def connect():
            while not stop.is_set():
                client = self.client(next(numbers), lines=20)
                clients.append(client)
                client.wait()

        streams = [threading.Thread(target=connect) for _ in range(3)]
        for stream in streams:
            stream.start()
        try:
            for number in range(1, TAKE_OVERS + 1):
                served = len(clients)
                self.until("more clients", lambda served=served: len(clients) >= served + 5)
                keepers.append(self.pipe(f"keeper{number}", "--listen", "--messages", "lines",
                                         "--keep", "--take-over"))
                self.assert_ends(keepers[-2], DONE, "handed over")
        finally:
            stop.set()
            for stream in streams:
                stream.join()
        for client in clients:
            self.assert_ends(client, DONE)
        keepers[-1].signal(signal.SIGTERM)
        self.assert_ends(keepers[-1], DONE)
        self.assert_everything_once([keeper.out() for keeper in keepers], len(clients), lines=20)
        print(f"\n{len(clients)} clients, {TAKE_OVERS} take-overs: none refused, nothing lost")

    def test_who_hands_over_serves_its_own_peer_to_the_end(self):
        old = self.pipe("old", "--listen", "--messages", "lines", "--keep")
        sender = self.feeder("sender", "--connect", "--messages", "lines")
        self.feed(sender, b"before\n")
        self.until_out(old, "before\n")
        new = self.pipe("new", "--listen", "--messages", "lines", "--keep", "--take-over")
        self.assert_ends(self.client(0), DONE)
        self.assertEqual(new.out().count("\n"), 50)
        self.feed(sender, b"after\n")
        self.end_input(sender)
        self.assert_ends(sender, DONE)
        self.assert_ends(old, DONE, "handed over")
        self.assertEqual(old.out(), "before\nafter\n")
        self.assertTrue(os.path.exists(self.path), "the name belongs to the successor")


class WhatInfoShows(ChannelTest):
    """The state of channels is shown while a side sleeps, waits or is stopped."""

    def test_a_channel_while_it_runs_and_while_a_side_is_stopped(self):
        receiver = self.pipe("receiver", "--listen", "--messages", "lines", "--name", "the gateway")
        sender = self.feeder("sender", "--connect", "--messages", "lines")
        self.feed(sender, b"one\ntwo\n")
        self.until_out(receiver, "two\n")

        def shown():
            channels = self.channels("--channel", self.path)
            return channels[0] if channels and channels[0]["sides"][0]["parked"] else None

        channel = self.until("the receiver to sleep", shown)
        self.assertEqual(channel["path"], self.path)
        self.assertRegex(channel["connection"], r"\A[0-9a-f]{32}\Z")
        listening, connected = channel["sides"]
        self.assertEqual(listening["pid"], receiver.pid)
        self.assertEqual(listening["name"], "the gateway")
        self.assertEqual(listening["role"], "consumer")
        self.assertTrue(listening["listens"])
        self.assertFalse(listening["stopped"])
        self.assertEqual(listening["state"], "open")
        self.assertGreater(listening["sleeps"], 0)
        self.assertEqual(connected["pid"], sender.pid)
        self.assertEqual(connected["role"], "producer")
        (direction,) = channel["directions"]
        self.assertEqual(direction["messages_sent"], 2)
        self.assertEqual(direction["messages_received"], 2)
        self.assertEqual(direction["messages_in_flight"], 0)

        receiver.signal(signal.SIGSTOP)
        self.feed(sender, b"three\n")
        channel = self.until("three to be under way", lambda: next(
            (channel for channel in self.channels("--channel", self.path)
             if channel["directions"][0]["messages_in_flight"] == 1), None))
        self.assertTrue(channel["sides"][0]["stopped"])
        self.assertFalse(channel["sides"][1]["stopped"])
        receiver.signal(signal.SIGCONT)
        self.until_out(receiver, "three\n")
        self.until("the receiver to sleep again", shown)

        text = subprocess.run([harness.program(), "info", "--channels"], capture_output=True,
                              text=True, check=True).stdout
        for word in (self.path, "the gateway", str(receiver.pid), str(sender.pid), "parked",
                     f"connection {channel['connection']}"):
            self.assertIn(word, text)
        self.assertIn(self.path, [channel["path"] for channel in self.channels("--channels")])

    def test_a_relative_path_is_the_same_channel(self):
        self.start("receiver", "pipe", "--listen", "x.sock", cwd=self.folder)
        self.feeder("sender", "--connect")
        self.until("the channel", lambda: self.channels("--channel", self.path))

    def test_the_other_side_of_a_killed_one_is_shown_alone_while_it_is_stopped(self):
        receiver = self.pipe("receiver", "--listen")
        sender = self.feeder("sender", "--connect")
        self.until_served(self.path)
        receiver.signal(signal.SIGSTOP)
        sender.kill()
        (channel,) = self.channels("--channel", self.path)
        self.assertEqual([side["pid"] for side in channel["sides"]], [receiver.pid])

    def test_an_idle_pair_uses_no_processor(self):
        receiver = self.pipe("receiver", "--listen", "--keep")
        sender = self.feeder("sender", "--connect")
        self.feed(sender, b"one\n")
        self.until_out(receiver, "one\n")
        self.until("the receiver to sleep", lambda: any(
            side["parked"] for channel in self.channels("--channel", self.path)
            for side in channel["sides"]))
        for process in (receiver, sender):
            self.assert_idle(process)


class Pings(ChannelTest):
    """Round trips, and a side that answers one after another."""

    def ping(self, *options):
        return self.run_to_end("ping", "ping", self.path, "--json", *harness.WITH_PATIENCE,
                               *options)

    def setUp(self):
        super().setUp()
        self.echo = self.start("echo", "ping", "--listen", self.path)
        self.until_listening(self.path)

    def test_percentiles_rise_and_all_round_trips_count(self):
        for size in (0, 1, 32, "64K", "1M"):
            result = json.loads(self.ping("--count", 500, "--size", size).out())
            self.assertEqual(result["count"], 500)
            times = list(result["round_trip_ns"].values())
            self.assertEqual(times, sorted(times))
            self.assertGreater(times[0], 0)
        print(f"\n{result}")

    def test_the_text_names_every_percentile(self):
        text = self.run_to_end("text", "ping", self.path, "--count", 100,
                               *harness.WITH_PATIENCE).out()
        for word in ("min", "50 %", "90 %", "99 %", "99.9 %", "max", "us", self.path):
            self.assertIn(word, text)

    def test_an_echo_that_is_killed_ends_it_with_what_was_measured(self):
        pinging = self.start("ping", "ping", self.path, "--count", 1_000_000, "--interval", "1ms",
                             "--json", *harness.WITH_PATIENCE)
        self.until("pings", lambda: any(
            direction["messages_sent"] > 1200 for direction in self.directions()))
        self.echo.kill()
        self.assert_ends(pinging, PEER_GONE, str(self.echo.pid))
        self.assertGreater(json.loads(pinging.out())["count"], 0)

    def test_it_can_be_told_to_end_and_shows_what_was_measured(self):
        pinging = self.start("ping", "ping", self.path, "--count", 1_000_000, "--interval", "1ms",
                             "--json", *harness.WITH_PATIENCE)
        self.until("pings", lambda: any(
            direction["messages_sent"] > 1200 for direction in self.directions()))
        pinging.signal(signal.SIGINT)
        self.assert_ends(pinging, DONE)
        self.assertGreater(json.loads(pinging.out())["count"], 0)
        self.echo.signal(signal.SIGTERM)
        self.assert_ends(self.echo, DONE)

    def test_a_pipe_cannot_talk_to_it(self):
        wrong = self.run_to_end("wrong", "pipe", "--connect", self.path, *harness.WITH_PATIENCE,
                                expect=OTHER)
        self.assertIn("duplex", wrong.err())
        self.ping("--count", 10)


if __name__ == "__main__":
    unittest.main(verbosity=2)
