#!/usr/bin/env bash
# Counts the instructions of one publish, one read and the moves below them with callgrind: the same
# on a busy machine as on an idle one, so a change of the hot path shows in a run of seconds.
#
#   bench/instructions.sh [BUILD_DIR]            all operations; default: build/release
#   bench/instructions.sh --check [BUILD_DIR]    those of bench/instructions.json, held against it
#   bench/instructions.sh --update [BUILD_DIR]   counts them and writes them there
#   bench/instructions.sh --json [BUILD_DIR]     all operations, as one line of JSON
#
# Exit: 0 counted, and as checked in; 1 a count differs, or something failed; 2 wrong usage; 77 this
# processor and compiler have no counts in bench/instructions.json, or valgrind is not installed.
set -euo pipefail

records=16384  # a multiple of what poll takes at once
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
mode=all
case ${1-} in
  --check|--update|--json) mode=${1#--}; shift ;;
  -h|--help) sed -n '2,12s/^# \{0,1\}//p' "$0"; exit 0 ;;
  -*) echo "instructions: unknown option $1; see --help" >&2; exit 2 ;;
esac
program=${1:-$root/build/release}/bench/lapwing_instructions
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

command -v valgrind >/dev/null || {
  if [[ $mode == json ]]; then
    echo '{"skipped": "valgrind is not installed"}'
  else
    echo "SKIPPED: valgrind is not installed"
  fi
  exit 77
}
[[ -x $program ]] || { echo "instructions: build lapwing_instructions first" >&2; exit 1; }
# Names are enough; at clang's debug information valgrind 3.19 gives up.
objcopy --strip-debug "$program" "$scratch/lapwing_instructions"
objcopy --strip-debug "$(ldd "$program" | awk '$1 == "liblapwing.so.1" { print $3 }')" "$scratch/liblapwing.so.1"
program=$scratch/lapwing_instructions
export LD_LIBRARY_PATH=$scratch

# Without the parts that gcc moves elsewhere: a jump there would end the count.
mapfile -t toggles < <(nm "$program" |
  awk '$3 ~ /lapwing_measured/ && $3 !~ /\.cold/ { print "--toggle-collect=" $3 }')

# Instructions inside lapwing_measured for one record.
count() {
  valgrind --tool=callgrind --callgrind-out-file=/dev/null --demangle=no "${toggles[@]}" \
    "$program" "$1" "$records" 2>"$scratch/report" ||
    { cat "$scratch/report" >&2; exit 1; }
  awk -v records="$records" '/Collected :/ && $4 > 0 { print $4 / records; found = 1 }
                             END { exit !found }' "$scratch/report" ||
    { echo "instructions: nothing was counted for $1" >&2; exit 1; }
}

count_each() {
  local nothing operation
  nothing=$(count nothing)
  while read -r operation; do
    count "$operation" >"$scratch/count"
    awk -v name="$operation" -v nothing="$nothing" \
      -v records="$("$program" --records-a-call "$operation")" \
      '{ printf "%-24s %.2f\n", name, $1 - nothing / records }' "$scratch/count"
  done
}

if [[ $mode == all ]]; then
  printf '%-24s %s\n' operation 'instructions a record'
  "$program" | grep -vx nothing | count_each
  exit
fi
if [[ $mode == json ]]; then
  "$program" | grep -vx nothing | count_each >"$scratch/counts"
  awk -v compiler="$("$program" --compiler)" '
    { counts = counts (NR > 1 ? ", " : "") "\"" $1 "\": " $2 }
    END { printf "{\"compiler\": \"%s\", \"instructions\": {%s}}\n", compiler, counts }
  ' "$scratch/counts"
  exit
fi
guard=$root/bench/instructions_guard.py
compiler=$("$program" --compiler)
[[ $mode == update ]] || python3 "$guard" known "$compiler"
python3 "$guard" operations | count_each >"$scratch/counts"
python3 "$guard" "$mode" "$compiler" <"$scratch/counts"
