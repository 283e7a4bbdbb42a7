#!/usr/bin/env bash
# Compares the speed of each language with C, and C with C++: see bench/languages/languages.py.
exec python3 "$(dirname "${BASH_SOURCE[0]}")/languages/languages.py" "$@"
