#!/bin/sh
# Compares our DBN reader and writer with the package `databento-dbn`.
#
# Exit: 0 all agree; 77 SKIPPED, see venv.sh; 1 any other error.
set -eu
case ${LAPWING_BUILD_DIR:-/} in # relative to the caller's folder, not to this one
  /*) ;;
  *) export LAPWING_BUILD_DIR="$PWD/$LAPWING_BUILD_DIR" ;;
esac
cd "$(dirname "$0")"

python=$(./venv.sh) || exit $?
exec "$python" dbn_package_test.py
