#!/bin/sh
# Runs the tests and the examples of the package that build.sh has built. Arguments go to pytest.
# LAPWING_LIBRARY is the library that they use.
set -eu
cd "$(dirname "$0")"
exec ../../build/bindings/python/venv/bin/python -m pytest "$@"
