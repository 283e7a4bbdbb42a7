#!/usr/bin/env bash
# What `lapwing serve` costs the publisher, and what a good client gets: see bench/served.py.
exec python3 "$(dirname "${BASH_SOURCE[0]}")/served.py" "$@"
