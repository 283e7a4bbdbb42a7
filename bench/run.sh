#!/usr/bin/env bash
# Measures Lapwing and its peers on this machine and writes bench/results/<host>-<date>/: every
# trial as a line of JSON, report.md, and pictures. See `bench/run.sh --help` for the options and
# bench/METHOD.md for the method.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# Selects a Python with matplotlib, such as Debian's after deploy/setup.sh. Without it only the
# pictures are missing.
python=python3
for candidate in python3 /usr/bin/python3; do
  if "$candidate" -c 'import matplotlib' 2>/dev/null; then
    python=$candidate
    break
  fi
done
exec "$python" bench/report/run.py "$@"
