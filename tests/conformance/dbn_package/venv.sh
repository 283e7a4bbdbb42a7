#!/bin/sh
# Makes a Python environment with the package `databento-dbn` in the build folder (that is
# LAPWING_BUILD_DIR, else build/) and prints the path of its interpreter. To compare DBN files:
#
#   python=$(tests/conformance/dbn_package/venv.sh) || exit $?
#   "$python" tests/conformance/dbn_package/compare_dbn.py A B
#
# Exit: 0 done; 77 SKIPPED, because the package is neither on this machine nor to be had; 1 anything
# else.
# LAPWING_REQUIRE_REGISTRIES=1 makes a skip an error.
set -eu
case ${LAPWING_BUILD_DIR:-/} in # as the caller means it, and not from this folder
  /*) ;;
  *) export LAPWING_BUILD_DIR="$PWD/$LAPWING_BUILD_DIR" ;;
esac
cd "$(dirname "$0")"

install_seconds_max=600 # ends a hang; what cannot be reached is known to pip after 20 s
venv=${LAPWING_BUILD_DIR:-$(cd ../../.. && pwd)/build}/dbn_package_venv

skip() {
  {
    echo "*****************************************************************************"
    echo "*** SKIPPED: the comparison with the package databento-dbn did NOT run."
    echo "*** $1"
    echo "*** That another implementation reads our DBN files is UNPROVEN here."
    echo "*****************************************************************************"
  } >&2
  if [ "${LAPWING_REQUIRE_REGISTRIES:-0}" = 1 ]; then
    echo "LAPWING_REQUIRE_REGISTRIES=1: that is an error." >&2
    exit 1
  fi
  exit 77
}

mkdir -p "$(dirname "$venv")"
exec 9>"$venv.lock"
flock 9 # several tests may want it at once

# The requirements are copied last: they stand there only if all of them were installed.
if ! cmp -s requirements.txt "$venv/requirements.txt"; then
  rm -rf "$venv"
  python3 -m venv "$venv" >&2 || skip "python3 cannot make an environment. Install python3-venv."
  reason=$(timeout "$install_seconds_max" "$venv/bin/pip" --disable-pip-version-check install \
    --quiet --retries 1 --timeout 20 --requirement requirements.txt 2>&1) || {
    echo "$reason" >&2
    skip "PyPI cannot be reached, or does not have what requirements.txt names."
  }
  cp requirements.txt "$venv/requirements.txt"
fi
echo "$venv/bin/python"
