"""A control group of either version that limits memory, mounted in the harness's folder."""

import os

import confinement


class MemoryGroup:
    """A separate group for each limit. Raises OSError or Unconfinable if groups are not
    available."""

    def __init__(self, folder, name, limit_bytes):
        self.mounted = folder / "control-groups"
        self.mounted.mkdir(exist_ok=True)
        try:
            confinement.mount("cgroup", str(self.mounted), "cgroup", options="memory")
            self.limit_file = "memory.limit_in_bytes"
        except confinement.Unconfinable:
            confinement.mount("cgroup2", str(self.mounted), "cgroup2")
            self.limit_file = "memory.max"
            if "memory" not in (self.mounted / "cgroup.controllers").read_text().split():
                confinement.unmount(str(self.mounted), lazy=True)
                raise OSError(
                    "control groups of version 2 have no memory controller here") from None
            with open(self.mounted / "cgroup.subtree_control", "w", encoding="ascii") as control:
                control.write("+memory")
        self.path = self.mounted / f"lapwing-hostile-{name}"
        try:
            self.path.mkdir()
            (self.path / self.limit_file).write_text(str(limit_bytes))
        except OSError:
            self.remove()
            raise

    def join(self):
        """For a child before its exec."""
        with open(self.path / "cgroup.procs", "w", encoding="ascii") as processes:
            processes.write(str(os.getpid()))

    def kills(self):
        """The number of processes that the kernel has killed for lack of memory."""
        for name in ("memory.oom_control", "memory.events"):
            if (self.path / name).exists():
                for line in (self.path / name).read_text().splitlines():
                    if line.startswith("oom_kill "):
                        return int(line.split()[1])
        return 0

    def remove(self):
        try:
            self.path.rmdir()
        except OSError:
            pass
        confinement.unmount(str(self.mounted), lazy=True)
