#!/bin/sh
# Runs one of this folder's tests in an environment with the packages in requirements.txt:
#
#   deploy/monitoring/run.sh rules_test.py        needs promtool; setup.sh installs it
#   deploy/monitoring/run.sh dashboard_test.py
#
# Exit: 0 passed; 77 SKIPPED, because promtool or a package is missing; 1 any other error.
# LAPWING_REQUIRE_REGISTRIES=1 makes a skip an error.
set -eu
here=$(dirname "$0")

if [ "$1" != dashboard_test.py ] && ! command -v promtool >/dev/null; then
  echo "SKIPPED: promtool is not installed; deploy/monitoring/setup.sh installs it" >&2
  [ "${LAPWING_REQUIRE_REGISTRIES:-0}" = 1 ] && exit 1
  exit 77
fi
python=$("$here/venv.sh") || exit $?
test=$1
shift
exec "$python" "$here/$test" "$@"
