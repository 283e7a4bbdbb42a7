#!/usr/bin/env python3
"""Tests that unreliable machines are detected, with simulated machines in files."""

import pathlib
import shutil
import tempfile
import unittest

import document
import environment
import load
import run

GOOD = {
    "proc/cpuinfo": "processor\t: 0\nmodel name\t: Some Processor\ncpu family\t: 25\n"
                    "model\t\t: 17\nstepping\t: 1\n"
                    "flags\t\t: fpu constant_tsc nonstop_tsc\n",
    "proc/meminfo": "MemTotal:       16000000 kB\n",
    "proc/cmdline": "ro quiet\n",
    "proc/loadavg": "0.00 0.00 0.00 1/100 1\n",
    "proc/sys/kernel/hostname": "somewhere\n",
    "proc/sys/kernel/osrelease": "6.12.0\n",
    "proc/sys/vm/nr_hugepages": "0\n",
    "etc/os-release": 'PRETTY_NAME="Some System 1"\n',
    "sys/devices/system/cpu/online": "0-3\n",
    "sys/devices/system/cpu/isolated": "2-3\n",
    "sys/devices/system/cpu/cpu2/cpufreq/scaling_governor": "performance\n",
    "sys/devices/system/cpu/cpu3/cpufreq/scaling_governor": "performance\n",
    "sys/devices/system/cpu/cpu2/topology/thread_siblings_list": "2\n",
    "sys/devices/system/cpu/cpu3/topology/thread_siblings_list": "3\n",
    "sys/devices/system/clocksource/clocksource0/current_clocksource": "tsc\n",
    "sys/kernel/mm/transparent_hugepage/enabled": "always [madvise] never\n",
}
CLOCK = "sys/devices/system/clocksource/clocksource0/current_clocksource"


class MachineTest(unittest.TestCase):
    def setUp(self):
        self.root = pathlib.Path(tempfile.mkdtemp(prefix="lapwing-machine-"))
        self.addCleanup(shutil.rmtree, self.root)
        self.change(GOOD)

    def change(self, files):
        for name, text in files.items():
            path = self.root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            if text is None:
                path.unlink()
            else:
                path.write_text(text, encoding="utf-8")

    def record(self, allowed=(2, 3)):
        return environment.record(self.root, allowed)

    def test_a_good_machine_is_trusted_and_recorded(self):
        record = self.record()
        self.assertEqual(environment.distrust(record), [])
        self.assertEqual(environment.remarks(record), [])
        self.assertEqual(record["host"], "somewhere")
        self.assertEqual(record["kernel"], "6.12.0")
        self.assertEqual(record["processor_model"], "family 25, model 17, stepping 1")
        self.assertEqual(record["governor"], "performance")
        self.assertEqual(record["huge_pages"], "madvise")
        self.assertEqual(record["isolated"], "2-3")
        self.assertEqual(record["cores_usable"], [2, 3])

    def test_only_clocks_that_use_the_processors_counter_are_trusted(self):
        for clock in ("tsc", "kvm-clock"):
            self.change({CLOCK: clock + "\n"})
            self.assertEqual(environment.distrust(self.record()), [], clock)
        for clock in ("hpet", "acpi_pm", "refined-jiffies", "xen"):
            self.change({CLOCK: clock + "\n"})
            reasons = environment.distrust(self.record())
            self.assertEqual(len(reasons), 1, clock)
            self.assertIn(clock, reasons[0])

    def test_a_clock_that_cannot_be_read_is_not_trusted(self):
        self.change({CLOCK: None})
        self.assertIn("unknown", environment.distrust(self.record())[0])

    def test_a_machine_with_one_core_is_not_trusted(self):
        self.change({"sys/devices/system/cpu/online": "0\n"})
        self.assertIn("1 core", environment.distrust(self.record(allowed=(0, 1)))[0])

    def test_a_run_confined_to_one_core_is_not_trusted(self):
        self.assertIn("1 core", environment.distrust(self.record(allowed=(2,)))[0])

    def test_weaknesses_of_the_machine_are_remarked(self):
        self.change({
            "proc/cpuinfo": "flags\t: hypervisor\n",
            "sys/devices/system/cpu/isolated": "\n",
            "sys/devices/system/cpu/cpu2/cpufreq/scaling_governor": "powersave\n",
            "sys/devices/system/cpu/cpu2/topology/thread_siblings_list": "2-3\n",
            "sys/devices/system/cpu/cpu3/topology/thread_siblings_list": "2-3\n",
        })
        remarks = " ".join(environment.remarks(self.record()))
        for word in ("virtual", "powersave", "isolated", "threads of one physical core"):
            self.assertIn(word, remarks)

    def test_the_warning_is_at_the_top_of_the_report_and_at_the_end_of_the_output(self):
        self.change({CLOCK: "hpet\n"})
        machine = self.record()
        machine.update(date="today", minutes=1, commit="none")
        reasons = run.distrust_of(machine, [])
        text = document.report(machine, [], [], {}, reasons, [], "bench/run.sh")
        self.assertIn("NOT TO BE TRUSTED", "\n".join(text.splitlines()[:3]))
        self.assertIn("hpet", document.loud(reasons))
        self.assertIn("NOT TO BE TRUSTED", document.loud(reasons))

    def test_without_a_reason_there_is_no_warning(self):
        machine = self.record()
        machine.update(date="today", minutes=1, commit="none")
        text = document.report(machine, [], [], {}, run.distrust_of(machine, []), [], "x")
        self.assertNotIn("TRUSTED", text)
        self.assertEqual(document.loud([]), "")


