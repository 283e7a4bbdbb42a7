"""Command lines from a grammar: every command and option of --help, with nasty values."""

import os
import re

import mutations
import trial as trials

NAME = "command lines"
WEIGHT = 3
TRIALS_MIN = 6
COMMANDS_A_TRIAL = 12
AT_ONCE = 4
STOP_SECONDS = 0.4  # then it is asked to end, because many would run forever

OPTION = re.compile(r"^  (?:-\w,)?(--[a-z-]+)((?: \S+)*)")
COMMAND = re.compile(r"^  ([a-z]+)  +\S", re.M)

TEXTS = (
    "", " ", "-", "--", "-1", "0", "1", "2", "3", "64", "4096", "65536", "1e3", "0x10", "+5",
    "18446744073709551615", "18446744073709551616", "9223372036854775807",
    "-9223372036854775808", "1" * 400, "nan", "inf", "-inf", "1e400", "1e-400", "NaN", "0.0",
    ".", "..", "./", "//", "\x1b[31mred\x1b[0m", "a\nb", "\t", "\x7f", "\x01\x02", "caf\xe9",
    "\u202e", "\udcff\udcfe", "x" * 300, "x" * 5000, "y/" * 2100, "%s%n%x", "$(id)", "'", '"',
    "\\", "*", "{}", "null", "64K", "1G", "1T", "99999999P", "-5K", "1h", "0s", "1d",
    "999999999d", "1ms", "forever", "on-request", "start", "oldest", "live", "snapshot", "seq:0", "seq:1",
    "seq:18446744073709551615", "seq:", "time:", "time:2026-11-20T14:30:00Z", "time:9999-99-99",
    "time:0000-01-01T00:00:00Z", "snapshot:", "snapshot:../../x", "after:",
    "after:" + "0" * 32 + "/" + "f" * 32 + "/1", "after:" + "0" * 32 + "/" + "0" * 32 + "/-1",
    "orders", "latest", "../..",
    "fill", "skip", "stop", "busy", "park", "json", "none", "text", "lines", "raw", "max",
    "recorded", "recorded*0", "recorded*nan", "recorded*1e300", "1000000", "0.0001", "wait",
    "shed", "continue", "1,2,3", "1,,2", ",", "17077/1", "/", "SYN1", "root", "nobody", "61100",
    "4294967295", "4294967296", "-0")
SOURCES = ("kv16:records=50", "kv16", "kv16:", "kv16:records=-1", "kv16:keys=0", "kv16:records=1,",
           "kv16:records=100,keys=18446744073709551615,seed=18446744073709551615",
           "synthetic:records=50", "synthetic:instruments=65", "synthetic:records=x", "dbn:",
           "dbn:-", "dbn:/", "dbn:/dev/null", "dbn:/dev/zero", "journal:", "journal:/", "journal:.",
           "dbn:" + "x" * 5000, "what:", "\x1b[31m", "synthetic:seed=1,seed=2")


