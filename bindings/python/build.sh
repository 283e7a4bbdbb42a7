#!/bin/sh
# Builds the package in its own environment, build/bindings/python/venv, with the packages in
# requirements.txt.
#
# PYTHON  the interpreter; by default python3
# LAPWING_REQUIRE_REGISTRIES  1: fail if a package cannot be downloaded
#
# Exit: 0 built; 77 SKIPPED: the last line names the missing requirement; 1 any other error.
set -eu
cd "$(dirname "$0")"

install_seconds_max=900 # ends a hang; pip detects an unreachable index after 20 s
build=$(cd ../.. && pwd)/build/bindings/python
venv=$build/venv
python=${PYTHON:-python3}

lacks() {
  echo "SKIPPED: the Python package was not built. It needs" >&2
  echo "$1" >&2
  exit 77
}

command -v "$python" >/dev/null || lacks "Python 3.10 or newer; this machine has none"
"$python" -c 'import sys; sys.exit(sys.version_info < (3, 10))' ||
  lacks "Python 3.10 or newer; this machine has $("$python" --version | cut -d' ' -f2)"
"$python" -c 'import ensurepip, venv' 2>/dev/null ||
  lacks "the modules venv and ensurepip (python3-venv)"
[ -e "$("$python" -c 'import sysconfig; print(sysconfig.get_path("include"))')/Python.h" ] ||
  lacks "the headers of Python (python3-dev)"
command -v c++ >/dev/null || lacks "a C++20 compiler (g++ 12 or newer)"
command -v cmake >/dev/null || lacks "CMake 3.25 or newer"

mkdir -p "$build"
exec 9>"$build/lock"
flock 9

# Copied last, so that the copy exists only if all requirements were installed.
if ! cmp -s requirements.txt "$venv/requirements.txt"; then
  rm -rf "$venv"
  "$python" -m venv "$venv"
  reason=$(timeout "$install_seconds_max" "$venv/bin/pip" --disable-pip-version-check install \
    --quiet --retries 1 --timeout 20 --requirement requirements.txt 2>&1) || {
    echo "$reason" >&2
    [ "${LAPWING_REQUIRE_REGISTRIES:-0}" != 1 ] || exit 1
    lacks "the packages of bindings/python/requirements.txt, and no package index has them"
  }
  cp requirements.txt "$venv/requirements.txt"
fi

# CMake reads the launcher from the environment. The path of the clone is not part of ccache's key.
if command -v ccache >/dev/null; then
  CCACHE_BASEDIR=$(cd ../.. && pwd)
  export CMAKE_CXX_COMPILER_LAUNCHER=ccache CCACHE_BASEDIR CCACHE_NOHASHDIR=true
fi
"$venv/bin/pip" --disable-pip-version-check install --quiet --no-index --no-deps \
  --no-build-isolation --force-reinstall --config-settings=build-dir="$build/native" .
