#!/bin/sh
# Holds the fold `orders` against the order book of ../order_book_oracle.py.
#
# Exit: 0 all agree; 77 SKIPPED, see ../dbn_package/venv.sh; 1 anything else.
set -eu
cd "$(dirname "$0")"

python=$(../dbn_package/venv.sh) || exit $?
exec "$python" order_book_test.py
