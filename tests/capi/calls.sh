#!/usr/bin/env bash
# Checks that the tests of the C interface call every function and see every error number, without
# memory errors.
#   tests/capi/calls.sh                 with valgrind, if it is installed
#   tests/capi/calls.sh --plain         without it, for builds with sanitizers
# Prints `88 of 88 functions called, 36 error numbers seen`. Exit: 0, 1 failed, 77 no valgrind.
set -uo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
build=${LAPWING_BUILD_DIR:-$root/build/release}
run=()
if [[ ${1-} != --plain ]]; then
  command -v valgrind >/dev/null || { echo "SKIPPED: valgrind is missing"; exit 77; }
  run=(valgrind --quiet --error-exitcode=9 --leak-check=full --errors-for-leak-kinds=definite --show-leak-kinds=definite
    --trace-children=no --child-silent-after-fork=yes)
fi
[[ -x $build/bindings/c/c_interface_test ]] || {
  echo "calls: $build/bindings/c/c_interface_test: not built. Run: cmake --build $build --target c_interface_test" >&2
  exit 1
}
output=$("${run[@]}" "$build/bindings/c/c_interface_test" 2>&1)
status=$?
functions=$(python3 "$root/bindings/c/golden.py" --functions | wc -l)
wanted="$functions of $functions functions called, 36 error numbers seen"
if [[ $status == 0 ]] && grep -qxF "$wanted" <<<"$output"; then
  echo "$wanted"
  exit 0
fi
tail -n 40 <<<"$output"
echo "calls: exit $status; wanted: $wanted"
exit 1
