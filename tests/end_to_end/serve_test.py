"""Tests `lapwing serve`: its answers, access control, and resistance to attacks."""

import contextlib
import ctypes
import http.client
import json
import os
import pathlib
import random
import re
import resource
import shutil
import signal
import socket
import ssl
import subprocess
import threading
import time
import unittest
import urllib.parse

import harness
import web_socket

DONE, OTHER, USAGE = 0, 1, 2
TOKEN = "t" * 64
HEADER_BYTES_MAX, BODY_BYTES_MAX, CONNECTIONS_MAX = 8192, 4096, 1024
SILENT_CLIENTS = 1000
READERS = 20
MEMORY_KIB_MAX = 200 * 1024


class Stream(web_socket.Stream):
    def __init__(self, connection, token=TOKEN, **more):
        super().__init__(connection, token, **more)


def make_certificate(folder, name):
    """The files with a self-signed certificate and its key."""
    certificate, key = folder / "cert.pem", folder / "key.pem"
    subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1",
                    "-subj", f"/CN={name}", "-addext", f"subjectAltName=DNS:{name}",
                    "-keyout", key, "-out", certificate], check=True, capture_output=True)
    return certificate, key


class ServeTest(harness.ProgramTest):
    def setUp(self):
        super().setUp()
        self.token_file = self.folder / "token"
        self.token_file.touch(0o600)
        self.token_file.write_text(TOKEN + "\n")

    def publish(self, name, *more):
        bus = str(self.folder / name)
        process = self.start(f"publish-{name}", "publish", "--bus", bus, "--source",
                             "synthetic:records=0,instruments=3", "--capacity", 1 << 16, "--pace",
                             20_000, *more)
        return bus, process

    def serve(self, *arguments, token=True, listen="127.0.0.1:0", interval="200ms", **popen):
        """Starts a server and waits until it prints its address."""
        own = ("--token-file", self.token_file) if token else ()
        server = self.start("serve", "serve", "--listen", listen, "--interval", interval, *own,
                            *arguments, **popen)
        self.until("the server to say where it is",
                   lambda: server.out().endswith("\n") or not server.alive())
        self.assertTrue(server.alive(), server.err())
        found = re.search(r":(\d+)/", server.out())
        self.port = int(found[1]) if found else None
        return server

    def connect(self):
        connection = socket.create_connection(("127.0.0.1", self.port), harness.HANG_SECONDS)
        self.addCleanup(connection.close)
        return connection

    def ask(self, path="/", method="GET", body=None, token=TOKEN, **headers):
        """Status, headers and body of one request."""
        client = http.client.HTTPConnection("127.0.0.1", self.port, timeout=harness.HANG_SECONDS)
        with contextlib.closing(client):
            if token:
                headers["Authorization"] = f"Bearer {token}"
            client.request(method, path, body, headers)
            response = client.getresponse()
            return response.status, response.headers, response.read().decode()

    def status(self, *arguments, **keywords):
        return self.ask(*arguments, **keywords)[0]

    def raw(self, request):
        """The status of the server's answer to these bytes; None if there is no answer."""
        connection = self.connect()
        with contextlib.suppress(ConnectionError):
            connection.sendall(request)
        received = b""
        with contextlib.suppress(ConnectionError):
            while b"\r\n" not in received and (some := connection.recv(4096)):
                received += some
        return int(received.split()[1]) if received else None

    def ready(self):
        self.until("the server to be ready", lambda: self.status("/readyz") == 200)

    def metric(self, name, **labels):
        """The value of the one series with these labels; None if there is none."""
        for line in self.ask("/metrics")[2].splitlines():
            series, _, value = line.rpartition(" ")
            found = dict(re.findall(r'(\w+)="((?:[^"\\]|\\.)*)"', series))
            if series.split("{")[0] == name and labels.items() <= found.items():
                return float(value)
        return None


