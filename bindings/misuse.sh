#!/usr/bin/env bash
# What programs must not do, done in each language: see bindings/misuse.py.
exec python3 "$(dirname "${BASH_SOURCE[0]}")/misuse.py" "$@"
