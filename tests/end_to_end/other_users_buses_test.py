"""Tests other users' buses: monitors show them on request, and they cannot disturb monitors.

Needs root to become other users. Reports what it skips otherwise.
"""

import json
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
import unittest

import harness
import serve_test

OTHER_UID = 61_011
SILENT_BUSES = int(os.environ.get("LAPWING_SILENT_BUSES", 5))
USERS = 40
OWN = f"own-{os.getpid()}"  # only one of the user's buses with this name gets it as its label
DONE, OTHER, USAGE = 0, 1, 2


@unittest.skipUnless(os.geteuid() == 0, "SKIPPED: needs root to become other users")
class OtherUsersBuses(serve_test.ServeTest):
    def setUp(self):
        super().setUp()
        os.chmod(self.folder, 0o755)
        self.theirs = self.folder / "theirs"
        self.theirs.mkdir()
        os.chown(self.theirs, OTHER_UID, OTHER_UID)
        self.addCleanup(shutil.rmtree, f"/dev/shm/lapwing-{OTHER_UID}", ignore_errors=True)
        self.own, _ = self.publish(OWN)
        self.until("it to run", lambda: self.head(self.own))

    def publish_theirs(self, name):
        directory = self.theirs / name
        publisher = self.start(f"theirs-{name}", "publish", "--bus", directory, "--source",
                               "synthetic:records=0,instruments=3", "--capacity", 1024, "--pace",
                               1000, user=OTHER_UID, group=OTHER_UID, extra_groups=[])
        self.until(f"{name} to run", lambda: self.head(directory))
        return str(directory), publisher

    def head(self, bus):
        done = subprocess.run([harness.program(), "info", "--json", "--bus", bus],
                              capture_output=True, text=True, check=False)
        ring = json.loads(done.stdout)["ring"] if done.returncode == 0 else None
        return ring["head"] if ring else 0

    def ring_of(self, bus):
        done = subprocess.run([harness.program(), "info", "--json", "--bus", bus],
                              capture_output=True, text=True, check=True)
        return json.loads(done.stdout)["ring"]["path"]

    def reading(self):
        status, _, body = self.ask("/api/v1/buses")
        return json.loads(body) if status == 200 else None

    def bus(self, directory):
        """That bus in the newest reading, or None."""
        reading = self.reading() or {"buses": []}
        return next((bus for bus in reading["buses"] if bus["directory"] == str(directory)), None)

    def until_read(self, directory):
        return self.until(f"{directory} to be read",
                          lambda: (bus := self.bus(directory)) and bus["ring"] and bus)

    def assert_good_goes_on(self, readings=5):
        """Readings of the good bus arrive, each newer than the one before."""
        stream = serve_test.Stream(self.connect())
        heads = []
        while len(heads) < readings:
            (good,) = (bus for bus in stream.read()["buses"] if bus["directory"] == self.own)
            self.assertIsNotNone(good["subscribers"], good.get("subscribers_why"))
            heads.append(good["ring"]["head"])
        self.assertEqual(heads, sorted(set(heads)))

    def test_they_are_shown_to_who_asks_for_them_and_carry_their_user(self):
        theirs, _ = self.publish_theirs(OWN)
        listed = json.loads(self.run_to_end("buses", "buses", "--json").out())
        self.assertNotIn(theirs, [bus["directory"] for bus in listed["buses"]])
        self.assertGreaterEqual(listed["not_watched"], 1)
        self.assertIn("--user NAME", self.run_to_end("text", "buses").out())
        for user in (str(OTHER_UID), "all"):
            listed = json.loads(
                self.run_to_end("asked", "buses", "--json", "--user", user).out())
            self.assertIn(theirs, [bus["directory"] for bus in listed["buses"]])
        top = self.run_to_end("top", "top", "--once", "--user", OTHER_UID).out()
        self.assertIn(f"{OTHER_UID}/{OWN}", top)
        wrong = self.run_to_end("wrong", "top", "--once", "--user", "nobody-of-this-name",
                                expect=USAGE)
        self.assertIn("there is no user nobody-of-this-name", wrong.err())

    def test_buses_lists_own_ones_first_and_each_with_its_label(self):
        theirs, publisher = self.publish_theirs(OWN)
        listed = json.loads(self.run_to_end("json", "buses", "--json", "--user", OTHER_UID).out())
        buses = {bus["directory"]: bus for bus in listed["buses"]}
        self.assertEqual(list(buses)[-1], theirs)
        self.assertEqual((buses[theirs]["label"], buses[theirs]["user"], buses[theirs]["name"]),
                         (f"{OTHER_UID}/{OWN}", str(OTHER_UID), OWN))
        self.assertEqual(buses[theirs]["uid"], OTHER_UID)
        self.assertGreater(buses[theirs]["publisher_pid"], 0)
        self.assertEqual(buses[self.own]["label"], OWN)
        self.assertEqual((buses[self.own]["user"], buses[self.own]["state"]), ("root", "running"))
        names = [line.split()[1] for line in self.run_to_end(
            "text", "buses", "--user", OTHER_UID).out().splitlines()[1:-1]]
        self.assertEqual(names[-1], f"{OTHER_UID}/{OWN}")
        self.assertIn(OWN, names[:-1])
        publisher.kill()

    def test_buses_reads_those_of_32_other_users_only(self):
        empty = self.folder / "empty"
        empty.mkdir()
        for uid in range(OTHER_UID + 1, OTHER_UID + 1 + USERS):
            place = pathlib.Path(f"/dev/shm/lapwing-{uid}")
            place.mkdir(0o755)
            self.addCleanup(shutil.rmtree, place)
            announcement = place / f"{uid:016x}.bus"
            announcement.write_text(json.dumps({
                "directory": str(empty / str(uid)), "name": OWN, "ring_path": "/x",
                "publisher_pid": 1, "started_wall_ns": 1}))
            for path in (announcement, place):
                os.chown(path, uid, uid)
        listed = json.loads(self.run_to_end("json", "buses", "--json", "--user", "all").out())
        users = {bus["uid"] for bus in listed["buses"]}
        self.assertEqual(len(users - {os.geteuid()}), 32)
        self.assertGreaterEqual(listed["beyond_limit"], USERS - 32)
        self.assertEqual([bus["label"] for bus in listed["buses"] if bus["directory"] == self.own],
                         [OWN])

    def test_theirs_takes_no_label_and_meets_no_expectation(self):
        theirs, publisher = self.publish_theirs(OWN)
        self.start("tail", "tail", "--bus", theirs, "--name", "logger", "--format", "none")
        self.serve("--user", OTHER_UID, "--expect", f"{OWN}:logger")
        bus = self.until("its subscriber",
                         lambda: (bus := self.bus(theirs)) and bus["subscribers"] and bus)
        self.assertEqual((bus["label"], bus["user"]), (f"{OTHER_UID}/{OWN}", str(OTHER_UID)))
        self.assertEqual(self.bus(self.own)["label"], OWN)
        expected = {"bus": OWN, "subscriber": "logger"}
        self.assertEqual(self.metric("lapwing_subscriber_up", **expected), 0)
        self.assertEqual(self.metric("lapwing_subscriber_up", **{**expected,
                                                                 "bus": f"{OTHER_UID}/{OWN}"}), 1)
        publisher.kill()

    def test_a_truncated_ring_ends_no_monitor(self):
        theirs, publisher = self.publish_theirs("cut")
        server = self.serve("--user", OTHER_UID)
        self.until_read(theirs)
        query = f"/api/v1/view?bus={OTHER_UID}/cut"
        view = serve_test.Stream(self.connect(), path=query)
        self.assertEqual(view.status, 101)
        self.until("the view to be live", lambda: view.read()["state"] == "live")
        top = self.start("top", "top", "--json", "--interval", "100ms", "--user", OTHER_UID)
        self.until("a reading", lambda: theirs in top.out())
        publisher.signal(signal.SIGSTOP)  # truncating its ring would end it
        ring = self.ring_of(theirs)
        for size in (4096 + 100, 100, 0):
            os.truncate(ring, size)
            self.assert_good_goes_on(3)
            self.assertTrue(server.alive(), server.err())
            self.assertTrue(top.alive(), top.err())
        self.until("the ring to be unreadable", lambda: self.bus(theirs)["ring"] is None)
        self.until("the view to say so", lambda: view.read()["state"] in ("waiting", "ended"))
        once = self.run_to_end("once", "top", "--once", "--user", "all")
        self.assertEqual(once.err(), "")
        named = self.run_to_end("named", "top", "--once", "--bus", theirs, expect=OTHER)
        self.assertIn("a ring file has more than", named.err())
        publisher.kill()
        self.assertEqual(server.stop(), DONE)
        self.assertEqual(top.stop(), DONE)

    def test_silent_sockets_delay_no_reading_of_others(self):
        buses = [self.publish_theirs(f"silent-{number}")[0] for number in range(SILENT_BUSES)]
        self.be_silent(buses)
        self.serve("--user", OTHER_UID)
        self.until("one to be listed", lambda: self.bus(buses[0]))
        self.assert_good_goes_on(2 * SILENT_BUSES)
        self.assertIsNone(self.bus(buses[0])["subscribers"])
        self.assertEqual(self.status("/readyz"), 200)

    def be_silent(self, buses):
        """Starts a process that listens instead of the publishers, and never answers."""
        for bus in buses:
            path = pathlib.Path(bus) / "control.sock"
            path.unlink()
            listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            self.addCleanup(listener.close)
            # The path may be too long for a socket's name.
            before = os.getcwd()
            os.chdir(bus)
            try:
                listener.bind("control.sock")
            finally:
                os.chdir(before)
            os.chmod(path, 0o666)
            listener.listen(64)

    def test_directories_in_the_place_of_buses_hide_none(self):
        with tempfile.TemporaryDirectory(prefix=f"lapwing-{OTHER_UID}.", dir="/dev/shm") as squatted:
            os.chown(squatted, OTHER_UID, OTHER_UID)
            os.chmod(squatted, 0o755)
            for number in range(2_000):
                empty = self.theirs / f"empty-{number}"
                empty.mkdir()
                announcement = pathlib.Path(squatted) / f"{number:016x}.bus"
                announcement.write_text(json.dumps({
                    "directory": str(empty), "name": OWN, "ring_path": "/x", "publisher_pid": 1,
                    "started_wall_ns": 1}))
                os.chown(announcement, OTHER_UID, OTHER_UID)
            self.serve("--user", OTHER_UID)
            self.until_read(self.own)
            self.assertEqual(self.bus(self.own)["label"], OWN)
            self.assert_good_goes_on(5)
            self.assertGreater(self.reading()["beyond_limit"], 0)


