#!/usr/bin/env python3
"""Counts the tests of one stage of deploy/test.sh, and prints the failures.

    tally.py junit FILE          the output of ctest --output-junit
    tally.py text FILE STATUS    the output of a script, and its exit status (77: skipped)
    tally.py failures FILE       the output of ctest: prints the last lines of each failed test
    tally.py budget TIER TESTS SECONDS
                                 check whether a tier of deploy/test.sh has become too large

The first two print `passed failed skipped` as three numbers on the first line, then one line for
each test that failed or was skipped. If the output contains the number of cases (Catch2, unittest,
cargo, or a line `N passed, M failed, K skipped`), those are counted. Otherwise the program is one
test. A line that starts with `SKIPPED:`, ignoring asterisks, is a check that could not run.
"""

import re
import sys
import xml.etree.ElementTree as xml

SKIP_STATUS = 77
# Intended size of a tier: tests, and seconds on two cores with empty caches. At three times that
# size the tier fails. Then move tests to the next tier, or make them faster.
BUDGETS = {"default": (2500, 600), "ci": (4500, 2400), "long": (4800, 12 * 3600)}
BUDGET_FACTOR = 3
FAILURE_LINES_MAX = 40

CATCH_ALL = re.compile(r"^All tests passed \(\d+ assertions? in (\d+) test cases?\)", re.M)
CATCH_SOME = re.compile(r"^test cases: +\d+((?: +\| +\d+ \w+(?: as expected)?)+)", re.M)
UNITTEST = re.compile(r"^Ran (\d+) tests? in .*\n+(OK|FAILED)(?: \((.*)\))?", re.M)
COUNTED = re.compile(r"(\d+) passed[,;] (\d+) failed[,;] (\d+) (?:skipped|ignored)")
# A check that could not run: a line of its own, or the end of a unittest line.
SKIPPED = re.compile(r"^[\s*]*SKIPPED:\s*(.*)$"
                     r"|\.\.\. skipped ['\"](?:SKIPPED: )?(.*)['\"]$", re.M)


def named_count(text, name):
    """The number in `name=3` or `3 name`; 0 if there is none."""
    found = re.search(rf"{name}=(\d+)|(\d+) {name}(?! as)", text or "")
    return int(found[1] or found[2]) if found else 0


def count_cases(text):
    """(passed, failed, skipped) from the program's output, or None if it contains no counts."""
    total = [0, 0, 0]
    said = False
    for found in CATCH_ALL.finditer(text):
        said, total[0] = True, total[0] + int(found[1])
    for found in CATCH_SOME.finditer(text):
        said = True
        total[0] += named_count(found[1], "passed")
        total[1] += named_count(found[1], "failed")
    for found in UNITTEST.finditer(text):
        said = True
        failed = named_count(found[3], "failures") + named_count(found[3], "errors")
        skipped = named_count(found[3], "skipped")
        total[0] += int(found[1]) - failed - skipped
        total[1] += failed
        total[2] += skipped
    for found in COUNTED.finditer(text):
        said = True
        total = [have + int(more) for have, more in zip(total, found.groups(), strict=True)]
    return tuple(total) if said else None


def count_program(name, text, failed, skipped):
    """One program's counts and the lines to show for it."""
    reasons = [own or of_unittest for own, of_unittest in SKIPPED.findall(text)]
    if skipped:
        return (0, 0, 1), [f"skipped: {name}: {'; '.join(reasons) or 'no reason given'}"]
    said = count_cases(text)
    counts = said or (0 if failed else 1, 1 if failed else 0, 0)
    if failed and counts[1] == 0:  # it died before printing its counts
        counts = (counts[0], 1, counts[2])
    lines = [f"failed:  {name}"] if failed else []
    lines += [f"skipped: {name}: {reason}" for reason in reasons]
    if counts[2] > len(reasons):
        lines.append(f"skipped: {name}: {counts[2] - len(reasons)} without a reason; see its log")
    # Catch2 counts a case that skips itself as passed.
    unsaid = max(0, len(reasons) - counts[2]) if said else 0
    return (max(0, counts[0] - unsaid), counts[1], counts[2] + unsaid), lines


def outcomes_of_junit(path):
    """(name, output or the reason for its absence, failed, skipped) for each test."""
    for case in xml.parse(path).getroot().iter("testcase"):
        skipped = case.find("skipped")
        why = skipped.get("message", "") if skipped is not None else ""
        # ctest also reports a test as skipped if its program is missing.
        was_skipped = "SKIP_" in why
        failed = case.get("status") != "run" and not was_skipped
        yield case.get("name"), case.findtext("system-out") or why, failed, was_skipped


def programs_of_junit(path):
    for outcome in outcomes_of_junit(path):
        yield count_program(*outcome)


def failures_of_junit(path):
    """Prints the last lines of the failed tests."""
    for name, text, failed, _ in outcomes_of_junit(path):
        if failed:
            yield f"--- {name}"
            yield from text.rstrip().splitlines()[-FAILURE_LINES_MAX:]


def program_of_text(path, status):
    with open(path, encoding="utf-8", errors="replace") as log:
        text = log.read()
    yield count_program("the script", text, status not in (0, SKIP_STATUS), status == SKIP_STATUS)


def budget_faults(tier, tests, seconds):
    """The reasons why a tier is too large, one sentence each."""
    limits = zip(("tests", "seconds"), (tests, seconds), BUDGETS[tier], strict=True)
    for what, have, meant in limits:
        if have > BUDGET_FACTOR * meant:
            yield f"the tier {tier} took {have} {what} where {meant} are meant: move tests on"


def check_budget(tier, tests, seconds):
    faults = list(budget_faults(tier, tests, seconds))
    meant = BUDGETS[tier]
    print(*faults or [f"{tests} tests of {meant[0]} meant, {seconds} s of {meant[1]}"], sep="\n")
    sys.exit(1 if faults else 0)


def main(arguments):
    if len(arguments) == 4 and arguments[0] == "budget" and arguments[1] in BUDGETS:
        check_budget(arguments[1], int(arguments[2]), int(arguments[3]))
    if len(arguments) == 2 and arguments[0] == "failures":
        for line in failures_of_junit(arguments[1]):
            print(line)
        return
    if len(arguments) == 2 and arguments[0] == "junit":
        programs = programs_of_junit(arguments[1])
    elif len(arguments) == 3 and arguments[0] == "text":
        programs = program_of_text(arguments[1], int(arguments[2]))
    else:
        sys.exit(__doc__)
    total = (0, 0, 0)
    shown = []
    for counts, lines in programs:
        total = tuple(have + more for have, more in zip(total, counts, strict=True))
        shown += lines
    print(*total)
    print(*shown, sep="\n", end="\n" if shown else "")


if __name__ == "__main__":
    main(sys.argv[1:])
