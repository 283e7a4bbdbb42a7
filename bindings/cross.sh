#!/usr/bin/env bash
# Each language with each, over a bus and over a channel: see bindings/cross.py.
exec python3 "$(dirname "${BASH_SOURCE[0]}")/cross.py" "$@"
