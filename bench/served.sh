#!/usr/bin/env bash
# Measures the cost of `lapwing serve` for the publisher and for a good client: see bench/served.py.
exec python3 "$(dirname "${BASH_SOURCE[0]}")/served.py" "$@"
