# shellcheck shell=bash
# Functions for the package tests. Set $work to a directory first.
# shellcheck disable=SC2034,SC2154 # set and read by the tests
passed=0 failed=0 skipped=0

skip() { printf 'SKIPPED: %s\n' "$1"; exit 77; }

# check NAME COMMAND...: prints the end of the command's output if the command fails.
check() {
  local name=$1
  shift
  if "$@" >"$work/output" 2>&1; then
    printf 'passed: %s\n' "$name"
    ((passed += 1))
  else
    printf 'FAILED: %s\n' "$name"
    tail -n 40 "$work/output"
    ((failed += 1))
    return 1
  fi
}

# silent COMMAND...: succeeds if the command does and prints nothing.
silent() {
  local output
  if ! output=$("$@" 2>&1) || [[ -n $output ]]; then
    printf '%s\n' "$output"
    return 1
  fi
}

# until_true COMMAND...: repeats the command in a subshell until it succeeds, for at most 60 s.
until_true() {
  local output deadline=$((SECONDS + 60))
  until output=$("$@" 2>&1); do
    ((SECONDS < deadline)) || { printf '%s\n' "$output"; return 1; }
    sleep 0.2
  done
}

# This machine's Debian release and mirror.
suite=$(. /etc/os-release && printf '%s' "$VERSION_CODENAME")
mirror=$(apt-get indextargets --format '$(REPO_URI)' | grep -v -e security -e updates |
  sort -u | head -n 1)
