#!/bin/sh
# Holds checkpoints against a reader that was made from docs/reference/file-formats.md alone; it takes XXH3 from
# the package `xxhash`.
#
# Exit: 0 all agree; 77 SKIPPED, see ../dbn_package/venv.sh; 1 anything else.
set -eu
cd "$(dirname "$0")"

python=$(../dbn_package/venv.sh) || exit $?
exec "$python" checkpoint_format_test.py