class Answers(ServeTest):
    def test_the_routes(self):
        bus, publisher = self.publish("es")
        self.serve("--bus", bus)
        self.ready()
        self.assertEqual(self.ask("/healthz", token=None)[::2], (200, "ok\n"))
        status, headers, page = self.ask("/")
        self.assertEqual((status, headers["Content-Type"]), (200, "text/html; charset=utf-8"))
        addresses = re.findall(r'(?:src|href)="([^"#]+)"', page)
        self.assertGreater(len(addresses), 3)
        for address in addresses:
            self.assertEqual(self.status(f"/{address}"), 200, address)
        status, headers, text = self.ask("/api/v1/buses")
        self.assertEqual((status, headers["Cache-Control"]), (200, "no-store"))
        (one,) = json.loads(text)["buses"]
        self.assertEqual((one["directory"], one["state"]), (bus, "running"))
        self.assertEqual(one["ring"]["publisher_pid"], publisher.pid)
        length = int(self.ask("/api/v1/buses", method="HEAD")[1]["Content-Length"])
        self.assertGreater(length, 100)
        self.assertEqual(self.ask("/api/v1/buses", method="HEAD")[2], "")
        for path in ("/", "/metrics", "/healthz", "/none"):
            _, headers, _ = self.ask(path)
            self.assertEqual(headers["X-Content-Type-Options"], "nosniff")
            self.assertIn("default-src 'none'", headers["Content-Security-Policy"])

    def test_without_a_bus_it_is_not_ready_and_says_which(self):
        bus, _ = self.publish("es")
        self.serve("--bus", bus, "--bus", self.folder / "absent")
        status, _, text = self.until("the other to be sampled", lambda: (
            (found := self.ask("/readyz", token=None)) and bus + ":" not in found[2] and
            "absent" in found[2] and found))
        self.assertEqual(status, 503)
        self.assertEqual(text.count("no bus at"), 1)

    def test_several_requests_take_turns_on_one_connection(self):
        self.serve()
        client = http.client.HTTPConnection("127.0.0.1", self.port)
        with contextlib.closing(client):
            for path, expected in (("/healthz", 200), ("/metrics", 401), ("/healthz", 200)):
                client.request("GET", path)
                response = client.getresponse()
                response.read()
                self.assertEqual(response.status, expected)

    def test_a_stream_has_a_message_for_each_reading(self):
        bus, _ = self.publish("es")
        self.serve("--bus", bus)
        self.ready()
        stream = Stream(self.connect())
        self.assertEqual(stream.status, 101)
        messages = [stream.read() for _ in range(3)]
        self.assertEqual([message["conflated"] for message in messages], [0, 0, 0])
        heads = [message["buses"][0]["ring"]["head"] for message in messages]
        self.assertEqual(heads, sorted(set(heads)))
        self.assertEqual(self.metric("lapwing_http_stream_clients"), 1)
        version = self.run_to_end("version", "--version").out()
        said = re.fullmatch(r"lapwing (\S+) \((.*)\)\n", version)
        self.assertEqual((messages[0]["version"], messages[0]["revision"]), said.groups())

    def test_a_stream_needs_the_token_and_the_origin(self):
        self.serve()
        self.assertEqual(Stream(self.connect(), token="wrong").status, 401)
        self.assertEqual(Stream(self.connect(), Origin="http://evil.example").status, 403)
        self.assertEqual(self.status("/api/v1/stream"), 426)

    def test_it_ends_when_it_is_asked_to(self):
        server = self.serve()
        Stream(self.connect())
        self.connect()
        self.assertEqual(server.stop(), DONE)

    @unittest.skipUnless(os.geteuid() == 0 and os.access("/dev/fuse", os.W_OK),
                         "SKIPPED: needs root and /dev/fuse")
    def test_a_file_system_that_does_not_answer_silences_nothing_and_holds_no_end_up(self):
        bus = self.folder / "silent"
        bus.mkdir()
        silent_file_system(self, bus)
        path = self.folder / "socket"
        server = self.serve("--bus", bus, token=False, listen=f"unix:{path}")
        for request, status in (("/healthz", 200), ("/readyz", 503)):
            connection = socket.socket(socket.AF_UNIX)
            self.addCleanup(connection.close)
            connection.connect(str(path))
            connection.sendall(f"GET {request} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
            self.assertEqual(int(connection.recv(1000).split()[1]), status)
        self.until("a thread to hang there", lambda: waits_uninterruptibly(server.pid))
        self.assertEqual(server.stop(), DONE)
        self.assertIn("its file system does not answer", server.err())
        self.assertFalse(path.exists())


class Views(ServeTest):
    def view(self, bus, connection=None, **more):
        query = urllib.parse.urlencode({"bus": bus, **more})
        stream = Stream(connection or self.connect(), path=f"/api/v1/view?{query}")
        self.assertEqual(stream.status, 101)
        return stream

    def until_message(self, stream, is_it):
        return self.until("a message", lambda: is_it(message := stream.read()) and message)

    def book_at(self, bus, sequence, instrument):
        """The output of `lapwing book` for the same bus."""
        said = self.run_to_end("book", "book", "--bus", bus, "--json", "--at", sequence, "--depth",
                               20, "--instrument", f"id:{instrument}").out()
        book = json.loads(said)
        del book["digest"]
        return book

    def test_a_book_is_the_one_that_lapwing_book_prints(self):
        bus, _ = self.publish("es")
        self.serve("--bus", bus)
        self.ready()
        stream = self.view("es")
        found = [self.until_message(stream, lambda message: message["state"] == "live")]
        found += [stream.read() for _ in range(4)]
        sequences = [message["sequence"] for message in found]
        self.assertEqual(sequences, sorted(set(sequences)))
        for message in found:
            self.assertEqual(list(message)[0], "conflated")
            self.assertEqual((message["conflated"], message["lost"]), (0, 0))
            self.assertEqual(message["directory"], bus)
            self.assertEqual(message["head"] - message["sequence"], message["behind"])
            book = message["book"]
            self.assertEqual(book["seq"], message["sequence"])
            self.assertEqual(book, self.book_at(bus, book["seq"], book["instrument_id"]))
            ids = [line["instrument_id"] for line in message["instruments"]]
            self.assertEqual(len(ids), message["instruments_total"])
            self.assertIn(book["instrument_id"], ids)
        found = self.until_message(stream, lambda message: message["instruments_total"] > 1)
        ids = [line["instrument_id"] for line in found["instruments"]]
        other = next(one for one in ids if one != found["book"]["instrument_id"])
        message = self.view(bus, instrument=f"id:{other}").read()
        self.assertEqual(message["book"],
                         self.book_at(bus, message["sequence"], other))
        self.assertEqual({trade["instrument_id"] for trade in message["trades"]} - {other}, set())

    def test_a_bus_of_other_records_shows_the_newest_of_each_key(self):
        bus = str(self.folder / "keys")
        self.start("publish", "publish", "--bus", bus, "--source", "kv16:records=0,keys=5",
                   "--pace", 1000)
        self.serve("--bus", bus)
        self.ready()
        message = self.until_message(self.view("keys"), lambda message: message["records"])
        self.assertEqual((message["schema"], message["book"]), ("kv16", None))
        numbers = [record["seq"] for record in message["records"]]
        self.assertEqual(numbers, sorted(numbers))

    def test_it_waits_for_the_next_publisher(self):
        bus, publisher = self.publish("es")
        self.serve("--bus", bus)
        self.ready()
        stream = self.view("es")
        self.until_message(stream, lambda message: message["state"] == "live")
        publisher.kill()
        last = self.until_message(stream, lambda message: message["state"] == "waiting")
        self.assertIn("the publisher ended", last["why"])
        self.publish("es")
        self.until_message(stream, lambda message: message["state"] == "live" and
                           message["sequence"] > last["sequence"])

    def names(self):
        """The buses in the newest reading; empty before the first."""
        status, _, text = self.ask("/api/v1/buses")
        return [bus["name"] for bus in json.loads(text)["buses"]] if status == 200 else []

    def test_what_cannot_be_viewed_is_answered_with_a_sentence(self):
        bus, _ = self.publish("es")
        self.serve("--bus", bus, "--bus", self.folder / "absent")
        path = "/api/v1/view"
        self.until("the bus", lambda: "es" in self.names())
        for query, status in (("", 400), ("?bus=", 400), ("?bus=es&depth=1", 400),
                              ("?bus=%", 400), ("?bus=none", 404), ("?bus=/etc", 404),
                              (f"?bus={self.folder / 'absent'}", 404),
                              ("?bus=es", 426), (f"?bus={bus}", 426)):
            found, _, text = self.ask(path + query)
            self.assertEqual(found, status, query + ": " + text)
            self.assertTrue(text.strip(), query)
        self.assertEqual(self.status(path + "?bus=es", token="wrong"), 401)
        self.assertEqual(Stream(self.connect(), path=path + "?bus=es", token="wrong").status, 401)
        self.assertEqual(Stream(self.connect(), path=path + "?bus=es",
                                Origin="http://evil.example").status, 403)
        self.assertEqual(Stream(self.connect(), path=path + "?bus=none").status, 404)
        self.assertIsNone(self.metric("lapwing_view_clients"))

    def test_a_client_that_reads_nothing_is_conflated_and_counted(self):
        bus, _ = self.publish("es")
        self.serve("--bus", bus)
        self.ready()
        silent = self.view("es", small_socket(self))
        good = self.view("es")
        self.until("messages to be conflated",
                   lambda: self.metric("lapwing_view_conflated_messages_total", bus="es"))
        self.assertEqual(self.metric("lapwing_view_clients", bus="es"), 2)
        self.assertGreater(self.metric("lapwing_view_messages_total", bus="es"), 0)
        self.assertIsNotNone(self.metric("lapwing_view_lag_records", bus="es"))
        self.assertEqual(good.read()["conflated"], 0)
        self.until_message(silent, lambda message: message["conflated"])

    def test_a_bus_has_one_thread_however_many_view_it(self):
        bus, _ = self.publish("es")
        server = self.serve("--bus", bus)
        self.ready()
        clients = [self.view("es"), self.view(bus), self.view("es", instrument="id:1")]
        for client in clients:
            client.read()
        names = [pathlib.Path(task, "comm").read_text().strip()
                 for task in pathlib.Path(f"/proc/{server.pid}/task").iterdir()]
        self.assertEqual(names.count("lapwing-view"), 1)
        self.assertEqual(server.stop(), DONE)


class Metrics(ServeTest):
    def test_a_bus_and_its_subscribers_are_there(self):
        bus, _ = self.publish("es")
        reader = self.start("reader", "tail", "--bus", bus, "--format", "none")
        self.serve("--bus", bus, "--expect", "es:away", "--expect", "es:away")
        self.until("a subscriber", lambda: self.metric("lapwing_subscriber_records_total"))
        self.assertEqual(self.ask("/metrics")[2].count('lapwing_subscriber_up{bus="es",subscriber="away"} '), 1)
        self.assertEqual(self.metric("lapwing_bus_up", bus="es"), 1)
        self.assertEqual(self.metric("lapwing_bus_capacity_records", bus="es"), 1 << 16)
        self.until("its journal", lambda: self.metric("lapwing_bus_starts_total", bus="es") == 1)
        self.assertEqual(self.metric("lapwing_bus_void_records_total", bus="es"), 0)
        self.assertGreater(self.metric("lapwing_journal_free_bytes", bus="es"), 0)
        self.assertEqual(self.metric("lapwing_journal_state", bus="es", state="good"), 1)
        self.assertGreater(self.metric("lapwing_bus_records_total", bus="es"), 0)
        self.assertEqual(self.metric("lapwing_subscriber_info", pid=str(reader.pid)), 1)
        self.assertEqual(self.metric("lapwing_subscriber_up", bus="es", subscriber="away"), 0)
        self.assertGreater(self.metric("lapwing_monitor_sample_seconds_count"), 0)
        self.assertGreater(self.metric("process_resident_memory_bytes"), 0)
        self.until("syncs to be counted", lambda: self.metric("lapwing_journal_sync_seconds_count"))

    def test_a_killed_publisher_is_down(self):
        bus, publisher = self.publish("es")
        self.serve("--bus", bus)
        self.until("the bus to be up", lambda: self.metric("lapwing_bus_up", bus="es") == 1)
        publisher.kill()
        self.until("the bus to be down", lambda: self.metric("lapwing_bus_up", bus="es") == 0)

    def test_a_publisher_that_cannot_be_asked_is_reported(self):
        bus, publisher = self.publish("es")
        self.start("reader", "tail", "--bus", bus, "--name", "logger", "--format", "none")
        control = pathlib.Path(bus, "control.sock")
        self.until("it to run", control.exists)
        control.unlink()
        self.serve("--bus", bus, "--expect", "es:logger")
        self.until("a reading", lambda: self.metric("lapwing_bus_up", bus="es") == 1)
        self.assertEqual(self.metric("lapwing_publisher_answers", bus="es"), 0)
        self.assertEqual(self.metric("lapwing_subscriber_up", bus="es", subscriber="logger"), 0)
        (reading,) = json.loads(self.ask("/api/v1/buses")[2])["buses"]
        self.assertIn(f"(pid {publisher.pid}) runs, but its control socket",
                      reading["subscribers_why"])
        publisher.kill()
        self.until("it to be down", lambda: self.metric("lapwing_bus_up", bus="es") == 0)
        self.assertIsNone(self.metric("lapwing_publisher_answers", bus="es"))

    def test_an_expectation_is_kept_whatever_becomes_of_its_bus(self):
        name = f"kept-{os.getpid()}"  # another test's bus may be named es
        bus, publisher = self.publish(name)
        self.start("reader", "tail", "--bus", bus, "--name", "logger", "--format", "none")
        self.serve("--expect", f"{name}:logger", "--expect", "nosuchbus:logger")
        of_bus = {"bus": name, "subscriber": "logger"}
        nowhere = {"bus": "nosuchbus", "subscriber": "logger"}
        self.until("it to be up", lambda: self.metric("lapwing_subscriber_up", **of_bus) == 1)
        self.assertEqual(self.metric("lapwing_subscriber_up", **nowhere), 0)
        expected = json.loads(self.ask("/api/v1/buses")[2])["expected"]
        self.assertEqual([one["state"] for one in expected], ["attached", "unknown"])
        self.assertEqual(expected[1]["why"], "no bus with this label is known")
        self.assertEqual(publisher.stop(), DONE)
        self.until("the bus to be closed",
                   lambda: self.metric("lapwing_bus_up", bus=name) is None)
        self.assertEqual(self.metric("lapwing_subscriber_up", **of_bus), 0)

    def test_requests_are_counted_by_route_and_code(self):
        self.serve()
        self.status("/none")
        self.status("/metrics", token="wrong")
        count = "lapwing_http_requests_total"
        self.assertEqual(self.metric(count, route="other", code="404"), 1)
        self.assertEqual(self.metric(count, route="/metrics", code="401"), 1)
        self.assertEqual(self.metric("lapwing_http_rejected_total", reason="wrong_token"), 1)


class Access(ServeTest):
    def test_the_address_has_a_new_token_each_time(self):
        def token():
            server = self.serve(token=False)
            found = re.fullmatch(r"http://127\.0\.0\.1:\d+/#token=([0-9a-f]{64})\n", server.out())
            self.assertEqual(self.status("/metrics", token=found[1]), 200)
            self.assertEqual(server.stop(), DONE)
            return found[1]
        self.assertNotEqual(token(), token())

    def test_a_token_of_a_file_is_not_shown(self):
        server = self.serve()
        self.assertNotIn(TOKEN, server.out() + server.err())

    def test_a_token_file_that_others_can_read_is_refused(self):
        self.token_file.chmod(0o640)
        process = self.start("serve", "serve", "--listen", "127.0.0.1:0", "--token-file",
                             self.token_file)
        self.assertEqual(process.wait(), OTHER)
        self.assertIn("chmod 600", process.err())

    def test_who_may_not_ask_gets_4xx(self):
        self.serve("--host", "desk.example")
        self.assertEqual(self.status("/", token=None), 401)
        self.assertEqual(self.status("/metrics", token=TOKEN[1:]), 401)
        self.assertEqual(self.status("/metrics", Host="evil.example"), 403)
        self.assertEqual(self.status("/healthz", Host="evil.example"), 403)
        self.assertEqual(self.status("/metrics", Host="desk.example"), 200)
        self.assertEqual(self.status("/metrics", Origin="http://evil.example"), 403)
        self.assertEqual(self.status("/metrics", method="DELETE"), 405)
        self.assertEqual(self.status("/../../etc/passwd"), 404)
        self.assertEqual(self.raw(b"GET /healthz HTTP/1.1\r\n\r\n"), 403)  # no Host
        codes = [self.status("/metrics", token="wrong") for _ in range(60)]
        self.assertEqual(set(codes), {401, 429})
        self.assertEqual(self.status("/metrics"), 200)

    def test_a_login_gives_a_cookie_that_opens_the_rest(self):
        self.serve()
        status, headers, _ = self.ask("/api/login", method="POST", body=TOKEN, token=None)
        self.assertEqual(status, 204)
        cookie, *attributes = headers["Set-Cookie"].split("; ")
        self.assertLessEqual({"HttpOnly", "SameSite=Strict"}, set(attributes))
        self.assertEqual(self.status("/metrics", token=None, Cookie=cookie), 200)
        self.assertEqual(self.status("/metrics", token=None, Cookie=cookie + "x"), 401)
        self.assertEqual(self.status("/api/login", method="POST", body="wrong", token=None), 401)

    def test_a_socket_in_the_file_system_needs_no_token(self):
        path = self.folder / "socket"
        server = self.serve(token=False, listen=f"unix:{path}")
        self.assertEqual(path.stat().st_mode & 0o777, 0o600)
        connection = socket.socket(socket.AF_UNIX)
        self.addCleanup(connection.close)
        connection.connect(str(path))
        connection.sendall(b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n")
        self.assertTrue(connection.recv(1000).startswith(b"HTTP/1.1 200"))
        second = self.start("second", "serve", "--listen", f"unix:{path}")
        self.assertEqual(second.wait(), OTHER)
        server.kill()
        self.serve(token=False, listen=f"unix:{path}").stop()
        self.assertFalse(path.exists())

    def test_an_address_that_others_reach_needs_tls(self):
        process = self.start("serve", "serve", "--listen", "0.0.0.0:0")
        self.assertEqual(process.wait(), USAGE)
        self.assertIn("--tls-cert", process.err())

    def make_certificate(self):
        return make_certificate(self.folder, "localhost")

    def test_a_key_that_others_may_read_is_refused(self):
        certificate, key = self.make_certificate()
        options = ("--listen", "127.0.0.1:0", "--tls-cert", certificate, "--tls-key", key)
        for mode in (0o644, 0o602, 0o660):
            key.chmod(mode)
            refused = self.start("refused", "serve", *options)
            self.assertEqual(refused.wait(), USAGE)
            self.assertIn(f"chmod g-w,o-rwx {key}", refused.err())
        if os.geteuid() == 0:
            os.chown(key, 61_011, 0)
            refused = self.start("refused", "serve", *options)
            self.assertEqual(refused.wait(), USAGE)
            self.assertIn("belongs to user 61011", refused.err())
            os.chown(key, 0, 0)
        key.chmod(0o640)  # for example for the group ssl-cert
        self.serve("--tls-cert", certificate, "--tls-key", key)

    def test_an_unusable_certificate_or_key_is_wrong_usage(self):
        certificate, key = self.make_certificate()
        folder, pipe, text, secret = (self.folder / name for name in ("folder", "pipe", "text", "secret"))
        folder.mkdir(0o700)
        os.mkfifo(pipe, 0o600)
        text.touch(0o600)
        text.write_text("no PEM")
        subprocess.run(["openssl", "genrsa", "-aes128", "-passout", "pass:x", "-out", secret, "2048"],
                       check=True, capture_output=True)
        secret.chmod(0o600)
        (self.folder / "other").mkdir()
        other = make_certificate(self.folder / "other", "other")[1]
        for files, reason in (
                ((self.folder / "none", key), "none: No such file or directory"),
                ((certificate, self.folder / "none"), "none: No such file or directory"),
                ((folder, key), "folder is not a regular file"),
                ((certificate, folder), "folder is not a regular file"),
                ((pipe, key), "pipe is not a regular file"),
                ((certificate, pipe), "pipe is not a regular file"),
                ((text, key), "the certificate .*text: [a-z ]+. Give a certificate chain in PEM"),
                ((certificate, text), "the key .*text: [a-zA-Z: ]+. Give a private key in PEM"),
                ((certificate, secret), "the key .*secret: [a-z0-9 ]+. Give a private key in PEM, without a passphrase"),
                ((certificate, other), "the key .*other/key.pem: key values mismatch")):
            with self.subTest(files=files):
                refused = self.start("refused", "serve", "--listen", "127.0.0.1:0", "--tls-cert", files[0],
                                     "--tls-key", files[1])
                self.assertEqual(refused.wait(), USAGE, refused.err())
                self.assertRegex(refused.err(), reason)
                self.assertNotIn("asio", refused.err())

    def test_a_hang_up_without_tls_is_answered_with_a_sentence(self):
        server = self.serve()
        server.signal(signal.SIGHUP)
        self.until("it to be said", lambda: "there is no certificate to reload" in server.err())
        self.assertIn("without --tls-cert", server.err())
        self.assertEqual(server.stop(), DONE)

    def test_a_reload_that_fails_is_a_warning(self):
        certificate, key = self.make_certificate()
        server = self.serve("--log", "json", "--tls-cert", certificate, "--tls-key", key)

        def reload():
            before = len(server.err().splitlines())
            server.signal(signal.SIGHUP)
            lines = self.until("it to be said", lambda: server.err().splitlines()[before:])
            return json.loads(lines[0])
        good = reload()
        self.assertEqual((good["level"], good["event"]), ("info", "reloaded"))
        certificate.unlink()
        bad = reload()
        self.assertEqual((bad["level"], bad["event"]), ("warning", "not-reloaded"))
        self.assertIn(f"{certificate}: No such file", bad["message"])

    def test_a_new_certificate_is_read_at_a_hang_up(self):
        certificate, key = self.make_certificate()
        server = self.serve("--tls-cert", certificate, "--tls-key", key)
        context = ssl.create_default_context()
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE

        def served():
            with contextlib.closing(context.wrap_socket(self.connect())) as secure:
                return ssl.DER_cert_to_PEM_cert(secure.getpeercert(binary_form=True)).strip()
        self.assertEqual(served(), certificate.read_text().strip())
        first = Stream(context.wrap_socket(self.connect()))
        self.make_certificate()
        self.assertNotEqual(served(), certificate.read_text().strip())
        server.signal(signal.SIGHUP)
        self.until("the new one", lambda: served() == certificate.read_text().strip())
        first.read()  # connections continue
        before = served()
        key.write_text("no key")
        server.signal(signal.SIGHUP)
        self.until("it to be said", lambda: "the old one stays" in server.err())
        self.assertEqual(served(), before)
        self.assertEqual(server.stop(), DONE)

    def test_tls(self):
        certificate, key = self.make_certificate()
        certificate.chmod(0o600)
        server = self.serve("--tls-cert", certificate, "--tls-key", key, listen="0.0.0.0:0")
        self.assertTrue(server.out().startswith("https://"))
        silent = self.connect()  # never performs the handshake
        context = ssl.create_default_context(cafile=certificate)
        client = http.client.HTTPSConnection("localhost", self.port, context=context)
        with contextlib.closing(client):
            client.request("GET", "/metrics", headers={"Authorization": f"Bearer {TOKEN}"})
            self.assertEqual(client.getresponse().status, 200)
        secure = context.wrap_socket(self.connect(), server_hostname="localhost")
        self.addCleanup(secure.close)
        self.assertEqual(Stream(secure).status, 101)
        self.assertIsNone(self.raw(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"))
        wrong = self.start("wrong", "serve", "--listen", "127.0.0.1:0", "--tls-cert", key,
                           "--tls-key", certificate)
        self.assertEqual(wrong.wait(), USAGE)
        self.assertEqual(silent.recv(1), b"")  # closed by the server


class BadLoad(ServeTest):
    REQUEST = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n"

    def test_what_is_too_large_is_refused(self):
        self.serve()
        filling = b"X: " + b"x" * 1000 + b"\r\n"
        self.assertEqual(self.raw(self.REQUEST + filling * 7 + b"\r\n"), 200)
        self.assertEqual(self.raw(self.REQUEST + filling * 9 + b"\r\n"), 431)
        self.assertEqual(self.raw(self.REQUEST + filling * 500), 431)
        self.assertEqual(self.raw(b"G" * 100_000), 431)
        login = "POST /api/login HTTP/1.1\r\nHost: localhost\r\nContent-Length: {}\r\n\r\n"
        self.assertEqual(self.raw(login.format(4096).encode() + b"x" * 4096), 401)
        self.assertEqual(self.raw(login.format(4097).encode() + b"x" * 4097), 413)
        chunked = (b"POST /api/login HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n"
                   b"\r\n" + b"1000\r\n" + b"x" * 4096 + b"\r\n1\r\nx\r\n0\r\n\r\n")
        self.assertEqual(self.raw(chunked), 413)
        self.assertEqual(self.metric("lapwing_http_rejected_total", reason="large_header"), 3)
        self.assertEqual(self.metric("lapwing_http_rejected_total", reason="large_body"), 2)

    def test_who_is_slow_with_a_request_is_refused(self):
        self.serve()
        header, body = self.connect(), self.connect()
        header.sendall(self.REQUEST)
        body.sendall(b"POST /api/login HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\nx")
        self.assertTrue(header.recv(1000).startswith(b"HTTP/1.1 408"))
        self.assertTrue(body.recv(1000).startswith(b"HTTP/1.1 408"))

    def test_what_is_no_request_is_refused_and_the_next_is_served(self):
        self.serve()
        for garbage in (b"\0" * 100, b"\r\n\r\n\r\n", b"GET\r\n\r\n", b"GET / HTTP/9.9\r\n\r\n",
                        b"GET /\xff\0 HTTP/1.1\r\n\r\n", b"\x16\x03\x01\x02\x00" + b"\1" * 600,
                        b"GET / HTTP/1.1\r\nHost : x\r\n\r\n",
                        b"POST /api/login HTTP/1.1\r\nContent-Length: -1\r\n\r\n",
                        b"POST /api/login HTTP/1.1\r\nContent-Length: 99999999999999999999\r\n\r\n"):
            self.assertIn(self.raw(garbage), (400, 403, 408, 413), garbage)
        self.assertEqual(self.status("/healthz"), 200)

    def test_too_many_connections_are_answered_503(self):
        self.serve(preexec_fn=raise_descriptors)
        raise_descriptors()

        def known():
            """A connection that has sent the token. One without it would be closed."""
            connection = self.connect()
            connection.sendall(b"GET /none HTTP/1.1\r\nHost: localhost\r\n"
                               b"Authorization: Bearer " + TOKEN.encode() + b"\r\n\r\n")
            self.assertIn(b" 404 ", connection.recv(4096))
            return connection

        def is_refused():  # before the first connection in the crowd has been idle for too long
            crowd = [known() for _ in range(CONNECTIONS_MAX)]
            status = self.raw(self.REQUEST + b"\r\n")
            for client in crowd:
                client.close()
            return status == 503
        self.until("a refusal", is_refused)
        self.until("a place", lambda: self.raw(self.REQUEST + b"\r\n") == 200)
        self.assertGreater(self.metric("lapwing_http_rejected_total", reason="connections"), 0)

    def test_without_descriptors_accepting_pauses_and_goes_on(self):
        server = self.serve()
        subprocess.run(["prlimit", f"--pid={server.pid}", "--nofile=40:40"], check=True)
        crowd = [self.connect() for _ in range(60)]
        self.until("the limit to be reached", lambda: len(
            os.listdir(f"/proc/{server.pid}/fd")) >= 40)
        for client in crowd:
            client.close()
        self.until("a place", lambda: self.raw(self.REQUEST + b"\r\n") == 200)
        rejected = self.metric("lapwing_http_rejected_total", reason="out_of_descriptors")
        self.assertGreater(rejected, 0)
        self.assertLess(server.processor_seconds(), 30)

    def test_a_stopped_publisher_holds_nobody_up(self):
        bus, publisher = self.publish("es")
        self.serve("--bus", bus)
        self.ready()
        publisher.signal(signal.SIGSTOP)
        self.addCleanup(publisher.signal, signal.SIGCONT)
        self.until("it to be seen", lambda: self.metric("lapwing_bus_up", bus="es") == 0)
        self.assertEqual(self.status("/readyz"), 200)


class Crowd(ServeTest):
    def test_silent_streams_cost_a_good_one_nothing(self):
        """For 1,000 clients that read nothing, data is conflated, and memory stays bounded."""
        bus, _ = self.publish("es")
        raise_descriptors()
        for number in range(READERS):  # so that readings are large, and sockets fill quickly
            self.start(f"reader{number}", "tail", "--bus", bus, "--format", "none")
        server = self.serve("--bus", bus, preexec_fn=raise_descriptors)
        self.ready()
        for _ in range(SILENT_CLIENTS):  # each requests at once: idle ones are closed
            self.assertEqual(Stream(small_socket(self)).status, 101)
        self.until("messages to be conflated",
                   lambda: self.metric("lapwing_http_stream_conflated_messages_total"))
        read = self.read_for_good()
        self.until("20 messages", lambda: len(read) >= 20)
        self.assertLess(peak_memory_kib(server.pid), MEMORY_KIB_MAX)
        self.until("the silent to be closed",
                   lambda: self.metric("lapwing_http_stream_clients") == 1)
        self.assertEqual(self.metric("lapwing_http_rejected_total", reason="takes_nothing"),
                         SILENT_CLIENTS)
        until_now = len(read)
        self.until("messages after that", lambda: len(read) > until_now + 1)
        times = [message["time"] for message in read]
        self.assertEqual(times, sorted(set(times)))
        self.assertEqual({message["conflated"] for message in read}, {0})

    def read_for_good(self):
        """A list to which a client's thread appends each message."""
        connection, read = self.connect(), []
        stream = Stream(connection)

        def run():
            with contextlib.suppress(OSError, ValueError):  # closed
                while True:
                    read.append(stream.read())
        thread = threading.Thread(target=run)
        thread.start()
        self.addCleanup(thread.join)
        self.addCleanup(connection.shutdown, socket.SHUT_RDWR)
        return read


class Garbage(ServeTest):
    def test_garbage_costs_neither_memory_nor_the_next_client(self):
        server = self.serve()
        left = int(os.environ.get("LAPWING_GARBAGE_MIB", 16)) << 20
        random_bytes = random.Random(20).randbytes(1 << 20)
        refused = 0
        while left > 0:
            begin = random.randrange(1 << 19)
            connection = socket.create_connection(("127.0.0.1", self.port), harness.HANG_SECONDS)
            with contextlib.closing(connection):
                chunk = memoryview(random_bytes)[begin:begin + (1 << 18)]
                with contextlib.suppress(ConnectionError):
                    while chunk:
                        sent = connection.send(chunk)
                        left -= sent  # the bytes actually sent
                        chunk = chunk[sent:]
                    connection.shutdown(socket.SHUT_WR)
                    refused += connection.recv(12) in (b"HTTP/1.1 400", b"HTTP/1.1 431")
        self.assertGreater(refused, 0)
        self.assertEqual(self.status("/healthz"), 200)
        self.assertLess(peak_memory_kib(server.pid), MEMORY_KIB_MAX)


class Slow(ServeTest):
    """The attacks of slowhttptest: slow headers, slow bodies, slow readers."""

    def test_slow_clients_keep_no_good_one_out(self):
        self.assertIsNotNone(shutil.which("slowhttptest"), "there is no slowhttptest")
        server = self.serve(preexec_fn=raise_descriptors)
        url = f"http://127.0.0.1:{self.port}"
        for mode in (["-H", "-t", "GET", "-u", f"{url}/healthz"],
                     ["-B", "-t", "POST", "-u", f"{url}/api/login"],
                     ["-X", "-w", "10", "-y", "20", "-n", "5", "-z", "8", "-u", f"{url}/"]):
            attack = harness.Running(["slowhttptest", "-c", "900", "-r", "300", "-i", "2", "-l", "30",
                                      "-p", "3", *mode], self.folder, "slowhttptest",
                                     preexec_fn=raise_descriptors)
            self.running.append(attack)
            self.until("connections", lambda: not attack.alive() or
                       (self.metric("lapwing_http_connections") or 0) > 100)
            self.assertTrue(attack.alive(), attack.out())
            answered = 0
            while attack.alive():
                self.assertEqual(self.status("/healthz"), 200)
                answered += 1
            self.assertGreater(answered, 0)
        self.assertGreater(self.metric("lapwing_http_rejected_total", reason="slow_request"), 0)
        self.assertLess(peak_memory_kib(server.pid), MEMORY_KIB_MAX)


def silent_file_system(test, folder):
    """Mounts a FUSE file system that has no server, so that every access waits."""
    device = os.open("/dev/fuse", os.O_RDWR)
    test.addCleanup(os.close, device)
    libc = ctypes.CDLL(None, use_errno=True)
    options = f"fd={device},rootmode=40000,user_id=0,group_id=0"
    failed = libc.mount(b"silent", os.fsencode(folder), b"fuse", 0, options.encode())
    test.assertEqual(failed, 0, os.strerror(ctypes.get_errno()))
    test.addCleanup(subprocess.run, ["umount", "-l", str(folder)], check=False)


def waits_uninterruptibly(pid):
    """True if a thread is found waiting twice in a row, as for a file system, not for a disk."""
    def waiting():
        states = {thread: (thread / "stat").read_text().rpartition(")")[2].split()[0]
                  for thread in pathlib.Path(f"/proc/{pid}/task").iterdir()}
        return {thread for thread, state in states.items() if state == "D"}
    before = waiting()
    time.sleep(0.1)
    return before & waiting()


def small_socket(test):
    connection = socket.socket()
    test.addCleanup(connection.close)
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    connection.settimeout(harness.HANG_SECONDS)
    connection.connect(("127.0.0.1", test.port))
    return connection


def peak_memory_kib(pid):
    with open(f"/proc/{pid}/status", encoding="ascii") as status:
        return int(re.search(r"VmHWM:\s+(\d+)", status.read())[1])


def raise_descriptors():
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(8192, hard), hard))


if __name__ == "__main__":
    unittest.main(verbosity=2)
