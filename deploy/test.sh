#!/usr/bin/env bash
# Builds and tests, in three tiers:
#
#   deploy/test.sh          each behaviour once, in minutes: the lint rules, a release build of
#                           the tested programs, their tests
#   deploy/test.sh --ci     before a merge, 40 minutes: more repetitions, real data,
#                           sanitizers, fuzzing, memory models, other programs' readers, lint
#   deploy/test.sh --long   everything for hours, with random seeds: kills, joins, power cuts,
#                           torture, fuzzing, a hostile operator, large states, more builds
#
#   deploy/test.sh --stages=NAME   only these stages, with the first tier's repetitions: house,
#                           default, clang, sanitizer or model
#
# LAPWING_TEST_DATA           directory of real feed files; required by --ci and --long
# LAPWING_REQUIRE_REGISTRIES  1: tests that need a package registry must not skip
# LAPWING_TEST_SEED           seed of all random choices; default 1, with --long random
#
# Ends with a table of the stages and one line `N passed, M failed, K skipped`.
# Exit: 0 nothing failed, 1 something failed or a stage ran no test, 2 wrong usage.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit 1

tier=default
stages=
for argument in "$@"; do
  case $argument in
    --ci) tier=ci ;;
    --long) tier=long ;;
    --stages=house|--stages=default|--stages=clang|--stages=sanitizer|--stages=model)
      stages=${argument#*=} ;;
    -h|--help) sed -n '2,/^set/{/^set/d;s/^# \{0,1\}//p}' "$0"; exit 0 ;;
    *) printf 'test: unknown option %s; see --help\n' "$argument" >&2; exit 2 ;;
  esac
done

# repeat VARIABLE DEFAULT CI LONG: sets how often, or for how many seconds, a test repeats actions
# at random moments. A variable that is already set is kept.
repeat() {
  # shellcheck disable=SC2034 # one of them is selected by the name of the tier
  local default=$2 ci=$3 long=$4
  export "$1=${!1:-${!tier}}"
}
repeat LAPWING_KILLS 10 50 500
repeat LAPWING_RECIPE_KILLS 1 7 100
repeat LAPWING_DESK_SECONDS 2 15 60
repeat LAPWING_LOGGER_KILLS 5 200 1000
repeat LAPWING_JOINS 50 500 5000
repeat LAPWING_SNAPSHOT_JOINS 5 50 1000
repeat LAPWING_POWER_CUTS 3 10 100
repeat LAPWING_POWER_CUT_RUNS 1000 10000 50000
repeat LAPWING_RETENTION_RECORDS 500000 3000000 72000000
repeat LAPWING_STOPPED_RECORDS 600000 5000000 5000000
repeat LAPWING_CHECKPOINTER_HISTORIES 5 30 1000
repeat LAPWING_DEMO 0 1 2
repeat LAPWING_LARGE_KEYS 1000000 2000000 100000000
repeat LAPWING_TORTURE_SECONDS 1 3 60
repeat LAPWING_WAKES 20000 200000 2000000
repeat LAPWING_SET_WAKES 10000 200000 10000000
repeat LAPWING_CHANNEL_MIB 256 4096 32768
repeat LAPWING_PIPE_MIB 64 512 8192
repeat LAPWING_SILENT_SECONDS 1 3 120
repeat LAPWING_SILENT_BUSES 5 20 20
repeat LAPWING_SCRIBBLE_SECONDS 2 10 300
repeat LAPWING_CALLS 100000 5000000 100000000
repeat LAPWING_CALL_SECONDS 2 10 180
repeat LAPWING_GARBAGE_MIB 16 64 1024
repeat LAPWING_FUZZ_SECONDS 20 20 600
repeat LAPWING_HOSTILE_SECONDS 10 60 3600
repeat LAPWING_CHANNEL_STRIDE 61 7 1
repeat LAPWING_RECORDER_STRIDE 11 1 1
repeat LAPWING_CHANNEL_OPERATIONS 100000 500000 5000000
repeat LAPWING_FOLD_FLOWS 3 3 60
repeat LAPWING_FOLD_STREAMS 100 1000 100000
repeat LAPWING_BOOK_OPERATIONS 100000 300000 5000000
repeat LAPWING_TEST_SEED 1 1 $((RANDOM * 32768 + RANDOM + 1))
if [[ $tier != default && -n $stages ]]; then
  printf 'test: --stages takes no tier: leave out --%s\n' "$tier" >&2
  exit 2
