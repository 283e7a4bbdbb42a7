#!/bin/sh
# Prints a table that shows whether every DBN schema in every version, passed through a bus, equals
# the data that the package databento-dbn writes and reads. See every_schema.py for the comparison.
#
#   every_schema.sh [SCHEMA…]
#
# LAPWING_BIN is the program. Exit: 0 all equal; 77 SKIPPED, see ../conformance/dbn_package/venv.sh;
# 1 any other error.
set -eu
folder=$(dirname "$0")

[ -x "${LAPWING_BIN-}" ] || {
  echo "every_schema: LAPWING_BIN=${LAPWING_BIN-} is not a program. Build it, then set LAPWING_BIN, e.g. build/release/lapwing." >&2
  exit 1
}
python=$("$folder/../conformance/dbn_package/venv.sh") || exit $?
exec "$python" "$folder/every_schema.py" "$@"
