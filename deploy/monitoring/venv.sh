#!/bin/sh
# Creates a Python environment with the packages in requirements.txt (tools/venv.sh) and prints the
# path of its interpreter.
set -eu
here=$(dirname "$0")
exec "$here/../../tools/venv.sh" monitoring_venv "$here/requirements.txt" \
  "The dashboard and the alerts are UNPROVEN: a Python package is missing."
