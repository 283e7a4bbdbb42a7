"""Tests `lapwing serve` behind nginx with TLS, configured as in docs/how-to/monitor.md.

LAPWING_PAGE_PNGS is a directory for screenshots.
"""

import contextlib
import http.client
import pathlib
import re
import shutil
import socket
import ssl
import unittest

import harness
import page_test
import serve_test
import web_socket

NAME = "mon.example"
ORIGIN = f"https://{NAME}"
PATHS = ("/", "/lapwing/")
DOCUMENT = pathlib.Path(__file__).resolve().parents[2] / "docs/how-to/monitor.md"


def free_port():
    with contextlib.closing(socket.socket()) as taken:
        taken.bind(("127.0.0.1", 0))
        return taken.getsockname()[1]


@unittest.skipUnless(shutil.which("nginx", path="/usr/sbin:/usr/bin"),
                     "SKIPPED: nginx is not there; deploy/monitoring/setup.sh installs it")
class Proxy(serve_test.ServeTest):
    def setUp(self):
        super().setUp()
        self.bus, _ = self.publish("es")
        self.serve("--bus", self.bus, "--host", NAME)
        self.ready()
        self.certificate, self.key = serve_test.make_certificate(self.folder, NAME)

    def start_nginx(self, path):
        """nginx as documented, except for the port, the files and the path."""
        (block,) = re.findall(r"```nginx\n(.*?)```", DOCUMENT.read_text(), re.S)
        self.tls_port = free_port()
        for old, new in (("listen 443 ssl;", f"listen 127.0.0.1:{self.tls_port} ssl;"),
                         ("/etc/ssl/certs/mon.pem", str(self.certificate)),
                         ("/etc/ssl/private/mon.key", str(self.key)),
                         ("http://127.0.0.1:9477/", f"http://127.0.0.1:{self.port}/"),
                         ("location / {  ", f"location {path} {{  ")):
            self.assertIn(old, block)
            block = block.replace(old, new)
        folder = self.folder / "nginx"
        folder.mkdir(exist_ok=True)
        temporary = "".join(f"{kind}_temp_path {folder}/{kind};\n" for kind in
                            ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
        (folder / "nginx.conf").write_text(
            f"daemon off;\npid {folder}/pid;\nerror_log {folder}/error.log;\n"
            f"events {{}}\nhttp {{\naccess_log off;\n{temporary}{block}}}\n")
        nginx = harness.Running(["/usr/sbin/nginx", "-p", str(folder), "-c",
                                 str(folder / "nginx.conf"), "-e", str(folder / "error.log")],
                                self.folder, "nginx")
        self.running.append(nginx)
        self.until("nginx to listen", lambda: self.is_listening() or not nginx.alive())
        self.assertTrue(nginx.alive(), nginx.err())
        self.addCleanup(nginx.stop)

    def is_listening(self):
        with contextlib.closing(socket.socket()) as connection:
            return connection.connect_ex(("127.0.0.1", self.tls_port)) == 0

    def secure(self):
        context = ssl.create_default_context(cafile=self.certificate)
        plain = socket.create_connection(("127.0.0.1", self.tls_port))
        connection = context.wrap_socket(plain, server_hostname=NAME)
        self.addCleanup(connection.close)
        return connection

    def asked(self, method, path, body=None, **headers):
        client = http.client.HTTPConnection(NAME)
        client.sock = self.secure()
        client.request(method, path, body, headers)
        response = client.getresponse()
        return response.status, response.headers, response.read().decode()

    def test_login_page_and_streams(self):
        for path in PATHS:
            with self.subTest(path=path):
                self.start_nginx(path)
                self.assertEqual(self.asked("GET", path)[0], 401)
                status, headers, _ = self.asked("POST", f"{path}api/login", serve_test.TOKEN,
                                                Origin=ORIGIN)
                self.assertEqual(status, 204)
                cookie = headers["Set-Cookie"]
                self.assertIn("; Secure", cookie)
                cookie = cookie.split(";")[0]
                status, _, page = self.asked("GET", path, Cookie=cookie)
                self.assertEqual(status, 200)
                for address in re.findall(r'(?:src|href)="([^"#]+)"', page):
                    self.assertFalse(address.startswith("/"), address)
                    self.assertEqual(self.asked("GET", path + address, Cookie=cookie)[0], 200)
                stream = web_socket.Stream(self.secure(), None, Host=NAME, Origin=ORIGIN,
                                           Cookie=cookie, path=f"{path}api/v1/stream")
                self.assertEqual(stream.status, 101)
                self.assertEqual(stream.read()["buses"][0]["directory"], self.bus)
                view = web_socket.Stream(self.secure(), None, Host=NAME, Origin=ORIGIN,
                                         Cookie=cookie, path=f"{path}api/v1/view?bus=es")
                self.assertEqual(view.status, 101)
                self.assertEqual(view.read()["directory"], self.bus)
                for origin in ("https://evil.example", f"http://{NAME}:1", "null"):
                    refused = self.asked("POST", f"{path}api/login", serve_test.TOKEN,
                                         Origin=origin)
                    self.assertEqual(refused[0], 403, origin)

    @unittest.skipUnless(page_test.webdriver, "SKIPPED: selenium is not there; "
                         "deploy/monitoring/setup.sh installs it")
    def test_in_a_browser(self):
        for path in PATHS:
            with self.subTest(path=path):
                self.start_nginx(path)
                browser = page_test.start_browser(
                    self, f"--host-resolver-rules=MAP {NAME} 127.0.0.1:{self.tls_port}",
                    "--ignore-certificate-errors")
                browser.get(f"{ORIGIN}{path}#token={serve_test.TOKEN}")
                self.until("a reading", lambda b=browser: b.execute_script(
                    "return document.querySelector('#clock')?.textContent"))
                self.assertEqual(browser.current_url.split("#")[0], ORIGIN + path)
                browser.execute_script("location.hash = arguments[0]", f"bus={self.bus}")
                self.until("the view", lambda b=browser: b.execute_script(
                    "return document.querySelectorAll('.ladder tr.of_bid').length > 0"))
                page_test.picture(browser, f"behind-nginx{path.replace('/', '-').rstrip('-')}")
                browser.quit()


if __name__ == "__main__":
    unittest.main()
