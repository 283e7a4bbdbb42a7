#!/bin/sh
# Creates a Python environment with the package `databento-dbn` (tools/venv.sh) and prints the path
# of its interpreter. To compare DBN files:
#
#   python=$(tests/conformance/dbn_package/venv.sh) || exit $?
#   "$python" tests/conformance/dbn_package/compare_dbn.py A B
set -eu
here=$(dirname "$0")
exec "$here/../../../tools/venv.sh" dbn_package_venv "$here/requirements.txt" \
  "That another implementation reads our DBN files is UNPROVEN: the package databento-dbn is not here."
