#!/usr/bin/env bash
# Counts the instructions of one publish, one read and the moves below them with callgrind: the same
# on a busy machine as on an idle one, so a change of the hot path shows in a run of seconds.
#
# usage: bench/instructions.sh [BUILD_DIR]     default: build/release
set -euo pipefail

records=16384  # a multiple of what poll takes at once
program=${1:-build/release}/bench/lapwing_instructions
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

command -v valgrind >/dev/null || { echo "instructions: valgrind is not installed" >&2; exit 1; }
[[ -x $program ]] || { echo "instructions: build lapwing_instructions first" >&2; exit 1; }

# Instructions inside lapwing_measured for one record.
count() {
  valgrind --tool=callgrind --callgrind-out-file=/dev/null --toggle-collect=lapwing_measured \
    "$program" "$1" "$records" 2>"$scratch/report" ||
    { cat "$scratch/report" >&2; exit 1; }
  awk -v records="$records" '/Collected :/ { print $4 / records; found = 1 }
                             END { exit !found }' "$scratch/report"
}

nothing=$(count nothing)
printf '%-24s %s\n' operation 'instructions a record'
"$program" | while read -r operation; do
  [[ $operation == nothing ]] && continue
  count=$(count "$operation")
  awk -v name="$operation" -v count="$count" -v nothing="$nothing" \
    'BEGIN { printf "%-24s %.1f\n", name, count - nothing }'
done
