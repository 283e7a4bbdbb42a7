#!/bin/sh
# Checks the types of the package with `mypy --strict`. Builds it first, for the types of its native module.
#
# Exit: 0 nothing found; 77 SKIPPED: the last line says what the machine lacks; 1 anything else.
set -eu
cd "$(dirname "$0")"
./build.sh
pyproject=$PWD/pyproject.toml
cd ../../build/bindings/python
exec venv/bin/python -m mypy --strict --config-file "$pyproject" --cache-dir mypy_cache -p lapwing
