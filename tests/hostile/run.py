#!/usr/bin/env python3
"""Attacks the program named by LAPWING_BIN for a while, and reports failures.

    run.py [--seconds S] [--seed N] [--only FAMILY] [--trial N]

    --seconds S    total duration (60); every family makes its minimum number of trials anyway
    --seed N       repeats the run that printed this seed
    --only FAMILY  only one family
    --trial N      only one trial of the given family

Writes only below its own folder in the temporary directory, which is kept if something was found.
Exit: 0 nothing found, 1 something found or too few trials, 2 wrong usage, 77 confinement is not
possible here.
"""

import argparse
import os
import pathlib
import random
import shutil
import signal
import sys
import tempfile
import time
import traceback
import unittest

import bases
import confinement
import family_command_lines
import family_crafted
import family_damaged
import family_full_starts
import family_lengths
import family_limits
import family_many_sessions
import family_metadata
import family_monitors
import family_moved
import family_other_users
import family_refused_calls
import family_resumed
import family_stalls
import sentinels
import trial as trials

FAMILIES = (family_damaged, family_crafted, family_command_lines, family_limits,
            family_refused_calls, family_moved, family_stalls, family_metadata, family_resumed,
            family_lengths, family_other_users, family_full_starts, family_many_sessions,
            family_monitors)
SHOWN_FINDINGS_MAX = 40
KEPT_FOLDERS_MAX = 100
HERE = pathlib.Path(__file__).resolve().parent


class World:
    """Shared by a run's trials: the program, the folder, the bases and the sentinels."""

    def __init__(self, program, scratch, seed):
        self.scratch, self.seed, self.work = scratch, seed, scratch / "work"
        self.program = scratch / "bin" / "lapwing"
        self.program.parent.mkdir()
        shutil.copy2(program, self.program)  # so that a rebuild in the meantime has no effect
        self._trials = 0
        (scratch / "findings").mkdir()
        bases.clear(self.work)
        self.bases = bases.Bases(scratch, lambda: self.new_trial("bases", 0, None))
        self.sentinels = sentinels.Sentinels(scratch / "sentinels", self._make_sentinel_buses)

    def _make_sentinel_buses(self, folder):
        trial = self.new_trial("sentinels", 0, None)
        for name in ("sentinel-closed", "sentinel-killed"):
            bus = bases.Bus(folder, name, "kv16", bases.expected_records.Expected())
            bus.directory = folder / name
            if name == "sentinel-closed":
                self.bases.publish(trial, bus, 500, count=200)
            else:
                self.bases.publish_and_kill(trial, bus, 501, count=200)
        return sorted(pathlib.Path("/dev/shm").glob("lapwing-*/sentinel-*"))

    def new_trial(self, family, number, deadline):
        rng = random.Random(f"{self.seed}/{family}/{number}")
        trial = trials.Trial(self.program, self.work, rng, deadline)
        trial.number, trial.seed, trial.family = number, self.seed, family
        self._trials += 1
        if deadline is None:
            trial.label = f"{family}-{self._trials}-"
        return trial


class Score:
    """The results of one family."""

    def __init__(self, module):
        self.name, self.trials_min = module.NAME, module.TRIALS_MIN
        self.trials = self.commands = self.findings = 0
        self.skipped = None
        self.figures = ()  # lines printed at the end of the run

    def outcome(self):
        if self.skipped:
            return "skipped"
        if self.findings:
            return "FAILED"
        return "ok" if self.trials >= self.trials_min else "VOID"


