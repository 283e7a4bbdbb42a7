#!/bin/sh
# Runs tests/end_to_end/exactly_once_test.py with this package's examples. The test kills the strategy,
# the gateway and their publisher at random times. The first run uses the C++ strategy and
# order_gateway.py; the second uses order_strategy.py and order_gateway.py. Run build.sh first.
#
# Exit: 0 each order executed once; 77 SKIPPED: the package is not built; 1 any other error.
set -eu
root=$(cd "$(dirname "$0")/../.." && pwd)
python=$root/build/bindings/python/venv/bin/python
[ -x "$python" ] || { echo "SKIPPED: the Python package is not built: bindings/python/build.sh" >&2; exit 77; }
export LAPWING_BUILD_DIR="${LAPWING_BUILD_DIR:-$root/build/release}"
export LAPWING_BIN="${LAPWING_BIN:-$LAPWING_BUILD_DIR/lapwing}"
export LAPWING_LIBRARY="${LAPWING_LIBRARY:-$LAPWING_BUILD_DIR/liblapwing.so.1}"
export LAPWING_RECIPE_GATEWAY="$python $root/bindings/python/examples/order_gateway.py"
python3 "$root/tests/end_to_end/exactly_once_test.py"
export LAPWING_RECIPE_STRATEGY="$python $root/bindings/python/examples/order_strategy.py"
exec python3 "$root/tests/end_to_end/exactly_once_test.py"
