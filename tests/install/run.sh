#!/usr/bin/env bash
# Installs a build into an empty prefix, then builds and runs four programs outside the tree with
# find_package, pkg-config and FetchContent, without other include paths. Three of them, and the
# package itself, do not use RocksDB.
#   tests/install/run.sh [BUILD]     default: build/release, where `lapwing_package` and
#                                    `lapwing_checkpoints_package` are built
set -uo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
build=$(cd "${1:-${LAPWING_BUILD_DIR:-$root/build/release}}" && pwd) || exit 1
# Next to the build, because ccache identifies a source by its path from the build directory.
# This way, FetchContent finds the objects that the build has compiled with the same flags.
work=$build-install-test
fetched=$build-install-fetched
exec 9>"$build-install-test.lock"
flock 9
rm -rf "$work" "$fetched"
mkdir "$work" || exit 1
trap 'rm -rf "$work" "$fetched"' EXIT
jobs=$(nproc)
passed=0
failed=0

launcher=()
compiler=(g++)
if command -v ccache >/dev/null; then
  # The same setting as in CMakeLists.txt.
  export CCACHE_BASEDIR=$root CCACHE_NOHASHDIR=true
  launcher=(-DCMAKE_CXX_COMPILER_LAUNCHER=ccache)
  compiler=(ccache g++)
fi

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

