#!/usr/bin/env python3
"""Checks the lint rules on the tree that contains this file. Exit: 0 all are kept, 1 one is broken.

Advice (length, columns, words) is printed, but does not fail. `check.py --list` prints both.
"""

import sys
from pathlib import Path

import build_rules
import code_rules
import link_rules
import proto_rules
import text_rules
from tree import Tree

RULES = [rule for rules in (code_rules, build_rules, proto_rules, text_rules, link_rules)
         for rule in rules.RULES]
ADVICE = code_rules.ADVICE + text_rules.ADVICE


def main():
    if sys.argv[1:] == ["--list"]:
        for rule in RULES:
            print(f"{rule.__name__}: {rule.__doc__}")
        for rule in ADVICE:
            print(f"{rule.__name__} (advice): {rule.__doc__}")
        return 0
    tree = Tree.load(Path(__file__).resolve().parents[2])
    broken = 0
    for rule in RULES:
        findings = list(rule(tree))
        for finding in findings:
            print(finding)
        if findings:
            broken += 1
            print(f"  broken: {rule.__name__}: {rule.__doc__}\n")
    for rule in ADVICE:
        for finding in rule(tree):
            print(f"advice: {finding}")
    print(f"{len(RULES) - broken} passed, {broken} failed, 0 skipped")
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
