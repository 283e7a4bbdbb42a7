#!/usr/bin/env bash
# Tests every pair of languages over a bus and over a channel: see bindings/cross.py.
exec python3 "$(dirname "${BASH_SOURCE[0]}")/cross.py" "$@"