run_all() {  # WAY DIRECTORY: runs the four programs with their own bus
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
# The program in README.md, unchanged, with a main that calls its publish(), and its subscribe() up
# to the quote.
{
  sed -n '/^```cpp$/,/^```$/{/^```/d;p}' "$root/README.md"
  cat <<'END'
#include <cstdlib>
#include <iostream>

int main() {
  if (const absl::Status published = publish(); !published.ok()) {
    std::cerr << published.message() << '\n';
    return 1;
  }
  static int events = 0;
  const absl::Status ended = subscribe(
      [](lapwing::Sequence sequence, Quote quote) {
        std::exit(sequence == 1 && quote.bid == 100 && quote.ask == 101 && events == 1 ? 0 : 1);
      },
      [](const lapwing::Event&) { ++events; });
  std::cerr << "no quote came: " << ended.message() << '\n';
  return 1;
}
END
} >"$work/consumer/readme.cc"
must cmake --install "$build" --prefix "$work/prefix"
prefix=$work/prefix

# Only the public headers, and none of the layers'.
(cd "$root/include" && find lapwing -name '*.h' && echo lapwing.h) | sort >"$work/public"
(cd "$prefix/include" && find . -type f | sed 's|^\./||' | sort) >"$work/installed"
if ! diff "$work/public" "$work/installed"; then
  echo "FAILED: what is installed is not what is public"
  exit 1
fi

# Only users of checkpoints need RocksDB.
package=$(dirname "$(find "$prefix" -name lapwing-config.cmake)")
without_rocksdb() {
  ! grep -il rocksdb "$package"/lapwing-targets*.cmake \
    "$(find "$prefix" -name lapwing-cpp.pc)" &&
    ! nm -C --undefined-only "$(find "$prefix" -name liblapwing.a)" | grep rocksdb:: &&
    grep -q rocksdb "$(find "$prefix" -name lapwing-cpp-checkpoints.pc)"
}
check "lapwing::lapwing does not mention RocksDB" without_rocksdb

# Optimized, because gcc then reports most warnings.
must cmake -S "$work/consumer" -B "$work/found" -DCMAKE_PREFIX_PATH="$prefix" \
  -DCMAKE_BUILD_TYPE=Release "${launcher[@]}"
must cmake --build "$work/found" --parallel "$jobs"
run_all find_package "$work/found"

in_an_empty_folder() { mkdir "$work/readme" && cd "$work/readme" && "$work/found/readme"; }
check "the program of README.md" in_an_empty_folder

linked_without_rocksdb() { ! ldd "$work/found/subscribe" | grep rocksdb; }
check "a program of lapwing::lapwing is linked without RocksDB" linked_without_rocksdb

# Tutorial 2, up to its Python half: the page's files and commands.
tutorial=$root/docs/tutorial/2-your-own-records.md
block_of() { sed -n "/^\`\`\`$1\$/,/^\`\`\`\$/{/^\`\`\`/d;p}" "$tutorial"; }
mkdir "$work/tutorial"
block_of cpp >"$work/tutorial/quotes.cc"
block_of cmake >"$work/tutorial/CMakeLists.txt"
in_tutorial() { (cd "$work/tutorial" && HOME=$work bash -ec "$1"); }  # the page installs into $HOME/lapwing
ln -s "$prefix" "$work/lapwing"
commands=$(grep -E '^    (cmake -S|cmake --build build$|build/quotes|lapwing (info|tail))' "$tutorial")
its_command() { sed -n "$1p" <<<"$commands"; }
check "tutorial 2: configure" in_tutorial "$(its_command 1) ${launcher[*]}"
check "tutorial 2: build" in_tutorial "$(its_command 2)"
check "tutorial 2: publish" in_tutorial "$(its_command 3)"
reads_what_it_shows() {
  in_tutorial "$(its_command 4)" >"$work/tutorial/read" &&
    diff "$work/tutorial/read" <(sed -n '/^    event session$/,/^    event closed$/s/^    //p' "$tutorial")
}
check "tutorial 2: read" reads_what_it_shows
tools_read_the_description() {
  in_tutorial "PATH=$prefix/bin:\$PATH; $(its_command 5); $(its_command 6)" >"$work/tutorial/tail" &&
    grep -E '^ +2  time=2[^ ]+Z instrument=2 size=100 price=4501$' "$work/tutorial/tail"
}
check "tutorial 2: info and tail" tools_read_the_description
refuses_another_description() {
  sed -i 's/\bsize\b/quantity/' "$work/tutorial/quotes.cc"
  in_tutorial "$(its_command 7)" && ! in_tutorial "$(its_command 8)" 2>"$work/tutorial/refusal" &&
    grep quantity "$work/tutorial/refusal"
}
check "tutorial 2: another description is refused" refuses_another_description

# Not optimized, with assertions.
PKG_CONFIG_PATH=$(dirname "$(find "$prefix" -name lapwing-cpp.pc)")
export PKG_CONFIG_PATH
by_pkg_config() {  # PROGRAM PACKAGE
  # shellcheck disable=SC2046
  "${compiler[@]}" -O0 -Wall -Wextra -Wpedantic -Werror -c "$work/consumer/$1.cc" \
    -o "$work/pkgconfig/$1.o" $(pkg-config --cflags "$2") &&
    g++ "$work/pkgconfig/$1.o" -o "$work/pkgconfig/$1" $(pkg-config --libs --static "$2")
}
all_by_pkg_config() {
  local program processes=() status=0
  for program in publish subscribe channel; do
    by_pkg_config "$program" lapwing-cpp &
    processes+=($!)
  done
  by_pkg_config checkpoint lapwing-cpp-checkpoints &
  processes+=($!)
  for process in "${processes[@]}"; do wait "$process" || status=1; done
  return $status
}
mkdir "$work/pkgconfig"
must all_by_pkg_config
run_all pkg-config "$work/pkgconfig"

# With the build's flags, including warnings as errors, so that ccache has every object.
must cmake -G Ninja -S "$work/consumer" -B "$fetched" -DLAPWING_SOURCE="$root" \
  -DLAPWING_WARNINGS_ARE_ERRORS=ON -DCMAKE_CXX_COMPILER=g++ -DCMAKE_BUILD_TYPE=RelWithDebInfo \
  "${launcher[@]}"
must cmake --build "$fetched" --parallel "$jobs"
run_all FetchContent "$fetched"

echo "$passed passed, $failed failed, 0 skipped"
[[ $failed == 0 && $passed == 21 ]]
