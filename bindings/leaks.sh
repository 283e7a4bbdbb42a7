#!/usr/bin/env bash
# Opens and closes handles of each language many times: see bindings/leaks.py.
exec python3 "$(dirname "${BASH_SOURCE[0]}")/leaks.py" "$@"
