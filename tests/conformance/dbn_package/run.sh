#!/bin/sh
# Holds what we read and write as DBN against the package `databento-dbn`.
#
# Exit: 0 all agree; 77 SKIPPED, see venv.sh; 1 anything else.
set -eu
cd "$(dirname "$0")"

python=$(./venv.sh) || exit $?
exec "$python" dbn_package_test.py
