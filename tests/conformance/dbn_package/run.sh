#!/bin/sh
# Holds what we read and write as DBN against the package `databento-dbn`.
#
# Exit: 0 all agree; 77 SKIPPED, see venv.sh; 1 anything else.
set -eu
case ${LAPWING_BUILD_DIR:-/} in # as the caller means it, and not from this folder
  /*) ;;
  *) export LAPWING_BUILD_DIR="$PWD/$LAPWING_BUILD_DIR" ;;
esac
cd "$(dirname "$0")"

python=$(./venv.sh) || exit $?
exec "$python" dbn_package_test.py
