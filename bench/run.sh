#!/usr/bin/env bash
# Measures Lapwing beside its peers on this machine and writes bench/results/<host>-<date>/: every
# trial as a line of JSON, report.md, and pictures. `bench/run.sh --help` says what it takes,
# bench/METHOD.md how it measures.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# A Python that has matplotlib, as Debian's own does after deploy/setup.sh; pictures are all that is
# missing without.
python=python3
for candidate in python3 /usr/bin/python3; do
  if "$candidate" -c 'import matplotlib' 2>/dev/null; then
    python=$candidate
    break
  fi
done
exec "$python" bench/report/run.py "$@"
