#!/bin/bash
# Shows the operator's view: sets up, builds, and starts two buses with six subscribers, one of them
# too slow and one stopped. Then starts `lapwing serve`, prints its address, and runs `lapwing top`.
#
#   deploy/operate_demo.sh                         with two synthetic order flows
#   deploy/operate_demo.sh A.dbn.zst [B.dbn.zst]   with real feeds, DBN, raw or zstd
#   deploy/operate_demo.sh --once …                prints `lapwing top` once and ends
#
# Press `q` in `lapwing top`, or Ctrl-C, to end it. No files or processes remain.
set -euo pipefail

usage() { sed -n '2,9s/^# \{0,1\}//p' "$0"; }

once=()
feeds=()
for argument in "$@"; do
  case $argument in
    -h | --help) usage; exit 0 ;;
    --once) once=(--once) ;;
    -*) echo "operate_demo.sh: unknown option $argument" >&2; usage >&2; exit 2 ;;
    *)
      if [ ! -r "$argument" ]; then
        echo "operate_demo.sh: cannot read $argument" >&2
        exit 2
      fi
      feeds+=("$(realpath -- "$argument")") ;;
  esac
done
if [ ${#feeds[@]} -gt 2 ]; then
  echo "operate_demo.sh: takes at most two files" >&2
  exit 2
fi

cd "$(dirname "$0")/.."
deploy/setup.sh
cmake --preset release
cmake --build --preset release --target lapwing
exec python3 deploy/operate_demo.py build/release/lapwing "${once[@]}" "${feeds[@]}"
