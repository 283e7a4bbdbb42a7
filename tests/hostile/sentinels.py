"""Files that no command may access, and a check that none was changed.

They are next to the trial's folder: a file and directories of another user, and two buses, one
closed, and one whose publisher was killed and whose ring is in shared memory.
"""

import hashlib
import os
import pathlib
import shutil
import stat

STRANGER_UID = 61_007
SHOWN_MAX = 3
HASHED_BYTES_MAX = 4 << 20  # a file may have been extended by a hole of a terabyte


def _fingerprint_of(path):
    """The properties that must not change: kind, mode, owner, links, and content or target."""
    try:
        status = os.lstat(path)
    except OSError:
        return "absent"
    kind = stat.S_IFMT(status.st_mode)
    content = ""
    if kind == stat.S_IFREG:
        with open(path, "rb") as file:
            content = hashlib.blake2b(file.read(HASHED_BYTES_MAX), digest_size=16).hexdigest()
    elif kind == stat.S_IFLNK:
        content = os.readlink(path)
    size = status.st_size if kind == stat.S_IFREG else 0
    return (f"{stat.filemode(status.st_mode)} {status.st_uid}:{status.st_gid} {size} bytes "
            f"{content}")


def fingerprint(paths):
    """{path: properties} of these files, and of all files below these directories."""
    found = {}
    for top in paths:
        found[str(top)] = _fingerprint_of(top)
        if os.path.islink(top):
            continue
        for folder, directories, files in os.walk(top):
            for name in (*directories, *files):
                path = os.path.join(folder, name)
                found[path] = _fingerprint_of(path)
    return found


def differences(before, after):
    """One line for each changed path."""
    for path in sorted(before.keys() | after.keys()):
        was, now = before.get(path, "absent"), after.get(path, "absent")
        if was != now:
            yield f"{path}: was {was}, is {now}"


class Sentinels:
    def __init__(self, folder, make_buses):
        """make_buses(folder) creates the buses `sentinel-closed` and `sentinel-killed` in the
        folder, and returns the directories of their rings."""
        self.folder, self._make_buses = pathlib.Path(folder), make_buses
        self.file = self.folder / "file"
        self.directory = self.folder / "directory"
        self.home = self.folder / "home"  # owned by root, the program's own user here
        self.paths = []
        self._neighbours = None  # other files next to the sentinels, which belong to the harness
        self._make()

    def _make(self):
        parent = self.folder.parent
        self._neighbours = self._neighbours or set(os.listdir(parent))
        for path in [self.folder, *self.paths,
                     *(parent / name for name in set(os.listdir(parent)) - self._neighbours)]:
            shutil.rmtree(path, ignore_errors=True)
            path.unlink(missing_ok=True)
        os.chmod(parent, 0o755)
        self.folder.mkdir()
        self.file.write_bytes(b"not of Lapwing\n" * 300)
        os.chmod(self.file, 0o644)
        self.directory.mkdir(mode=0o755)
        (self.directory / "kept").write_text("kept\n")
        for path in (self.file, self.directory):
            os.chown(path, STRANGER_UID, STRANGER_UID)
        self.home.mkdir()
        os.chmod(self.home, 0o755)
        (self.home / ".profile").write_text("kept\n")
        self.paths = [self.folder, *self._make_buses(self.folder)]
        self._before = self._fingerprint()

    def _fingerprint(self):
        parent = self.folder.parent  # also contains the trials, so only its own list is compared
        names = {str(parent): " ".join(sorted(os.listdir(parent)))}
        return fingerprint(self.paths) | names | {f"{parent}/.": _fingerprint_of(parent)}

    @property
    def rings(self):
        """The ring files of the buses."""
        return [ring for folder in self.paths[1:] for ring in pathlib.Path(folder).rglob("*.ring")]

    def check(self, trial):
        """Reports changes, and restores the sentinels for the next trial."""
        changed = list(differences(self._before, self._fingerprint()))
        for line in changed[:SHOWN_MAX]:
            trial.found("a sentinel changed: " + line.replace(str(self.folder), "sentinels"))
        if len(changed) > SHOWN_MAX:
            trial.found(f"{len(changed) - SHOWN_MAX} more sentinels changed")
        if changed:
            self._make()
