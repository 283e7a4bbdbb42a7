#!/bin/sh
# Holds the fold `orders`, and what `lapwing book` makes of it, against the order book of
# ../order_book_oracle.py.
#
#   run.sh TEST.py
#
# Exit: 0 all agree; 77 SKIPPED, see ../dbn_package/venv.sh; 1 anything else.
set -eu
cd "$(dirname "$0")"

python=$(../dbn_package/venv.sh) || exit $?
exec "$python" "$1"
