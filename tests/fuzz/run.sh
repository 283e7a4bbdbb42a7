#!/usr/bin/env bash
# Runs a fuzz target of the preset `clang-asan`.
#
#   tests/fuzz/run.sh TARGET SECONDS
#
# The corpus is kept in build/clang-asan/corpus/TARGET, from which the next run starts. A failing
# input is stored in build/clang-asan/broken-TARGET-*. To reproduce the failure, run the target with
# only this file.
#
# Exit: 0 nothing was found, 2 wrong usage, otherwise an error described above.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

[[ $# == 2 ]] || { sed -n '2,10s/^# \{0,1\}//p' "$0" >&2; exit 2; }
target=$1 seconds=$2
case $target in
  checkpoint_fuzz) input_bytes_max=1024 ;;  # the header's fields are 168; the entries follow
  order_fold_fuzz) input_bytes_max=2048 ;;  # a record takes about 12
  *) input_bytes_max=512 ;;
esac
[[ -x build/clang-asan/tests/fuzz/$target ]] || {
  echo "run: build/clang-asan/tests/fuzz/$target: not built. Run: cmake --preset clang-asan && cmake --build --preset clang-asan --target $target" >&2
  exit 1
}
corpus=build/clang-asan/corpus/$target
mkdir -p "$corpus"
exec "build/clang-asan/tests/fuzz/$target" -seed="${LAPWING_TEST_SEED:-0}" \
  -max_total_time="$seconds" -max_len="$input_bytes_max" \
  -artifact_prefix="build/clang-asan/broken-$target-" "$corpus"
