#!/bin/sh
# Kills the examples order_strategy.py and order_gateway.py, and their publisher, at random:
# tests/end_to_end/exactly_once_test.py with the programs of this package. After build.sh.
# Then the strategy in C++ with the gateway in Python, since both speak of the same orders.
#
# Exit: 0 each order once; 77 SKIPPED: the package is not built; 1 anything else.
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
