#!/usr/bin/env bash
# Counts the instructions of a publish, a read and their parts with callgrind. The counts are the
# same on a busy machine, so a run of a few seconds shows a change in the hot path.
#
#   bench/instructions.sh [BUILD_DIR]            all operations; default: build/release
#   bench/instructions.sh --check [BUILD_DIR]    compares with bench/instructions.json
#   bench/instructions.sh --update [BUILD_DIR]   writes the counts to that file
#   bench/instructions.sh --json [BUILD_DIR]     all operations, as one line of JSON
#
# Exit: 0 all counts match; 1 a count differs, or an error; 2 wrong usage; 77
# bench/instructions.json has no counts for this processor and compiler, or valgrind is not
# installed.
set -euo pipefail

records=16384  # a multiple of the batch size of poll
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
# Function names are sufficient. valgrind 3.19 fails on clang's debug information.
objcopy --strip-debug "$program" "$scratch/lapwing_instructions"
objcopy --strip-debug "$(ldd "$program" | awk '$1 == "liblapwing.so.1" { print $3 }')" "$scratch/liblapwing.so.1"
program=$scratch/lapwing_instructions
export LD_LIBRARY_PATH=$scratch

# Excludes parts that gcc moves elsewhere, because a jump there would end the count.
mapfile -t toggles < <(nm "$program" |
  awk '$3 ~ /lapwing_measured/ && $3 !~ /\.cold/ { print "--toggle-collect=" $3 }')

# Prints the instructions per record inside lapwing_measured.
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
