"""Describes the machine, and the properties that make figures unreliable.

Everything is read below a root folder, so that tests can simulate a machine.
"""

import os
import pathlib
import platform

# `tsc` and `kvm-clock` are the processor's time-stamp counter, which the benchmark also reads:
# directly, and with a scale from the host. If the kernel has selected another clock, it has found
# that the cores' counters disagree or change their rate. Then times from different cores are not
# comparable. ARM's `arch_sys_counter` is one counter for all cores.
TRUSTED_CLOCKS = ("tsc", "kvm-clock", "arch_sys_counter")

CPU = "sys/devices/system/cpu"
CLOCK = "sys/devices/system/clocksource/clocksource0/current_clocksource"
HUGE_PAGES = "sys/kernel/mm/transparent_hugepage"


def text_of(root, path):
    """The text of a file below root, stripped; None if it cannot be read."""
    try:
        return (pathlib.Path(root) / path).read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return None


def cores_in(text):
    """The cores in a list such as 0-3,8."""
    cores = []
    for part in (text or "").split(","):
        first, _, last = part.strip().partition("-")
        if first:
            cores += range(int(first), int(last or first) + 1)
    return cores


def in_brackets(text):
    """The selected value in `always [madvise] never`."""
    return text.split("[")[1].split("]")[0] if text and "[" in text else text


def cpu_info(root):
    fields = {}
    for line in (text_of(root, "proc/cpuinfo") or "").splitlines():
        name, _, value = line.partition(":")
        fields.setdefault(name.strip(), value.strip())
    return fields


def model_of(cpu):
    """Family, model and stepping, which identify the design if the name does not."""
    parts = (("family", "cpu family"), ("model", "model"), ("stepping", "stepping"))
    return ", ".join(f"{name} {cpu[field]}" for name, field in parts if field in cpu) or None


def memory_of(root, field):
    for line in (text_of(root, "proc/meminfo") or "").splitlines():
        name, _, value = line.partition(":")
        if name == field:
            return value.strip()
    return None


def record(root="/", allowed=None):
    """The environment as a dictionary, stored with the figures."""
    cpu = cpu_info(root)
    online = cores_in(text_of(root, f"{CPU}/online"))
    usable = sorted(set(online) & set(os.sched_getaffinity(0) if allowed is None else allowed))
    flags = cpu.get("flags", "").split()
    governors = {text_of(root, f"{CPU}/cpu{core}/cpufreq/scaling_governor") for core in usable[:2]}
    return {
        "host": text_of(root, "proc/sys/kernel/hostname") or platform.node(),
        "kernel": text_of(root, "proc/sys/kernel/osrelease"),
        "system": system_name(root),
        "processor": cpu.get("model name") or cpu.get("Processor") or platform.machine(),
        "processor_model": model_of(cpu),
        "virtual": "hypervisor" in flags,
        "cores_online": len(online),
        "cores_usable": usable,
        "siblings": [text_of(root, f"{CPU}/cpu{core}/topology/thread_siblings_list")
                     for core in usable[:2]],
        "clock_source": text_of(root, CLOCK),
        "steady_counter": "constant_tsc" in flags and "nonstop_tsc" in flags,
        "governor": ", ".join(sorted(name for name in governors if name)) or None,
        "huge_pages": in_brackets(text_of(root, f"{HUGE_PAGES}/enabled")),
        "huge_pages_tmpfs": in_brackets(text_of(root, f"{HUGE_PAGES}/shmem_enabled")),
        "huge_pages_reserved": text_of(root, "proc/sys/vm/nr_hugepages"),
        "isolated": text_of(root, f"{CPU}/isolated") or None,
        "tickless": text_of(root, f"{CPU}/nohz_full") or None,
        "mitigations": "mitigations=off" not in (text_of(root, "proc/cmdline") or ""),
        "memory": memory_of(root, "MemTotal"),
        "load_average": text_of(root, "proc/loadavg"),
    }


def system_name(root):
    for line in (text_of(root, "etc/os-release") or "").splitlines():
        if line.startswith("PRETTY_NAME="):
            return line.split("=", 1)[1].strip('"')
    return None


def distrust(environment):
    """The reasons why figures from such a machine are unreliable; empty if there are none."""
    reasons = []
    usable = environment["cores_usable"]
    if len(usable) < 2:
        reasons.append(
            f"this run has {len(usable) or 'no'} core: two processes take turns on it, so figures "
            "between them measure the scheduler. Use at least two cores")
    clock = environment["clock_source"]
    if clock not in TRUSTED_CLOCKS:
        reasons.append(
            f"the kernel's clock source is {clock or 'unknown'}, not "
            f"{' or '.join(TRUSTED_CLOCKS)}: it does not trust the processor's "
            "counter, which measures all times here. The kernel's log contains the reason")
    return reasons


def remarks(environment):
    """Facts that readers should know, but that do not make the figures unreliable."""
    notes = []
    if environment["virtual"]:
        notes.append("The cores are virtual: their share of the host changes from minute to minute, and "
                     "two of them can be near each other or far apart.")
    if environment["governor"] not in (None, "performance"):
        notes.append(f"The frequency governor is {environment['governor']}. With performance, "
                     "figures vary less.")
    if environment["governor"] is None:
        notes.append("The kernel shows no frequency governor, so the frequency is unknown.")
    if not environment["isolated"]:
        notes.append("No core is isolated: the kernel may run other processes on the measured ones.")
    siblings = [cores_in(text) for text in environment["siblings"] if text]
    if len(siblings) == 2 and siblings[0] == siblings[1]:
        notes.append("The two measured cores are threads of one physical core.")
    return notes
