"""Measures the processor time of other processes during a measurement, and names them.

Two readings are sufficient, one before and one after; no measuring code runs in between.
/proc/stat contains the total time of the machine, and the times of our children are known. The rest
was used by others: by visible processes, which are named, or by invisible ones (another container,
the kernel itself).
"""

import ctypes
import os
import pathlib
import resource

PR_SET_CHILD_SUBREAPER = 36
BUSY_FIELDS = (0, 1, 2, 5, 6)  # user, nice, system, irq, softirq
STEAL_FIELD = 7

# Shares of one core. An otherwise idle machine stays well below the first. The kernel's own threads
# work on behalf of disk writers, so unnamed work has a higher limit.
NAMED_SHARE_MAX = 0.05
NAMELESS_SHARE_MAX = 0.35
STEAL_SHARE_MAX = 0.05
REJECTED_SHARE_MAX = 1 / 3
ROW_FACTOR = 5  # factor for a single row


def adopt_orphans():
    """Makes this process inherit orphans of its children, so that their time is included."""
    ctypes.CDLL(None, use_errno=True).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def reap_orphans():
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        pass


def machine_seconds(root="/", hertz=None):
    """Seconds since boot for which the processors have worked, and which the host has stolen."""
    with open(pathlib.Path(root) / "proc/stat", encoding="ascii") as stat:
        fields = [int(field) for field in stat.readline().split()[1:]]
    hertz = hertz or os.sysconf("SC_CLK_TCK")
    steal = fields[STEAL_FIELD] if len(fields) > STEAL_FIELD else 0
    return sum(fields[i] for i in BUSY_FIELDS) / hertz, steal / hertz


def process_seconds(root="/", hertz=None):
    """{(pid, start time): (name, seconds, parent)} of every process with its own memory."""
    hertz = hertz or os.sysconf("SC_CLK_TCK")
    found = {}
    for folder in (pathlib.Path(root) / "proc").iterdir():
        if not folder.name.isdigit():
            continue
        try:
            text = (folder / "stat").read_text(encoding="utf-8", errors="replace")
        except OSError:
            continue  # it has ended
        name = text[text.index("(") + 1:text.rindex(")")]
        fields = text[text.rindex(")") + 2:].split()
        if int(fields[20]) == 0:
            continue  # a kernel thread: no memory
        seconds = (int(fields[11]) + int(fields[12])) / hertz
        found[int(folder.name), int(fields[19])] = (name, seconds, int(fields[1]))
    return found


def own_seconds():
    """Seconds used by this process and by all children that it has waited for."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(usage.ru_utime + usage.ru_stime for usage in used)


class Reading:
    """The load counters of the machine at one moment."""

    def __init__(self, elapsed, machine, own, processes, me):
        self.elapsed = elapsed
        self.busy, self.steal = machine
        self.own = own
        self.processes = processes
        self.me = me

    @classmethod
    def now(cls, clock):
        reap_orphans()
        return cls(clock(), machine_seconds(), own_seconds(), process_seconds(), os.getpid())


def is_ours(pid, parents, me):
    while pid > 1:
        if pid == me:
            return True
        pid = parents.get(pid, 0)
    return False


def between(before, after):
    """Shares of a core used by others between two readings: named, nameless, steal; with names."""
    elapsed = max(after.elapsed - before.elapsed, 1e-9)
    parents = {pid: parent for (pid, _), (_, _, parent) in after.processes.items()}
    by_name = {}
    for key, (name, seconds, _) in after.processes.items():
        if is_ours(key[0], parents, after.me):
            continue
        took = seconds - before.processes.get(key, (name, 0.0, 0))[1]
        by_name[name] = by_name.get(name, 0.0) + took
    named = sum(by_name.values())
    ours = after.own - before.own
    nameless = max(after.busy - before.busy - ours - named, 0.0)
    worst = sorted(by_name.items(), key=lambda item: -item[1])[:3]
    return {
        "seconds": elapsed,
        "named": named / elapsed,
        "nameless": nameless / elapsed,
        "steal": (after.steal - before.steal) / elapsed,
        "who": {name: took / elapsed for name, took in worst if took / elapsed > 0.005},
    }


def distrust(loads, rejected, trials):
    """The reasons why figures with these loads and rejected trials are unreliable."""
    reasons = []
    seconds = sum(load["seconds"] for load in loads) or 1.0
    for kind, most, what in (
            ("named", NAMED_SHARE_MAX, "other processes"),
            ("nameless", NAMELESS_SHARE_MAX,
             "invisible work (of another container or the kernel)"),
            ("steal", STEAL_SHARE_MAX, "the host, for its other guests,")):
        mean = sum(load[kind] * load["seconds"] for load in loads) / seconds
        worst = max((load[kind] for load in loads), default=0.0)
        if mean > most or worst > ROW_FACTOR * most:
            reasons.append(f"{what} took {mean:.0%} of a core during the measurements, {worst:.0%} "
                           f"in the worst row{culprits(loads) if kind == 'named' else ''}")
    if rejected > REJECTED_SHARE_MAX * (rejected + trials):
        reasons.append(f"{rejected} of {rejected + trials} trials were discarded because the floors "
                       "around them differed: the speed of the machine changes")
    return reasons


def culprits(loads):
    shares = {}
    for load in loads:
        for name, share in load["who"].items():
            shares[name] = max(shares.get(name, 0.0), share)
    worst = sorted(shares.items(), key=lambda item: -item[1])[:3]
    return ": " + ", ".join(f"{name} up to {share:.0%}" for name, share in worst) if worst else ""
