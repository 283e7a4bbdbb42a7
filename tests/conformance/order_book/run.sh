#!/bin/sh
# Compares the fold `orders`, and the output of `lapwing book`, with the order book of
# ../order_book_oracle.py.
#
#   run.sh TEST.py
#
# Exit: 0 all agree; 77 SKIPPED, see ../dbn_package/venv.sh; 1 any other error.
set -eu
cd "$(dirname "$0")"

python=$(../dbn_package/venv.sh) || exit $?
exec "$python" "$1"
