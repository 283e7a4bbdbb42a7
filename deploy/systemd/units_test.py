"""Tests the units: systemd reports no problems, the units are confined, and their commands work.

Runs the program named by LAPWING_BIN with the arguments of ExecStart=. systemd starts no service.
"""

import os
import pathlib
import pwd
import re
import shutil
import subprocess
import sys
import unittest
import urllib.request

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1] / "tests/end_to_end"))
import harness  # noqa: E402

EXPOSURE_MAX = 20  # tenths; the maximum is 100
INSTANCE = "es"
UNITS = sorted(HERE.glob("*.service"))
DONE = 0


def commands_of(unit):
    """The arguments in ExecStart=."""
    (line,) = re.findall(r"^ExecStart=/usr/bin/lapwing (.*)$", unit.read_text(), re.M)
    return line.split()


class Units(harness.ProgramTest):
    def setUp(self):
        super().setUp()
        self.units = self.folder / "units"
        self.units.mkdir()
        for unit in UNITS:
            text = unit.read_text().replace("/usr/bin/lapwing", harness.program())
            (self.units / unit.name.replace("@.", f"@{INSTANCE}.")).write_text(text)

    def analyze(self, *arguments):
        if shutil.which("systemd-analyze") is None:
            self.skipTest("SKIPPED: systemd-analyze is not there")
        return subprocess.run(["systemd-analyze", *arguments], capture_output=True, text=True,
                              env={**os.environ, "SYSTEMD_PAGER": ""}, check=False)

    def test_there_is_one_for_each_service(self):
        self.assertEqual([unit.name for unit in UNITS],
                         ["lapwing-checkpoint@.service", "lapwing-publish@.service",
                          "lapwing-record@.service", "lapwing-serve.service"])

    def test_systemd_finds_nothing_wrong(self):
        for unit in sorted(self.units.iterdir()):
            done = self.analyze("verify", "--man=no", str(unit))
            self.assertEqual((done.returncode, done.stdout + done.stderr), (DONE, ""), unit.name)

    def test_a_fault_would_be_found(self):
        unit = self.units / "lapwing-serve.service"
        unit.write_text(unit.read_text().replace("Type=notify", "Type=notfy"))
        self.assertIn("notfy", self.analyze("verify", "--man=no", str(unit)).stderr)

    def test_they_are_started_again_until_they_work(self):
        for unit in UNITS:
            text = unit.read_text()
            self.assertIn("\nRestart=on-failure\n", text, unit.name)
            self.assertIn("\nStartLimitIntervalSec=0\n", text.split("[Service]")[0], unit.name)

    def test_they_are_confined(self):
        for unit in sorted(self.units.iterdir()):
            done = self.analyze("security", "--offline=true", f"--threshold={EXPOSURE_MAX}",
                                "--no-pager", str(unit))
            self.assertEqual(done.returncode, DONE, f"{unit.name}:\n{done.stdout[-400:]}")

    def command(self, kind):
        """The arguments of a service, with this test's folders instead of the machine's."""
        (unit,) = (unit for unit in UNITS if unit.name.startswith(f"lapwing-{kind}"))
        text = " ".join(commands_of(unit)).replace("%i", INSTANCE)
        return text.replace("/etc/lapwing", str(self.folder)).replace(
            "/var/lib/lapwing", str(self.folder / "lib")).split()

    def test_one_file_of_options_serves_all_of_a_bus(self):
        (self.folder / "lib" / INSTANCE).mkdir(parents=True)
        copy = self.folder / "copy.dbn"
        (self.folder / f"{INSTANCE}.toml").write_text(
            '[publish]\nsource = "synthetic:records=1000"\ncapacity = 1024\n'
            f'[record]\nout = "{copy}"\nfrom = "oldest"\nuntil-closed = true\n'
            '[checkpoint]\nfold = "orders"\nuntil-closed = true\n')
        for kind in ("publish", "record", "checkpoint"):
            self.run_to_end(kind, *self.command(kind))
        self.assertTrue(copy.exists())

    def test_the_example_of_expect_is_of_the_user_that_publishes(self):
        text = (HERE / "serve.toml").read_text()
        (user,) = re.findall(r'^user = \["(\w+)"\]$', text, re.M)
        (bus_user, bus, subscriber) = re.findall(
            r'^# expect = \["(\w+)/(\w+):(\w+)"\]$', text, re.M)[0]
        owner = {unit.name: re.findall("^User=(.*)$", unit.read_text(), re.M) for unit in UNITS}
        self.assertEqual(owner["lapwing-publish@.service"], [bus_user])
        self.assertNotEqual(owner["lapwing-serve.service"], [bus_user])
        self.assertEqual((user, bus, subscriber), (bus_user, INSTANCE, "record"))

    @unittest.skipUnless(os.geteuid() == 0, "SKIPPED: needs root to become other users")
    def test_the_example_of_expect_finds_its_subscriber(self):
        """The layout of the packages, with users daemon (lapwing) and `nobody` (lapwing-serve)."""
        self.folder.chmod(0o755)
        as_owner = {"user": "daemon", "group": "daemon", "extra_groups": []}
        bus = self.folder / "lib" / INSTANCE
        bus.parent.mkdir()
        shutil.chown(bus.parent, "daemon", "daemon")
        daemon = pwd.getpwnam("daemon")
        self.addCleanup(shutil.rmtree, f"/dev/shm/lapwing-{daemon.pw_uid}-{daemon.pw_gid}",
                        ignore_errors=True)
        (self.folder / f"{INSTANCE}.toml").write_text(
            '[publish]\nsource = "synthetic:records=0"\npace = 1000\ncapacity = 1024\n'
            f'group = "daemon"\n[record]\nout = "{bus.parent}/copy.dbn"\n')
        self.start("publish", *self.command("publish"), **as_owner)
        self.until("the bus", (bus / "control.sock").exists)
        self.start("record", *self.command("record"), **as_owner)
        token = self.folder / "token"
        token.touch(0o600)
        token.write_text("t" * 64)
        shutil.chown(token, "nobody")
        options = (HERE / "serve.toml").read_text()
        for old, new in (("127.0.0.1:9477", "127.0.0.1:0"), ('user = ["lapwing', 'user = ["daemon'),
                         ('# expect = ["lapwing/', 'expect = ["daemon/'),
                         ("/var/lib/lapwing-serve", str(self.folder))):
            self.assertEqual(options.count(old), 1, old)
            options = options.replace(old, new)
        (self.folder / "serve.toml").write_text(options)
        server = self.start("serve", *self.command("serve"), user="nobody",
                            group=pwd.getpwnam("nobody").pw_gid, extra_groups=["daemon"])
        self.until("its address", lambda: "http://" in server.out())
        request = urllib.request.Request(f"{server.out().split()[0]}metrics",
                                         headers={"Authorization": "Bearer " + "t" * 64})
        series = f'lapwing_subscriber_up{{bus="daemon/{INSTANCE}",subscriber="record"}} 1\n'

        def is_up():
            with urllib.request.urlopen(request, timeout=harness.HANG_SECONDS) as answer:
                return series in answer.read().decode()
        self.until("the recorder to be up", is_up)

    def test_the_monitor_takes_the_options_that_are_installed(self):
        options = (HERE / "serve.toml").read_text()
        options = options.replace("127.0.0.1:9477", "127.0.0.1:0").replace(
            "/var/lib/lapwing-serve", str(self.folder)).replace(
                'user = ["lapwing"]', 'user = ["root"]')
        (self.folder / "serve.toml").write_text(options)
        token = self.folder / "token"
        token.touch(0o600)
        token.write_text("t" * 64)
        server = self.start("serve", *self.command("serve"))
        self.until("its address", lambda: "http://" in server.out())
        self.assertNotIn("token", server.out(), "the journal has no secret")
        self.assertEqual(server.stop(), DONE)


if __name__ == "__main__":
    unittest.main(verbosity=2)
