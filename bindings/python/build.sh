#!/bin/sh
# Builds the package in an environment of its own, build/bindings/python/venv, with what
# requirements.txt names.
#
# PYTHON  the interpreter; by default python3
# LAPWING_REQUIRE_REGISTRIES  1: a package that cannot be had is an error
#
# Exit: 0 built; 77 SKIPPED: the last line says what the machine lacks; 1 anything else.
set -eu
cd "$(dirname "$0")"

install_seconds_max=900 # ends a hang; what cannot be reached is known to pip after 20 s
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

# The requirements are copied last: they stand there only if all of them were installed.
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

# CMake takes the launcher from the environment. Paths of the clone are no part of what ccache knows it by.
if command -v ccache >/dev/null; then
  CCACHE_BASEDIR=$(cd ../.. && pwd)
  export CMAKE_CXX_COMPILER_LAUNCHER=ccache CCACHE_BASEDIR CCACHE_NOHASHDIR=true
fi
"$venv/bin/pip" --disable-pip-version-check install --quiet --no-index --no-deps \
  --no-build-isolation --force-reinstall --config-settings=build-dir="$build/native" .
