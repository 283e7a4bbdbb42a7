#!/bin/sh
# Runs the tests and the examples of the package built by build.sh. Arguments are passed to pytest.
# LAPWING_LIBRARY is the library under test.
set -eu
cd "$(dirname "$0")"
exec ../../build/bindings/python/venv/bin/python -m pytest "$@"
