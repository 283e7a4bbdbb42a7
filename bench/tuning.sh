#!/usr/bin/env bash
# Measures the cost of faults that `lapwing doctor` finds: see bench/tuning.py.
exec python3 "$(dirname "${BASH_SOURCE[0]}")/tuning.py" "$@"