class HalfOpen(serve_test.ServeTest):
    """Clients that connect and send nothing, half a request, or no token."""

    def test_connections_without_a_token_keep_nobody_out(self):
        bus, _ = self.publish("es")
        serve_test.raise_descriptors()
        self.serve("--bus", bus, preexec_fn=serve_test.raise_descriptors)
        self.ready()
        kept = serve_test.Stream(self.connect())
        self.assertEqual(kept.status, 101)
        stop = threading.Event()
        crowd = threading.Thread(target=self.crowd, args=(stop,))
        crowd.start()
        try:
            for _ in range(20):
                self.assertEqual(self.status("/api/v1/buses"), 200)
                kept.read()
        finally:
            stop.set()
            crowd.join()
        self.assertGreater(self.metric("lapwing_http_rejected_total", reason="no_token_yet"), 0)

    def crowd(self, stop):
        """Keeps more connections open than the server accepts."""
        waiting = []
        while not stop.is_set():
            for request in (b"", b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n", b"G"):
                connection = socket.socket()
                try:
                    connection.connect(("127.0.0.1", self.port))
                    connection.sendall(request)
                except OSError:
                    pass
                waiting.append(connection)
            while len(waiting) > serve_test.CONNECTIONS_MAX + 400:
                waiting.pop(0).close()
        for connection in waiting:
            connection.close()


if __name__ == "__main__":
    unittest.main()
