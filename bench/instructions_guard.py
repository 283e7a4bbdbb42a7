#!/usr/bin/env python3
"""Compares instruction counts from bench/instructions.sh with bench/instructions.json.

    instructions_guard.py operations          prints the counted operations
    instructions_guard.py known COMPILER      exits with 77 if that compiler has no counts there
    instructions_guard.py check COMPILER      reads an operation and its count per line
    instructions_guard.py update COMPILER     the same, and stores the counts

COMPILER is the output of `lapwing_instructions --compiler`: processor, compiler, major version.
Each compiler generates different instructions, so each has its own counts.

A count may differ by TOLERANCE. The same program has the same count to within a hundredth of an
instruction on any machine and under any load; one more store per record adds a whole instruction.
Fewer instructions are also an error: the new count must be stored, because otherwise a later change
could add as many instructions unnoticed.
"""

import json
import pathlib
import sys

COUNTS = pathlib.Path(__file__).resolve().parent / "instructions.json"
TOLERANCE = 0.5
NOT_HERE = 77
OPERATIONS = (
    "publish", "publish_16", "publish_bytes", "publish_batch", "poll", "poll_bytes", "wait",
    "poll_batch", "typed_publish", "typed_take", "c_publish", "c_take", "channel_commit", "channel_send",
    "channel_peek", "channel_receive", "c_channel_commit", "c_channel_peek",
)


def counts_of(lines):
    """{operation: count}. Every operation must be present."""
    counts = {}
    for line in lines:
        operation, count = line.split()
        counts[operation] = float(count)
    missing = [operation for operation in OPERATIONS if operation not in counts]
    if missing:
        sys.exit(f"instructions: nothing was counted for {', '.join(missing)}")
    return counts


def differences(counts, expected):
    """Messages about operations whose count differs from the stored one."""
    found = []
    for operation in OPERATIONS:
        have, want = counts[operation], expected.get(operation)
        if want is None:
            found.append(f"{operation}: {have:.2f}, and no count is written down")
        elif have > want + TOLERANCE:
            found.append(f"{operation}: {have:.2f} instructions a record, {have - want:.2f} more "
                         f"than the {want:.2f} written down")
        elif have < want - TOLERANCE:
            found.append(f"{operation}: {have:.2f} instructions a record, {want - have:.2f} fewer "
                         f"than the {want:.2f} written down: write it down")
    return found


def check(counts, compiler, path=COUNTS):
    expected = json.loads(path.read_text(encoding="utf-8"))[compiler]
    found = differences(counts, expected)
    for operation in OPERATIONS:
        print(f"{operation:24} {counts[operation]:8.2f}  {expected.get(operation, 0):8.2f}")
    for line in found:
        print(f"instructions: {line}")
    if found:
        print("instructions: if that is meant, run bench/instructions.sh --update and say why in "
              "the commit")
    print(f"{len(OPERATIONS) - len(found)} passed, {len(found)} failed, 0 skipped")
    return 1 if found else 0


def update(counts, compiler, path=COUNTS):
    known = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    known[compiler] = {operation: counts[operation] for operation in OPERATIONS}
    path.write_text(json.dumps(dict(sorted(known.items())), indent=2) + "\n", encoding="utf-8")
    print(f"instructions: wrote the counts of {compiler}")
    return 0


def is_known(compiler, path=COUNTS):
    known = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    if compiler in known:
        return 0
    print(f"SKIPPED: bench/instructions.json has no counts of {compiler} (but of "
          f"{', '.join(known) or 'none'}); bench/instructions.sh --update makes them")
    return NOT_HERE


def main(arguments):
    if arguments == ["operations"]:
        print(*OPERATIONS, sep="\n")
        return 0
    actions = {"known": lambda name: is_known(name),
               "check": lambda name: check(counts_of(sys.stdin), name),
               "update": lambda name: update(counts_of(sys.stdin), name)}
    if len(arguments) != 2 or arguments[0] not in actions:
        sys.exit(__doc__)
    return actions[arguments[0]](arguments[1])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
