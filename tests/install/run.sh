#!/usr/bin/env bash
# Installs a build into an empty prefix, and builds and runs four programs outside the tree by
# find_package, by pkg-config and by FetchContent, with no other include path. Three of them, and the
# package itself, know nothing of RocksDB.
#   tests/install/run.sh [BUILD]     default: build/release, where `lapwing_package` and
#                                    `lapwing_checkpoints_package` are built
set -uo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
build=${1:-${LAPWING_BUILD_DIR:-$root/build/release}}
work=$(mktemp -d "${TMPDIR:-/tmp}/lapwing-install.XXXXXX")
trap 'rm -rf "$work"' EXIT
passed=0
failed=0

check() {  # NAME COMMAND...
  local name=$1
  shift
  if "$@" >"$work/output" 2>&1; then
    passed=$((passed + 1))
  else
    failed=$((failed + 1))
    echo "FAILED: $name"
    tail -n 30 "$work/output"
  fi
}

run_all() {  # WAY DIRECTORY: the four programs, on a bus of their own
  local bus=$work/bus-$1
  check "$1: publish" "$2/publish" "$bus"
  check "$1: subscribe" "$2/subscribe" "$bus"
  check "$1: channel" "$2/channel" "$work/$1"
  check "$1: checkpoint" "$2/checkpoint" "$work/pairs-$1"
}

must() {
  if ! "$@" >"$work/output" 2>&1; then
    echo "FAILED: $*"
    tail -n 30 "$work/output"
    exit 1
  fi
}

cp -r "$root/tests/install/consumer" "$work/consumer"
must cmake --install "$build" --prefix "$work/prefix"
prefix=$work/prefix

# Only the public headers, and nothing of the rooms.
(cd "$root/include" && find lapwing -name '*.h' | sort) >"$work/public"
(cd "$prefix/include" && find . -type f | sed 's|^\./||' | sort) >"$work/installed"
if ! diff "$work/public" "$work/installed"; then
  echo "FAILED: what is installed is not what is public"
  exit 1
fi

# Nobody needs RocksDB who does not ask for it.
package=$(dirname "$(find "$prefix" -name lapwing-config.cmake)")
without_rocksdb() {
  ! grep -il rocksdb "$package"/lapwing-targets*.cmake \
    "$(find "$prefix" -name lapwing-cpp.pc)" &&
    ! nm -C --undefined-only "$(find "$prefix" -name liblapwing.a)" | grep rocksdb:: &&
    grep -q rocksdb "$(find "$prefix" -name lapwing-cpp-checkpoints.pc)"
}
check "lapwing::lapwing does not mention RocksDB" without_rocksdb

must cmake -S "$work/consumer" -B "$work/found" -DCMAKE_PREFIX_PATH="$prefix" \
  -DCMAKE_BUILD_TYPE=Release
must cmake --build "$work/found" -j2
run_all find_package "$work/found"

linked_without_rocksdb() { ! ldd "$work/found/subscribe" | grep rocksdb; }
check "a program of lapwing::lapwing is linked without RocksDB" linked_without_rocksdb

export PKG_CONFIG_PATH=$(dirname "$(find "$prefix" -name lapwing-cpp.pc)")
mkdir "$work/pkgconfig"
for program in publish subscribe channel; do
  # shellcheck disable=SC2046
  must g++ -O2 -Wall -Wextra -Wpedantic -Werror "$work/consumer/$program.cc" \
    -o "$work/pkgconfig/$program" $(pkg-config --cflags --libs --static lapwing-cpp)
done
# shellcheck disable=SC2046
must g++ -O2 -Wall -Wextra -Wpedantic -Werror "$work/consumer/checkpoint.cc" \
  -o "$work/pkgconfig/checkpoint" $(pkg-config --cflags --libs --static lapwing-cpp-checkpoints)
run_all pkg-config "$work/pkgconfig"

launcher=()
if command -v ccache >/dev/null; then
  export CCACHE_BASEDIR=$root CCACHE_NOHASHDIR=true
  launcher=(-DCMAKE_CXX_COMPILER_LAUNCHER=ccache)
fi
must cmake -S "$work/consumer" -B "$work/fetched" -DLAPWING_SOURCE="$root" \
  -DCMAKE_BUILD_TYPE=RelWithDebInfo "${launcher[@]}"
must cmake --build "$work/fetched" -j2
run_all FetchContent "$work/fetched"

echo "$passed passed, $failed failed, 0 skipped"
[[ $failed == 0 && $passed == 14 ]]