elif [[ $tier != default && -z ${LAPWING_TEST_DATA-} ]]; then
  printf 'test: --%s needs real feed files: set LAPWING_TEST_DATA\n' "$tier" >&2
  exit 2
elif [[ -n ${LAPWING_TEST_DATA-} && ! -d $LAPWING_TEST_DATA ]]; then
  printf 'test: LAPWING_TEST_DATA=%s is not a directory\n' "$LAPWING_TEST_DATA" >&2
  exit 2
fi

logs=$PWD/build/test-logs
mkdir -p "$logs"
jobs=$(nproc)
passed=0 failed=0 skipped=0
table=()
notes=()
failures=()  # the end of each failure's output, repeated at the end of the run

# finish NAME SECONDS STATUS TALLY: records one stage. TALLY is the output of tally.py, or "none"
# for a stage that only builds.
finish() {
  local name=$1 seconds=$2 status=$3 tally=$4 counts='' outcome=ok
  if [[ $tally != none ]]; then
    local first rest p f s
    first=${tally%%$'\n'*}
    rest=${tally#"$first"}
    read -r p f s <<<"$first" || true
    p=${p:-0} f=${f:-0} s=${s:-0}
    if ((p + f + s == 0)); then
      f=1
      notes+=("failed:  $name: it ran no test")
    fi
    while IFS= read -r line; do
      [[ -n $line ]] && notes+=("${line%%:*}: $name:${line#*:}")
    done <<<"$rest"
    ((status != 0 && f == 0)) && f=1
    ((f > 0)) && outcome=FAILED
    ((f == 0 && p == 0)) && outcome=skipped
    ((passed += p, failed += f, skipped += s))
    counts=$(printf '%5d passed %3d failed %3d skipped' "$p" "$f" "$s")
  elif ((status != 0)); then
    ((failed += 1))
    outcome=FAILED
    notes+=("failed:  $name")
  fi
  table+=("$(printf '%-34s %4d s  %-8s %s' "$name" "$seconds" "$outcome" "$counts")")
}

# logged NAME COMMAND…: runs a command, and copies its output to $log.
logged() {
  log=$logs/${1//[^a-z0-9]/-}.log
  shift
  "$@" 2>&1 | tee "$log"
  return "${PIPESTATUS[0]}"
}

# keep_end NAME: stores the end of $log for the end of the run.
keep_end() {
  failures+=("--- $1" "$(tail -n 40 "$log")")
}

# build NAME PRESET TARGET…
build() {
  local name=$1 preset=$2 start=$SECONDS status=0
  shift 2
  printf '\n=== %s\n' "$name"
  if ! logged "$name" cmake --preset "$preset" >/dev/null; then
    cat "$log" >&2
    status=1
  else
    logged "$name" cmake --build --preset "$preset" --target "$@" || status=1
  fi
  ((status != 0)) && keep_end "$name"
  finish "$name" $((SECONDS - start)) $status none
  return $status
}

# run_ctest NAME PRESET CTEST-OPTION…
run_ctest() {
  local name=$1 preset=$2 start=$SECONDS status=0 report=$logs/${1//[^a-z0-9]/-}.xml
  local at_once=$jobs
  # Without sanitizers tests mostly wait.
  [[ $preset == release || $preset == clang ]] && at_once=$((jobs * 3))
  shift 2
  printf '\n=== %s\n' "$name"
  rm -f "$report"
  logged "$name" ctest --test-dir "build/$preset" --output-on-failure --no-tests=error \
    --parallel "$at_once" --output-junit "$report" --test-output-size-passed 1000000 \
    --test-output-size-failed 1000000 "$@" || status=1
  ((status != 0)) && failures+=("$(python3 tools/tally.py failures "$report")")
  finish "$name" $((SECONDS - start)) $status "$(python3 tools/tally.py junit "$report")"
}

# run_script NAME COMMAND…: runs a test script. Exit code 77 means that it could not run here.
run_script() {
  local name=$1 start=$SECONDS status=0
  shift
  printf '\n=== %s\n' "$name"
  logged "$name" "$@" || status=$?
  local tally
  tally=$(python3 tools/tally.py text "$log" "$status")
  ((status == 77)) && status=0
  ((status != 0)) && keep_end "$name"
  finish "$name" $((SECONDS - start)) $status "$tally"
}

tiers_so_far='^tier_default$'
[[ $tier == ci ]] && tiers_so_far='^tier_(default|ci)$'
[[ $tier == long ]] && tiers_so_far='^tier_'

house_stages() {
  run_script 'house rules' python3 tests/house_rules/check.py
  run_script 'house rules can fail' python3 tests/house_rules/self_test.py
}

default_stages() {
  build 'release: build' release tests_default || return
  run_ctest 'release: tests' release -L "$tiers_so_far" -LE '^house$'
}

clang_stages() {
  build 'clang: build' clang tests_default || return
  run_ctest 'clang: tests' clang -L "$tiers_so_far" -LE '^house$'
}

ci_stages() {
  build 'release: build' release all headers_compile_alone || return
  local check=(--ci --since "$(git rev-parse --quiet --verify HEAD^ || echo HEAD)")
  [[ $tier == long ]] && check=(--long)
  run_script 'format, lint, types' tools/check "${check[@]}" --lint
  run_ctest 'release: tests' release -L "$tiers_so_far" -LE '^(house|registry)$'
  run_script 'release: instructions a record' bench/instructions.sh --check build/release
  # Use the same attacks for every change. Long runs find new ones.
  local hostile_seed=(--seed 1)
  [[ $tier == long ]] && hostile_seed=()
  LAPWING_BIN=$PWD/build/release/lapwing run_script 'hostile operator' \
    tests/hostile/run.py --seconds "$LAPWING_HOSTILE_SECONDS" "${hostile_seed[@]}"
  sanitizer_stages
  model_stages
  run_ctest 'conformance: databento-dbn, order book' release -L "$tiers_so_far" -L '^registry$'
}

# They find different faults than repetition does, but are slow.
sanitizer_stages() {
  [[ $tier == long ]] || local -x LAPWING_JOINS=50 LAPWING_CHANNEL_STRIDE=61 \
    LAPWING_CHANNEL_OPERATIONS=100000 LAPWING_BOOK_OPERATIONS=100000 LAPWING_FOLD_STREAMS=100 \
    LAPWING_CHECKPOINTER_HISTORIES=5 LAPWING_RECORDER_STRIDE=11
  # One build of everything for both sanitizers and the fuzz targets.
  build 'address, undefined (clang): build' clang-asan tests_unit fuzz_targets &&
    run_ctest 'address, undefined (clang): unit tests' clang-asan -L "$tiers_so_far" -L '^unit$' &&
    for target in channel checkpoint order_fold relay_message; do
      run_script "fuzz: $target" tests/fuzz/run.sh "${target}_fuzz" "$LAPWING_FUZZ_SECONDS"
    done
  build 'thread (gcc): build' tsan tests_threads &&
    run_ctest 'thread (gcc): tests with threads' tsan -L "$tiers_so_far" -L '^threads$'
  build 'thread (clang): build' clang-tsan tests_oracle &&
    run_ctest 'thread (clang): torn-read oracle' clang-tsan -L '^oracle$'
}

model_stages() {
  run_script 'memory models' tests/model/run.sh
}

long_stages() {
  ci_stages
  build 'address, undefined (gcc): build' asan tests_unit lapwing_c &&
    run_ctest 'address, undefined (gcc): unit tests' asan -L '^unit$' &&
    run_script 'leaks over the address sanitizer' bindings/leaks.sh --languages python,node --sanitized build/asan
  build 'clang: build of everything' clang all &&
    run_script 'clang: instructions a record' bench/instructions.sh --check build/clang
  run_script 'aarch64 under qemu' tests/cross/aarch64.sh
  run_script 'the README in bare roots' tests/cross/fresh_roots.sh
  run_script 'packages and image' deploy/packages/test.sh
}

deploy/setup.sh
setup_status=$?
finish 'set-up' "$SECONDS" $setup_status none
start=$SECONDS
if ((setup_status == 0)) && [[ -n $stages ]]; then
  printf '\n=== stages %s, seed %s\n' "$stages" "$LAPWING_TEST_SEED"
  "${stages}_stages"
elif ((setup_status == 0)); then
  printf '\n=== tier %s, seed %s\n' "$tier" "$LAPWING_TEST_SEED"
  house_stages
  "${tier}_stages"
  run_script 'budget of the tier' python3 tools/tally.py budget "$tier" \
    $((passed + failed + skipped)) $((SECONDS - start))
fi

((${#failures[@]} > 0)) && printf '\n=== the end of what failed\n' && printf '%s\n' "${failures[@]}"
printf '\n=== summary (%d s)\n' "$SECONDS"
printf '%s\n' "${table[@]}"
((${#notes[@]} > 0)) && printf '%s\n' "${notes[@]}"
printf '%d passed, %d failed, %d skipped\n' "$passed" "$failed" "$skipped"
((failed == 0))
