#!/bin/sh
# Installs a wheel built by wheel.sh in a minimal Debian 13, without Lapwing and Abseil, and reads a bus there.
#
#   wheel_test.sh
#
# Debian 13's Python may differ from this machine's, and nanobind has no stable ABI for the oldest
# Python that the package supports. So a second root with a compiler builds the wheel for that
# Python, with this machine's libraries. The wheel for this machine's Python must be tagged
# manylinux_2_36.
#
# Needs root, debootstrap, a Debian mirror among apt's sources, and PyPI. Uses the library
# LAPWING_LIBRARY, by default the one built in LAPWING_BUILD_DIR (default: build/release). Exit: 0
# done; 77 SKIPPED: the last line names the missing requirement; 1 any other error.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
library=$(realpath -s "${LAPWING_LIBRARY:-${LAPWING_BUILD_DIR:-$root/build/release}/liblapwing.so.1}")
export LAPWING_LIBRARY="$library"

suite=trixie
python_version=3.13

lacks() {
  echo "SKIPPED: the wheel was not tried on Debian 13. It needs $1" >&2
  exit 77
}
[ "$(id -u)" = 0 ] || lacks "root"
command -v debootstrap >/dev/null || lacks "debootstrap"
mirror=$(apt-get indextargets --format '$(REPO_URI)' 'Origin: Debian' 'Label: Debian' 2>/dev/null |
  sort -u | head -n 1)
[ -n "$mirror" ] || lacks "a mirror of Debian among apt's sources"
# The mounts below are removed when the script ends.
[ "${LAPWING_OWN_MOUNTS:-}" = 1 ] ||
  exec env LAPWING_OWN_MOUNTS=1 unshare --mount --propagation private "$0"

work=$(mktemp -d)
trap 'umount -R "$work"/*/dev "$work"/*/proc 2>/dev/null || true; rm -rf --one-file-system "$work"' EXIT
say() { echo "wheel_test: $1"; }

say "this machine's wheel"
"$here/wheel.sh" "$work/own" >"$work/log" 2>&1 || { code=$?; tail -n 20 "$work/log"; exit $code; }
ls "$work/own"/lapwing-*-manylinux_2_36_x86_64.whl

make_root() { # NAME PACKAGES
  say "a root: $1"
  debootstrap --variant=minbase --cache-dir="$work/cache" --include="$2" "$suite" "$work/$1" \
    "$mirror" >"$work/log" 2>&1 || { tail -n 20 "$work/log"; exit 1; }
  mkdir -p "$work/$1/wheels" "$work/$1/dev" "$work/$1/proc"
  mount --rbind /dev "$work/$1/dev"
  mount -t proc proc "$work/$1/proc"
}
inside() { # ROOT COMMAND…
  name=$1
  shift
  env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C.UTF-8 chroot "$work/$name" "$@"
}
mkdir "$work/cache"
make_root bare python3,python3-venv
make_root compiler python3,python3-venv,python3-dev,g++,cmake,ninja-build

say "the wheel for Python $python_version"
fetch() { # DIRECTORY PACKAGE…: wheels for the roots' Python
  directory=$1
  shift
  python3 -m pip --disable-pip-version-check download --quiet --only-binary=:all: \
    --python-version "$python_version" --dest "$directory" "$@"
}
# shellcheck disable=SC2046
fetch "$work/compiler/wheels" $(grep -E '^(nanobind|scikit-build-core)==' "$here/wheel_requirements.txt")
fetch "$work/bare/wheels" "numpy>=2.1"
mkdir -p "$work/compiler/src/bindings"
cp -r "$here" "$work/compiler/src/bindings/python"
cp -r "$root/include" "$work/compiler/src/include"
cp "$library" "$work/compiler/src/liblapwing.so.1"
inside compiler sh -eu -c '
  python3 -m venv /venv
  /venv/bin/pip install --quiet --no-index --find-links /wheels nanobind scikit-build-core
  PATH=/venv/bin:$PATH /venv/bin/pip wheel --quiet --no-index --no-deps --no-build-isolation \
    --config-settings=cmake.define.LAPWING_BUNDLE=/src/liblapwing.so.1 \
    --wheel-dir /raw /src/bindings/python'
"$here/wheel.sh" "$work/bare/wheels" "$work"/compiler/raw/lapwing-*.whl >"$work/log" 2>&1 ||
  { tail -n 20 "$work/log"; exit 1; }
ls "$work"/bare/wheels

say "a bus is followed in the bare root"
if find "$work/bare" -xdev -path "$work/bare/proc" -prune -o -name 'libabsl*' -print -o \
  -name 'liblapwing*' -print | grep .; then
  say "void: the bare root has these libraries"
  exit 1
fi
cp "$here/examples/publish.py" "$here/examples/two_buses.py" "$work/bare/"
inside bare sh -eu -c '
  python3 -m venv /venv
  /venv/bin/pip install --quiet --no-index --find-links /wheels lapwing
  cd /
  /venv/bin/python publish.py /es 10000
  /venv/bin/python publish.py /nq 5000
  /venv/bin/python two_buses.py /es /nq >said
  /venv/bin/python -c "import lapwing; print(lapwing.LIBRARY)"'
cat "$work/bare/said"
grep -qx '/es: 10000 records' "$work/bare/said"
grep -qx '/nq: 5000 records' "$work/bare/said"
say "done"
