"""Damaged bus directories: every kind of file and directory in every base × every mutation."""

import dataclasses
import pathlib

import bases
import mutations
import sentinels
import use_bus

NAME = "damaged"
WEIGHT = 3
TRIALS_MIN = 5
OF_CONTENT = (mutations.flip_bit, mutations.overwrite, mutations.swap_with_another,
              mutations.replace_by_anothers)


@dataclasses.dataclass
class Place:
    """Other data that a mutation may need."""
    folder: pathlib.Path
    kept: pathlib.Path
    sentinels: object
    same_kind: list
    stranger_uid: int = sentinels.STRANGER_UID

    def of_other_bases(self, path):
        return [found for folder in self.kept.iterdir()
                for found in folder.rglob(pathlib.Path(path).name)]


class Family:
    def __init__(self, world):
        self.world = world

    def trial(self, trial):
        name, index = self._combination(trial)
        bus = self.world.bases.place(name, trial)
        kind, mutation = self._harm(trial, bus, index)
        # A ring's slots have no sums, and neither do the journal's after `durable`.
        bare = bus.name == "killed" and kind in ("ring", "jnl") and mutation in OF_CONTENT
        use = use_bus.Use(trial, bus, self.world.bases, trusted=not bare)
        use.check_recording = not kind.startswith("recording")
        # For another feed, the program itself recommends moving the old journal away.
        use.may_begin_anew |= not bus.journal.exists()
        use.all()

    @staticmethod
    def _combination(trial):
        """A base and a mutation. Every pair occurs before one is repeated."""
        deck = [(name, index) for index in range(len(mutations.OF_FILES))
                for name in bases.Bases.NAMES]
        return deck[(trial.number * 7919 + trial.seed) % len(deck)]

    def _harm(self, trial, bus, index):
        """Damages one path. Returns its kind and the mutation."""
        rng = trial.rng
        kinds = bus.files()
        if rng.random() < 0.15:
            found = [path for path in bus.directory.rglob("*") if path.is_dir()]
            path, kind, same = rng.choice(found), "directory", []
            mutation = rng.choice(mutations.OF_DIRECTORIES)
        else:
            kind = rng.choice(sorted(kinds))
            same = kinds[kind]
            path = rng.choice(same)
            mutation = mutations.OF_FILES[index]
            if path.is_socket() and mutation not in mutations.OF_DIRECTORIES:
                mutation = mutations.delete
        place = Place(bus.folder, self.world.bases.kept, self.world.sentinels, same)
        done = mutation(str(path), rng, place)
        if done is None:
            mutation, done = mutations.delete, mutations.delete(str(path), rng, place)
        trial.note(f"base {bus.name}, {kind} {path.name}: {done}")
        return kind, mutation
