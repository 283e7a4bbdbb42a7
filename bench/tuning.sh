#!/usr/bin/env bash
# What faults that `lapwing doctor` names cost: see bench/tuning.py.
exec python3 "$(dirname "${BASH_SOURCE[0]}")/tuning.py" "$@"
