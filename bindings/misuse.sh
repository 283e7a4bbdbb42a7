#!/usr/bin/env bash
# Performs invalid actions in each language: see bindings/misuse.py.
exec python3 "$(dirname "${BASH_SOURCE[0]}")/misuse.py" "$@"