class Run:
    def __init__(self, options, world):
        self.options, self.world = options, world
        self.shown = 0

    def families(self):
        chosen = [family for family in FAMILIES if self.options.only in (None, family.NAME)]
        weights = sum(family.WEIGHT for family in chosen)
        for module in chosen:
            yield self._family(module, self.options.seconds * module.WEIGHT / weights)

    def _family(self, module, seconds):
        score = Score(module)
        begun = time.monotonic()
        if self.options.trial is not None:
            score.trials_min = 1
        family = module.Family(self.world)
        score.skipped = getattr(family, "skipped", None)
        if score.skipped:
            print(f"SKIPPED: {module.NAME}: {score.skipped}", flush=True)
            return score
        number = 0 if self.options.trial is None else self.options.trial
        while True:
            self._trial(family, module.NAME, number, score, begun + seconds)
            number += 1
            enough = score.trials >= module.TRIALS_MIN or number > 10 * module.TRIALS_MIN
            if self.options.trial is not None or enough and time.monotonic() > begun + seconds:
                score.figures = list(getattr(family, "figures", tuple)())
                return score

    def _trial(self, family, name, number, score, deadline):
        bases.clear(self.world.work)
        trial = self.world.new_trial(name, number, deadline)
        try:
            counts = family.trial(trial) is not False  # False: void, for example a lost race
        except Exception:  # a fault of the harness is also a finding, and must not hide others
            counts = True
            trial.found("the trial itself failed:\n" + traceback.format_exc())
        finally:
            trial.end()
        self.world.sentinels.check(trial)
        score.trials += counts
        score.commands += len(trial.live)
        score.findings += len(trial.findings)
        if trial.findings:
            self._report(trial)

    def _report(self, trial):
        kept = self.world.scratch / "findings" / f"{trial.family.replace(' ', '-')}-{trial.number}"
        self.shown += 1
        if self.shown <= KEPT_FOLDERS_MAX:
            os.rename(self.world.work, kept)
            (kept / "what-was-done").write_text(trials.printable("\n".join(trial.said) + "\n"))
        if self.shown > SHOWN_FINDINGS_MAX:
            return
        print(f"FOUND in {trial.family}, trial {trial.number}:")
        for note in trial.said:
            if note.startswith("# ") and not note.startswith("# FOUND"):
                print("  " + trials.printable(note[2:]))
        for finding in trial.findings:
            print("  - " + trials.printable(finding))
        print(f"  repeat: run.py --seed {self.world.seed} --only '{trial.family}' "
              f"--trial {trial.number}; kept: {kept}", flush=True)


def elsewhere(program):
    """Directories outside, where writes must fail."""
    return sorted({"/", "/etc", "/usr", "/var/tmp", "/sys", "/dev", os.path.expanduser("~"),
                   str(HERE), os.path.dirname(os.path.abspath(program)), tempfile.gettempdir()})


def outside(program):
    """Facts that must not change and are cheap to check: modes, owners, the program."""
    found = {}
    for path in elsewhere(program):
        status = os.lstat(path)
        found[path] = f"{status.st_mode:o} {status.st_uid}:{status.st_gid}"
    return found | sentinels.fingerprint([program])


def attack(options, program, scratch):
    """The complete confined run. Returns the exit status."""
    confinement.check_confinement(elsewhere(program))
    signal.signal(signal.SIGPIPE, signal.SIG_IGN)
    os.umask(0o022)
    world = World(program, scratch, options.seed)
    world.bases.make_all()
    run = Run(options, world)
    scores = list(run.families())
    print(f"\n{'family':<22} {'trials':>7} {'commands':>9} {'findings':>9}")
    for score in scores:
        print(f"{score.name:<22} {score.trials:>7} {score.commands:>9} {score.findings:>9}  "
              f"{score.outcome()}")
        for line in score.figures:
            print(f"    {line}")
    outcomes = [score.outcome() for score in scores]
    skipped = outcomes.count("skipped")
    passed = outcomes.count("ok")
    print(f"seed {options.seed}: {passed} passed, {len(scores) - passed - skipped} failed, "
          f"{skipped} skipped", flush=True)
    return 0 if passed + skipped == len(scores) else 1


def own_tests():
    """Runs the harness's own tests. Returns True if none failed."""
    suite = unittest.defaultTestLoader.discover(str(HERE), "*_test.py")
    return unittest.TextTestRunner(verbosity=1).run(suite).wasSuccessful()


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1 << 32))
    parser.add_argument("--only", choices=[family.NAME for family in FAMILIES])
    parser.add_argument("--trial", type=int)
    options = parser.parse_args()
    if options.trial is not None and not options.only:
        parser.error("--trial needs --only FAMILY")
    program = os.path.abspath(os.environ.get("LAPWING_BIN", "build/release/lapwing"))
    if not os.access(program, os.X_OK):
        parser.error(f"LAPWING_BIN={program} is not a program: build it, then set LAPWING_BIN")
    print(f"seed {options.seed}", flush=True)
    # These signals must end the commands, which would ignore them under nohup or in the background.
    for number in (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT):
        if signal.getsignal(number) == signal.SIG_IGN:
            signal.signal(number, signal.SIG_DFL)
    if options.only is None and not own_tests():
        return 1
    scratch = pathlib.Path(tempfile.mkdtemp(prefix="lapwing-hostile-"))
    os.chmod(scratch, 0o755)
    before = outside(program)
    status = 1
    try:
        status = confinement.run_confined(
            str(scratch), lambda: attack(options, program, scratch))
    except confinement.Unconfinable as reason:
        print(f"SKIPPED: hostile operator: {reason}")
        status = 77
    finally:
        if status in (0, 77) or not any((scratch / "findings").glob("*")):
            shutil.rmtree(scratch, ignore_errors=True)
    for line in sentinels.differences(before, outside(program)):
        print(f"FOUND: outside of the harness's folder changed {line}")
        status = 1
    return status


if __name__ == "__main__":
    sys.exit(main())
