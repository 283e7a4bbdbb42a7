"""Other users and clocks attack the monitors of a good user: `top`, `serve`, `buses`, `health`.

In each trial a good user, who may be root, watches their own bus during the attack. A reading
without the bus, or a late reading, is a finding. The family prints the longest time between two
readings.
"""

import contextlib
import os
import shutil

import forged_buses
import good_user
import lock_holder
import monitors_clocks
import monitors_http
import monitors_names
import monitors_rings
import monitors_roster
import monitors_sockets
import web_client
from attacker import Attacker
from bases import GROUP

NAME = "monitors"
WEIGHT = 4
TRIALS_MIN = 8
GOOD = 61_201
ATTACKERS = range(61_210, 61_250)
WATCHED_SECONDS, WATCHED_SECONDS_MAX = 2.5, 8

CASES = {
    "spoofers": monitors_names.spoofers, "squatters": monitors_names.squatters,
    "silent sockets": monitors_sockets.silent_sockets, "cut rings": monitors_rings.cut_rings,
    "half-open HTTP": monitors_http.half_open, "clocks": monitors_clocks.clocks,
    "rosters": monitors_roster.rosters, "reports": monitors_sockets.reports}


class Scene:
    """The environment of a case."""

    def __init__(self, trial, template, bases, held):
        self.trial, self.rng, self.template, self.bases = trial, trial.rng, template, bases
        self._held = held
        self.is_root = self.rng.random() < 0.3
        become = None if self.is_root else self.user(GOOD)
        self.good = good_user.GoodUser(trial, 0 if self.is_root else GOOD, become)
        # Watches longer in a long run.
        self.seconds = min(WATCHED_SECONDS_MAX, max(WATCHED_SECONDS, trial.seconds_left() / 60))
        trial.note(f"the good user is {'root' if self.is_root else GOOD}")

    @staticmethod
    def user(uid):
        """For a child before its exec. The user belongs to the group."""
        return lambda: lock_holder.become(uid, uid, [GROUP])

    def attackers(self, count):
        return self.rng.sample(ATTACKERS, count)

    def home(self, uid):
        """A directory of that user."""
        path = self.trial.folder / str(uid)
        if not path.exists():
            path.mkdir(mode=0o755)
            os.chown(path, uid, uid)
        return path

    def forge(self, uid, name="bus", **changes):
        """A bus of that user in its own directory."""
        home = self.home(uid)
        number = len(list(home.iterdir()))
        return forged_buses.ForgedBus(self.template, uid, home / f"{number:04}" / "bus", self.rng,
                                      name=name, **changes)

    def attack(self, uid, prepare):
        """A process of that user that runs until the trial ends (attacker.py)."""
        return self._held.enter_context(Attacker(self.trial, uid, prepare, [GROUP]))

    def shuffled(self, *steps):
        """Runs these steps in random order."""
        steps = list(steps)
        self.rng.shuffle(steps)
        for step in steps:
            step()


class Family:
    def __init__(self, world):
        self.world = world
        self._longest = {}
        web_client.raise_loopback()
        trial = world.new_trial("monitors-template", 0, None)
        self._template = forged_buses.Template(trial)

    def trial(self, trial):
        names = list(CASES)
        name = names[trial.number % len(names)]
        trial.note(f"case: {name}")
        try:
            with contextlib.ExitStack() as held:
                scene = Scene(trial, self._template, self.world.bases, held)
                counts = CASES[name](scene)
                self._note(name, scene.good.end())
                return counts
        finally:
            trial.end()
            self._clear()

    def _note(self, name, longest):
        known = self._longest.setdefault(name, {})
        for who, seconds in longest.items():
            known[who] = max(known.get(who, 0.0), seconds)

    def figures(self):
        """The lines printed at the end of the run."""
        for name, longest in self._longest.items():
            shown = ", ".join(f"{who} {seconds:.2f} s" for who, seconds in sorted(longest.items()))
            yield f"{name}: longest time between two readings: {shown}"

    @staticmethod
    def _clear():
        """Removes the files of this family's users from shared memory."""
        for path in forged_buses.SHARED.iterdir():
            if path.lstat().st_uid in (GOOD, *ATTACKERS):
                if path.is_dir() and not path.is_symlink():
                    shutil.rmtree(path)
                else:
                    path.unlink()
