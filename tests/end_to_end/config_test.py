"""Tests `--config FILE`: options from TOML, precedence of the command line, and errors."""

import json
import subprocess
import unittest

import harness

DONE, USAGE = 0, 2
RECORDS = 500


class Config(harness.ProgramTest):
    """Configuration of the four commands that run as services."""

    def setUp(self):
        super().setUp()
        self.bus = self.folder / "bus"

    def config(self, text, name="config.toml"):
        path = self.folder / name
        path.write_text(text)
        return path

    def refused(self, text, *wanted, command="publish", options=()):
        """The command exits with 2, and its message contains the file and each of `wanted`."""
        path = self.config(text)
        done = self.run_to_end("refused", command, "--config", path, *options, expect=USAGE)
        for word in (str(path), *wanted):
            self.assertIn(word, done.err())
        self.assertFalse(self.bus.exists(), "nothing was begun")

    def published(self, text, *options):
        publisher = self.run_to_end("publish", "publish", "--config", self.config(text), *options)
        return publisher.summary()

    def publisher_config(self, more=""):
        return f'bus = "{self.bus}"\nsource = "synthetic:records={RECORDS},seed=7"\n' + more

    def test_all_options_may_stand_in_it(self):
        text = self.publisher_config(
            "# of a test\ncapacity = 1024  # slots\nsync-interval = '2500us'\nsegment-bytes = \"64K\"\n"
            "summary = true\nresume = false\non-journal-lag = 'wait'\n")
        self.assertEqual(self.published(text)["records"], RECORDS)
        info = self.run_to_end("info", "info", "--json", "--bus", self.bus)
        self.assertEqual(json.loads(info.out())["capacity"], 1024)

    def test_a_flag_that_is_false_was_not_given(self):
        publisher = self.run_to_end("publish", "publish", "--config",
                                    self.config(self.publisher_config("summary = false\n")))
        self.assertEqual(publisher.out(), "")

    def test_a_hash_in_quotes_is_no_comment(self):
        self.bus = self.folder / "bus #1, mine"
        self.assertEqual(self.published(self.publisher_config("summary = true\n"))["records"],
                         RECORDS)
        self.assertTrue((self.bus / "bus.json").exists())

    def test_no_file_exhausts_the_stack(self):
        deep = ".".join(["a"] * 200_000)
        # A string may end in one or two more quotes than the three that close it.
        strings = [f"x = {quote * 3}x{quote * count}" for quote in "\"'" for count in (3, 4, 5)]
        for text in (f"{deep} = 1\n", f"[{deep}]\n", f"[[{deep}]]\n", f"x = {{ {deep} = 1 }}\n",
                     f"'a'.{deep} = 1\n", f'"#".{deep} = 1\n', f"a = 1\r{deep} = 1\n"):
            self.refused(text, "line 1 has more than 256 dots")
        for first in (*strings, "x = [", "# \"", "x = '\\'", 'x = "\\""', 'x = "\\\\"'):
            self.refused(f"{first}\n{deep} = 1\n", "line 2 has more than 256 dots")
        self.refused("x = " + "[" * 100_000, "line 1")
        self.refused("x = " + "{ a = " * 100_000, "line 1")

    def test_the_deepest_file_fits_a_small_stack(self):
        """Nested tables, with the maximum number of dots per line."""
        key = ".".join(["a"] * 256)
        for depth in (1, 2, 4, 100, 250):
            path = self.config(f"[{key}]\n{key} = " + f"[\n{{ {key} = " * depth + "1" + "}]" * depth + "\n")
            done = subprocess.run(["sh", "-c", 'ulimit -s 256; exec "$0" "$@"', harness.program(), "publish",
                                   "--config", path], capture_output=True, text=True, check=False)
            self.assertEqual(done.returncode, USAGE, done.stderr)
            self.assertRegex(done.stderr, "maximum nested value depth" if depth > 1 else "has no option `a`")

    def test_dots_in_values_and_comments_are_allowed(self):
        dots = "." * 100
        self.bus = self.folder / f"bus{dots}"
        text = self.publisher_config(f"summary = true # {dots}\n# {dots}\n")
        self.assertEqual(self.published(text)["records"], RECORDS)

    def test_the_command_line_wins(self):
        text = self.publisher_config("summary = true\ncapacity = 1024\n")
        summary = self.published(text, "--source", "synthetic:records=7", "--capacity", "2048")
        self.assertEqual(summary["records"], 7)
        info = self.run_to_end("info", "info", "--json", "--bus", self.bus)
        self.assertEqual(json.loads(info.out())["capacity"], 2048)

    def test_a_flag_of_the_command_line_can_be_taken_back(self):
        publisher = self.run_to_end(
            "publish", "publish", "--summary=false", "--config",
            self.config(self.publisher_config("summary = true\n")))
        self.assertEqual(publisher.out(), "")

    def test_an_unknown_key_is_an_error_that_names_it(self):
        self.refused(self.publisher_config("\ncapcity = 1024\n"), "line 4", "`capcity`",
                     "without the dashes")
        self.refused(self.publisher_config("from = \"start\"\n"), "`publish` has no option `from`")
        self.refused("[publisher]\nbus = \"x\"\n", "line 1", "`publisher`")
        self.refused(self.publisher_config("[publish]\ncapcity = 1\n"), "line 4", "`capcity`")
        self.refused(self.publisher_config("[tail]\nformat = 1\n"), "line 3", "`tail`")
        self.refused(self.publisher_config("[publish]\n[publish.record]\nx = 1\n"),
                     "line 4", "`record`")

    def test_what_the_option_does_not_take_is_an_error_that_names_it(self):
        self.refused(self.publisher_config("capacity = -1\n"), "line 3", "--capacity",
                     "not a whole number")
        self.refused(self.publisher_config("on-journal-lag = \"hope\"\n"), "--on-journal-lag")
        self.refused(self.publisher_config("capacity = [1, 2]\n"), "`capacity` takes a text")
        self.refused(self.publisher_config("capacity = true\n"), "`capacity` takes a text")
        self.refused(self.publisher_config("linger = 2026-11-26\n"), "`linger` takes a text")
        self.refused(self.publisher_config("linger = 10\n"), "line 3", "--linger",
                     "10 is not a duration", "10s, 5m")
        self.refused(self.publisher_config("sync-interval = 0\n"), "line 3", "--sync-interval",
                     "or on-request")
        self.refused(self.publisher_config("resume = 1\n"), "`resume` takes true or false")

    def test_what_is_no_toml_is_named_by_its_line(self):
        self.refused(self.publisher_config("capacity 1024\n"), "line 3", "is not TOML")
        self.refused("bus = \"a\"\nbus = \"b\"\n", "line 2", "is not TOML")
        self.refused("bus = unquoted\n", "line 1", "is not TOML")

    def test_a_file_names_no_other(self):
        self.refused(self.publisher_config("config = \"other.toml\"\n"), "`config`",
                     "only on the command line")
        self.refused(self.publisher_config("help = true\n"), "`help`", "only on the command line")

    def test_a_required_option_may_stand_in_it_and_nowhere_else_is_it_missing(self):
        path = self.config(f'bus = "{self.bus}"\n')
        done = self.run_to_end("publish", "publish", "--config", path, expect=USAGE)
        self.assertIn("--source is required", done.err())

    def test_a_file_that_is_none_is_named(self):
        for path in (self.folder / "missing.toml", self.folder, "/dev/zero"):
            done = self.run_to_end("publish", "publish", "--config", path, expect=USAGE)
            self.assertIn(str(path), done.err())

    def test_a_file_that_is_too_large_is_named(self):
        path = self.config("#" * (1 << 20) + "\n")
        done = self.run_to_end("publish", "publish", "--config", path, expect=USAGE)
        self.assertIn("more than 1048576", done.err())

    def test_record_and_checkpoint_take_theirs(self):
        self.published(self.publisher_config("summary = true\n"))
        out = self.folder / "copy.dbn"
        recorder = self.run_to_end("record", "record", "--config", self.config(
            f'bus = "{self.bus}"\nfrom = "start"\nout = "{out}"\nuntil-closed = true\n'
            'summary = true\nrotate-every = "1d"\n'))
        self.assertEqual(recorder.summary()["records"], RECORDS)
        folder = self.run_to_end("checkpoint", "checkpoint", "--config", self.config(
            f'bus = "{self.bus}"\nfold = "orders"\nevery = 100\nuntil-closed = true\n'
            'summary = true\n'))
        self.assertEqual(folder.summary()["as_of"], RECORDS)

    def test_one_file_serves_the_commands_of_a_bus(self):
        out = self.folder / "copy.dbn"
        config = self.config(
            f'bus = "{self.bus}"\nsummary = true\n[publish]\nsummary = false\n'
            f'source = "synthetic:records={RECORDS}"\n'
            f'[record]\nout = "{out}"\nfrom = "start"\nuntil-closed = true\n'
            '[checkpoint]\nfold = "orders"\nuntil-closed = true\n')
        publisher = self.run_to_end("publish", "publish", "--config", config)
        self.assertEqual(publisher.out(), "", "what stands in its own table wins")
        recorder = self.run_to_end("record", "record", "--config", config)
        self.assertEqual(recorder.summary()["records"], RECORDS)
        folder = self.run_to_end("checkpoint", "checkpoint", "--config", config)
        self.assertEqual(folder.summary()["as_of"], RECORDS)

    def test_serve_takes_lists(self):
        sockets = self.folder / "sockets"
        sockets.mkdir(0o700)
        server = self.start("serve", "serve", "--config", self.config(
            f'listen = "unix:{sockets}/http"\nhost = ["md1", "md2"]\nexpect = "a:b"\n'))
        self.until("its address", lambda: "unix:" in server.out())
        self.assertEqual(server.stop(), DONE)
        self.refused('host = [["a"]]\n', "`host` takes", command="serve")
        self.refused('expect = ["a:b", "nonsense"]\n', "line 1", '"nonsense" is not BUS:NAME', command="serve")
        self.refused('host = ["md1", "https://md2.example"]\n', "line 1", '"https://md2.example" is not a host name',
                     command="serve")


if __name__ == "__main__":
    unittest.main(verbosity=2)
