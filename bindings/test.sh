#!/usr/bin/env bash
# Builds the package of each language, and runs the scenarios of tests/conformance/bindings with all of
# them. Prints a table, and then `8 languages, 0 differ`.
#   bindings/test.sh                        every language that has a package
#   bindings/test.sh --languages c,python   only these
#   bindings/test.sh --break LANGUAGE       swaps two error names there; the report must name the language
#   bindings/test.sh --unit                 also runs each language's own tests and examples
# Reports and skips a language if this machine cannot build it. If LAPWING_REQUIRE_REGISTRIES is set,
# that is an error.
# Uses the library of the build LAPWING_BUILD_DIR, by default build/release.
# Exit: 0 all answers are as expected, 1 one is not, or a required language was skipped, 2 wrong usage.
set -uo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
export LAPWING_BUILD_DIR=${LAPWING_BUILD_DIR:-$root/build/release}
export LAPWING_LIBRARY=${LAPWING_LIBRARY:-$LAPWING_BUILD_DIR/liblapwing.so.1}
unit=false
languages=
more=()
usage() { sed -n '2,13s/^# \{0,1\}//p' "$0"; }
while [[ $# -gt 0 ]]; do
  case $1 in
    -h|--help) usage; exit 0 ;;
    --unit) unit=true ;;
    --languages) languages=${2-}; shift ;;
    --break) more+=(--break "${2-}"); shift ;;
    *) usage >&2; exit 2 ;;
  esac
  shift
done
languages=${languages:-c,python,rust,go,java,kotlin,node,csharp}
for language in ${languages//,/ }; do
  if [[ $language != c && ! -x $root/bindings/$language/build.sh ]]; then
    printf 'test: there is no package for %s; there are c, python, rust, go, java, kotlin, node, csharp\n' \
      "$language" >&2
    exit 2
  fi
done

log=$(mktemp)
trap 'rm -f "$log"' EXIT
left_out=0
failed=0
built=()
for language in ${languages//,/ }; do
  if [[ $language == c ]]; then
    built+=(c)
    continue
  fi
  "$root/bindings/$language/build.sh" >"$log" 2>&1
  case $? in
    0) built+=("$language") ;;
    77)
      left_out=$((left_out + 1))
      echo "SKIPPED: $language: $(tail -n 1 "$log")"
      ;;
    *)
      failed=1
      echo "FAILED: bindings/$language/build.sh"
      tail -n 30 "$log"
      ;;
  esac
done

run() {  # --languages LIST, and other options of run.py; does nothing if the list is empty
  [[ -n $2 ]] || return
  python3 "$root/tests/conformance/bindings/run.py" "${more[@]}" "$@" || failed=1
}
joined() { local IFS=,; echo "$*"; }
run --languages "$(joined "${built[@]}")"

if $unit; then
  for language in "${built[@]}"; do
    [[ $language == c ]] && continue
    if "$root/bindings/$language/test.sh" >"$log" 2>&1; then
      echo "ok: bindings/$language/test.sh"
    else
      failed=1
      echo "FAILED: bindings/$language/test.sh"
      tail -n 40 "$log"
    fi
  done
fi
[[ -n ${LAPWING_REQUIRE_REGISTRIES-} && $left_out -gt 0 ]] && failed=1
exit $failed
