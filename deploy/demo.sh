#!/bin/bash
# The demonstration: sets up, builds, and runs a publisher and its subscribers through a bad day.
#
#   deploy/demo.sh                     with a synthetic order flow
#   deploy/demo.sh es.mbo.dbn.zst      with a real feed, DBN (MBO, trades or MBP-1), raw or zstd
#
# Exits with 0 only if every subscriber received the same records. Takes less than a minute after
# the build.
set -euo pipefail

usage() { sed -n '2,7s/^# \{0,1\}//p' "$0"; }

case "${1:-}" in
  -h | --help) usage; exit 0 ;;
  -*) echo "demo.sh: unknown option $1" >&2; usage >&2; exit 2 ;;
esac
if [ $# -gt 1 ]; then
  echo "demo.sh: takes at most one file" >&2
  exit 2
fi
if [ $# -eq 1 ] && [ ! -r "$1" ]; then
  echo "demo.sh: cannot read $1" >&2
  exit 2
fi

feed=${1:+$(realpath -- "$1")}
cd "$(dirname "$0")/.."
deploy/setup.sh
cmake --preset release
cmake --build --preset release --target lapwing
exec python3 deploy/demo.py build/release/lapwing ${feed:+"$feed"}