# The first line of /proc/stat: user nice system idle iowait irq softirq steal, in hundredths.
def stat(busy, steal=0):
    return f"cpu  {busy} 0 0 1000 0 0 0 {steal} 0 0\ncpu0 0 0 0 0 0 0 0 0 0 0\n"


def process(pid, name, parent, ticks, start=7, memory=4096):
    fields = ["S", parent, *[0] * 9, ticks, 0, *[0] * 6, start, memory, 10]
    return f"{pid} ({name}) " + " ".join(str(field) for field in fields) + "\n"


class LoadTest(unittest.TestCase):
    """Ten seconds on a machine where process 100 measures."""

    def setUp(self):
        self.root = pathlib.Path(tempfile.mkdtemp(prefix="lapwing-load-"))
        self.addCleanup(shutil.rmtree, self.root)

    def reading(self, elapsed, own, machine, processes):
        shutil.rmtree(self.root / "proc", ignore_errors=True)
        (self.root / "proc").mkdir()
        (self.root / "proc" / "stat").write_text(machine, encoding="ascii")
        for text in processes:
            folder = self.root / "proc" / text.split()[0]
            folder.mkdir()
            (folder / "stat").write_text(text, encoding="utf-8")
        return load.Reading(elapsed, load.machine_seconds(self.root, hertz=100), own,
                         load.process_seconds(self.root, hertz=100), me=100)

    def between(self, own, machine, after):
        before = [process(100, "python3", 50, 0), process(200, "other (1) name", 1, 500)]
        return load.between(self.reading(0, 0, stat(0), before),
                            self.reading(10, own, machine, after))

    def test_our_own_work_is_not_load_by_others(self):
        ours = [process(100, "python3", 50, 100), process(101, "lapwing_bench", 100, 1900),
                process(200, "other (1) name", 1, 500)]
        taken = self.between(own=20.0, machine=stat(2000), after=ours)
        self.assertEqual((taken["named"], taken["nameless"]), (0, 0))
        self.assertEqual(load.distrust([taken], 0, 10), [])

    def test_another_process_is_named_and_spoils_the_run(self):
        taken = self.between(own=10.0, machine=stat(1900), after=[
            process(100, "python3", 50, 1000), process(300, "stress-ng-cpu", 1, 900)])
        self.assertAlmostEqual(taken["named"], 0.9)
        self.assertAlmostEqual(taken["nameless"], 0.0)
        reasons = load.distrust([taken], 0, 10)
        self.assertEqual(len(reasons), 1)
        self.assertIn("stress-ng-cpu", reasons[0])
        self.assertIn("90%", reasons[0])

    def test_only_what_a_process_did_meanwhile_counts(self):
        taken = self.between(own=10.0, machine=stat(1020), after=[
            process(100, "python3", 50, 1000), process(200, "other (1) name", 1, 520)])
        self.assertAlmostEqual(taken["named"], 0.02)
        self.assertEqual(load.distrust([taken], 0, 10), [])

    def test_a_process_with_a_reused_pid_is_a_different_process(self):
        taken = self.between(own=0.0, machine=stat(600), after=[
            process(100, "python3", 50, 0), process(200, "new", 1, 600, start=99)])
        self.assertAlmostEqual(taken["named"], 0.6)

    def test_a_kernel_thread_is_not_named(self):
        taken = self.between(own=0.0, machine=stat(100), after=[
            process(100, "python3", 50, 0), process(20, "kworker/0:1", 2, 100, memory=0)])
        self.assertEqual(taken["named"], 0)
        self.assertAlmostEqual(taken["nameless"], 0.1)

    def test_load_of_invisible_processes_spoils_the_run(self):
        taken = self.between(own=5.0, machine=stat(1500), after=[process(100, "python3", 50, 500)])
        self.assertAlmostEqual(taken["nameless"], 1.0)
        self.assertIn("invisible", load.distrust([taken], 0, 10)[0])

    def test_a_host_that_takes_the_cores_away_spoils_the_run(self):
        taken = self.between(own=5.0, machine=stat(500, steal=200), after=[
            process(100, "python3", 50, 500)])
        self.assertAlmostEqual(taken["steal"], 0.2)
        self.assertIn("the host", load.distrust([taken], 0, 10)[0])

    def test_one_short_row_under_load_spoils_a_long_run(self):
        quiet = {"seconds": 1000, "named": 0.0, "nameless": 0.0, "steal": 0.0, "who": {}}
        loaded = {"seconds": 1, "named": 0.9, "nameless": 0.0, "steal": 0.0, "who": {"x": 0.9}}
        self.assertEqual(load.distrust([quiet], 0, 10), [])
        self.assertEqual(len(load.distrust([quiet, loaded], 0, 10)), 1)

    def test_floors_that_change_spoil_the_run(self):
        self.assertEqual(load.distrust([], rejected=5, trials=10), [])
        self.assertIn("6 of 16", load.distrust([], rejected=6, trials=10)[0])

    def test_the_load_of_this_machine_can_be_read(self):
        taken = load.between(load.Reading.now(lambda: 0.0), load.Reading.now(lambda: 1.0))
        self.assertGreaterEqual(taken["named"], 0)


if __name__ == "__main__":
    unittest.main()