class Family:
    def __init__(self, world):
        self.world = world
        self.options = {}

    def _learn(self, trial):
        """{command: [(option, takes a value)]} from --help."""
        help_text = trial.run("--help").out.decode()
        commands = COMMAND.findall(help_text[help_text.index("Subcommands:"):])
        for command in commands:
            text = trial.run(command, "--help").out.decode()
            options = []
            for line in text.splitlines():
                found = OPTION.match(line)
                if found:
                    words = found[2].replace("REQUIRED", "").split("Excludes")[0].split("Needs")[0]
                    options.append((found[1], bool(words.strip()) and words.strip() != "Takes"))
            self.options[command] = options
        if len(commands) < 10 or not all(self.options.values()):
            trial.found(f"--help names too little: {self.options}")

    def trial(self, trial):
        if not self.options:
            self._learn(trial)
        bus = self.world.bases.place(trial.rng.choice(("clean", "kv16", "cut", "killed")), trial)
        self._make_traps(trial, bus)
        for _ in range(COMMANDS_A_TRIAL // AT_ONCE):
            lines = [self._line(trial, bus) for _ in range(AT_ONCE)]
            for process in [trial.start(*line) for line in lines]:
                outcome = trial.check(process, STOP_SECONDS)
                found = trials.RAW_CONTROL.search(outcome.out)
                if found:
                    trial.found(f"`{trial.shown(outcome.command)}` printed the raw control "
                                f"character {found[0]!r}")

    def _make_traps(self, trial, bus):
        """Creates files of all kinds for command lines."""
        folder = trial.folder
        (folder / "empty").mkdir()
        (folder / "full").mkdir(mode=0o755)
        os.chmod(folder / "full", 0o755)
        (folder / "full" / "kept").write_text("kept\n")
        (folder / "text").write_text("not DBN\n" * 100)
        os.mkfifo(folder / "fifo")
        os.symlink(self.world.sentinels.file, folder / "link")
        os.symlink("loop", folder / "loop")
        (folder / "hole").touch()
        os.truncate(folder / "hole", 1 << 40)
        listener = folder / "dead.sock"
        listener.touch()
        mutations.replace_by_socket(str(listener), None, None)
        sentinels = self.world.sentinels
        self.paths = [str(path) for path in (
            bus.directory, bus.directory, bus.directory, bus.journal, folder / "empty",
            folder / "full", folder / "text", folder / "fifo", folder / "link", folder / "loop",
            folder / "hole", folder / "dead.sock", folder / "new" / "deep", folder / "new",
            sentinels.directory, sentinels.home, self.world.scratch,
            "/", "/dev/null", "/dev/full", "/dev/zero", "/dev/shm", "/proc", "/proc/self/fd/1",
            "/proc/self/mem", "/sys", "relative", "", "." * 300, "x" * 5000)]
        self.foreign = [str(path) for path in (
            sentinels.directory, sentinels.home, sentinels.folder, self.world.scratch, "/",
            self.world.scratch / "bases", "/dev/shm")]
        # Files that may be overwritten when they are named as an output.
        self.outputs = [str(path) for path in (
            folder / "out.dbn", folder / "out.dbn.zst", folder / "new" / "out.dbn",
            folder / "empty", folder / "fifo", folder / "loop", folder / "dead.sock",
            folder / "full", "/dev/full", "/dev/null", "/", "", "x" * 300, "/proc/self/mem",
            "/dev/shm/out.dbn", "out.dbn\n", "\x1b[31m.dbn", "out.zst")]

    def _value(self, rng, option):
        if option == "--bus" and rng.random() < 0.9:
            return rng.choice(self.paths)
        if option in ("--journal", "--ring-dir"):  # only paths that may be overwritten
            paths = [path for path in self.paths if "sentinels" not in path]
            return rng.choice(paths + ["none", "none"])
        if option == "--out":
            return rng.choice(self.outputs)
        if option == "--source" and rng.random() < 0.8:
            return rng.choice(SOURCES + tuple("dbn:" + path for path in self.paths)
                              + tuple("journal:" + path for path in self.paths))
        if option in ("--listen", "--connect", "--channel"):
            return rng.choice(self.paths + ["/dev/shm/x.sock", "x.sock", "s" * 107, "s" * 108])
        return rng.choice(TEXTS)

    def _line(self, trial, bus):
        rng = trial.rng
        if rng.random() < 0.03:
            return [rng.choice(TEXTS + ("publish ", "PUBLISH", "--version", "-h"))
                    for _ in range(rng.randint(0, 3))]
        if rng.random() < 0.1:  # a directory that does not belong to Lapwing
            return ["publish", "--bus", rng.choice(self.foreign), "--source", "kv16:records=5",
                    *rng.choice(((), ("--group", "61100"), ("--journal", "none")))]
        command = rng.choice(sorted(self.options))
        options = self.options[command]
        names = [name for name, _ in options]
        arguments = [command]
        sane = rng.random() < 0.8  # required arguments are present, and mostly valid
        if sane and "--bus" in names:
            arguments += ["--bus", str(bus.directory) if rng.random() < 0.6
                          else self._value(rng, "--bus")]
        if sane and "--source" in names:
            feed = "kv16:records=50" if bus.schema == "kv16" else "synthetic:records=50"
            arguments += ["--source", feed if rng.random() < 0.7 else self._value(rng, "--source")]
        if sane and "--out" in names:
            arguments += ["--out", self._value(rng, "--out")]
        if sane and command == "cursors":
            arguments.append(rng.choice(self.paths))
        if sane and "--fold" in names and command == "checkpoint":
            arguments += ["--fold", bus.fold]
        for _ in range(rng.choice((0, 1, 1, 2, 2, 3, 5))):
            option, takes_value = rng.choice(options)
            if sane and option in arguments and rng.random() < 0.8:
                continue
            arguments.append(option)
            if takes_value != (rng.random() < 0.04):
                value = self._value(rng, option)
                if rng.random() < 0.1:
                    arguments[-1] += "=" + value
                else:
                    arguments.append(value)
        if rng.random() < 0.05:
            arguments.append(rng.choice(TEXTS))
        return arguments
