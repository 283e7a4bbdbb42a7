#!/usr/bin/env bash
# Checks that the C interface matches tests/golden/capi.golden and tests/golden/capi.abi.
#   tests/capi/frozen.sh                          both must be unchanged; programs compiled with a
#                                                 longer and a shorter struct must run
#   tests/capi/frozen.sh --remove STRUCT.FIELD    simulates removing that field: both must report it
#   tests/capi/frozen.sh --update                 writes both
# Needs abidiff (Debian's abigail-tools), cc, and liblapwing.so.1 in LAPWING_BUILD_DIR.
# Exit: 0 unchanged, 1 changed, 2 wrong usage, 77 abidiff is missing.
set -uo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
build=${LAPWING_BUILD_DIR:-$root/build/release}
header=$root/include/lapwing.h
abi=$root/tests/golden/capi.abi
cc=${CC:-cc}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
update=false
variant=()
case ${1-} in
  '') ;;
  --update) update=true ;;
  --remove) variant=(--remove "${2?frozen: --remove STRUCT.FIELD}") ;;
  *) sed -n '2,8s/^# \{0,1\}//p' "$0" >&2; exit 2 ;;
esac
command -v abidiff >/dev/null || { echo "SKIPPED: abidiff is missing: apt-get install abigail-tools"; exit 77; }

[[ -e $build/liblapwing.so.1 ]] || {
  echo "frozen: $build/liblapwing.so.1: not built. Run: cmake --build $build --target lapwing_c" >&2
  exit 1
}

# Uses a separate folder, so that tests/golden/capi.abi contains no path from this machine.
cp "$header" "$work/lapwing.h"
if [[ ${#variant[@]} -gt 0 ]]; then
  python3 "$root/tests/capi/header_variant.py" "$header" "${variant[@]}" >"$work/lapwing.h" || exit 2
fi
# Only the interface's types matter, so the library's functions do nothing.
(cd "$work" && python3 "$root/bindings/c/golden.py" --header lapwing.h --stubs |
  sed "s|#include .*|#include \"lapwing.h\"|" >stubs.c &&
  "$cc" -std=c11 -g -shared -fPIC -fdebug-prefix-map="$work"=. -o liblapwing.so.1 stubs.c) || exit 1

if $update; then
  python3 "$root/bindings/c/golden.py" --update || exit 1
  (cd "$work" && abidw --no-corpus-path --no-comp-dir-path liblapwing.so.1) >"$abi"
  exit
fi

failed=0
echo "golden: $(python3 "$root/bindings/c/golden.py" --header "$work/lapwing.h")"
python3 "$root/bindings/c/golden.py" --header "$work/lapwing.h" >/dev/null || failed=1
if difference=$(abidiff "$abi" "$work/liblapwing.so.1"); then
  echo "abidiff: unchanged"
else
  printf 'abidiff: %s\n' "$difference"
  failed=1
fi
[[ ${#variant[@]} -gt 0 ]] && exit $failed

# The library must export exactly the names in the header.
if diff <(nm -D --defined-only "$build/liblapwing.so.1" | awk '$2 != "A" { sub(/@.*/, "", $3); print $3 }' | sort) \
  <(python3 "$root/bindings/c/golden.py" --functions | sort) >"$work/names"; then
  echo "exports: unchanged"
else
  echo "exports: < of the library, > of the header"
  grep '^[<>]' "$work/names"
  failed=1
fi

# Programs compiled with an older and a newer header must run with this library.
run_variant() {  # NAME header_variant's arguments…
  mkdir "$work/$1"
  python3 "$root/tests/capi/header_variant.py" "$header" "${@:2}" >"$work/$1/lapwing.h" &&
    "$cc" -std=c11 -Wall -Wextra -Werror -I"$work/$1" "$root/tests/capi/round_trip.c" -o "$work/$1/program" \
      -L"$build" -l:liblapwing.so.1 &&
    LD_LIBRARY_PATH=$build "$work/$1/program" "$work/$1/bus" && return
  failed=1
  echo "FAILED: $1 structs"
}
run_variant shorter --remove lapwing_subscriber_options.measure_every \
  --remove lapwing_subscriber_options.conflate_keys_max --remove lapwing_publisher_options.source_offset \
  --remove lapwing_event.text --remove lapwing_subscriber_info.waiting
run_variant longer --add lapwing_subscriber_options.added --add lapwing_publisher_options.added \
  --add lapwing_event.added --add lapwing_subscriber_info.added --add lapwing_error.added
exit $failed
