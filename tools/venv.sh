#!/bin/sh
# Creates a Python environment in the build folder (LAPWING_BUILD_DIR or build/) and prints the path
# of its interpreter.
#
#   venv.sh NAME REQUIREMENTS UNPROVEN
#
# NAME is the name of the environment, REQUIREMENTS is the file that lists its packages, and
# UNPROVEN describes what remains untested on a machine without them.
#
# Exit: 0 done; 77 SKIPPED, because a package is neither installed nor available; 1 any other error.
# LAPWING_REQUIRE_REGISTRIES=1 makes a skip an error.
set -eu
name=$1 requirements=$2 unproven=$3
build=${LAPWING_BUILD_DIR:-$(dirname "$0")/../build}

install_seconds_max=600 # ends a hang; pip reports unreachable servers after 20 s

skip() {
  {
    echo "*****************************************************************************"
    echo "*** SKIPPED: $1"
    echo "*** $unproven"
    echo "*****************************************************************************"
  } >&2
  if [ "${LAPWING_REQUIRE_REGISTRIES:-0}" = 1 ]; then
    echo "LAPWING_REQUIRE_REGISTRIES=1: that is an error." >&2
    exit 1
  fi
  exit 77
}

mkdir -p "$build"
venv=$(cd "$build" && pwd)/$name
exec 9>"$venv.lock"
flock 9 # several tests may create it at the same time

# The requirements are copied last, so they exist only if all of them were installed.
if ! cmp -s "$requirements" "$venv/requirements.txt"; then
  rm -rf "$venv"
  python3 -m venv "$venv" >&2 || skip "python3 cannot make an environment. Install python3-venv."
  reason=$(timeout "$install_seconds_max" "$venv/bin/pip" --disable-pip-version-check install \
    --quiet --retries 1 --timeout 20 --requirement "$requirements" 2>&1) || {
    echo "$reason" >&2
    skip "PyPI cannot be reached, or does not have what $requirements names."
  }
  cp "$requirements" "$venv/requirements.txt"
fi
echo "$venv/bin/python"
