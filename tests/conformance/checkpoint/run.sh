#!/bin/sh
# Compares checkpoints with a reader written only from docs/reference/file-formats.md. It takes XXH3
# from the package `xxhash`.
#
# Exit: 0 all agree; 77 SKIPPED, see ../dbn_package/venv.sh; 1 any other error.
set -eu
cd "$(dirname "$0")"

python=$(../dbn_package/venv.sh) || exit $?
exec "$python" checkpoint_format_test.py
