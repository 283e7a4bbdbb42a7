#!/bin/sh
# Checks the types of the package with `mypy --strict`. Builds it first, to generate the types of its native module.
#
# Exit: 0 nothing found; 77 SKIPPED: the last line names the missing requirement; 1 any other error.
set -eu
cd "$(dirname "$0")"
./build.sh
pyproject=$PWD/pyproject.toml
cd ../../build/bindings/python
exec venv/bin/python -m mypy --strict --config-file "$pyproject" --cache-dir mypy_cache -p lapwing
