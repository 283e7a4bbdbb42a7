#!/usr/bin/env bash
# How fast each language is beside C and C++: see bench/languages/languages.py.
exec python3 "$(dirname "${BASH_SOURCE[0]}")/languages/languages.py" "$@"
