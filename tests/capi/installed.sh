#!/usr/bin/env bash
# Installs only the C interface of a build into an empty prefix, then builds and runs C11 programs
# with it as users do: with pkg-config, with CMake, and the complete program in docs/reference/c.md.
# Also checks the library's dependencies and exports.
#   tests/capi/installed.sh [BUILD]      default: LAPWING_BUILD_DIR, else build/release
# Prints `3 of 3` for the programs. Exit: 0, or 1 if something fails.
set -uo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
build=$(cd "${1:-${LAPWING_BUILD_DIR:-$root/build/release}}" && pwd) || exit 1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failed=0
check() {  # NAME COMMAND…
  if "${@:2}" >"$work/output" 2>&1; then return; fi
  failed=$((failed + 1))
  echo "FAILED: $1"
  tail -n 20 "$work/output"
}

cmake --install "$build" --component c --prefix "$work/prefix" >"$work/output" 2>&1 || { tail "$work/output"; exit 1; }
library=$(find "$work/prefix" -name 'liblapwing.so.1')
libdir=$(dirname "$library")
export LD_LIBRARY_PATH=$libdir
ran=0

# Only the C headers and the library are available: no -std=gnu, no C++.
export PKG_CONFIG_PATH=$libdir/pkgconfig
# shellcheck disable=SC2046
if cc -std=c11 -Wall -Wextra -Wpedantic -Werror "$root/tests/capi/round_trip.c" -o "$work/by_pkg_config" \
    $(pkg-config --cflags --libs lapwing) && [[ $("$work/by_pkg_config" "$work/bus1") == ok ]]; then
  ran=$((ran + 1))
fi

mkdir "$work/user"
cp "$root/tests/capi/round_trip.c" "$work/user/"
cat >"$work/user/CMakeLists.txt" <<'END'
cmake_minimum_required(VERSION 3.25)
project(user LANGUAGES C)
find_package(lapwing REQUIRED COMPONENTS c)
add_executable(user round_trip.c)
target_compile_features(user PRIVATE c_std_11)
target_link_libraries(user PRIVATE lapwing::c)
END
if cmake -S "$work/user" -B "$work/user/build" -DCMAKE_PREFIX_PATH="$work/prefix" >"$work/output" 2>&1 &&
    cmake --build "$work/user/build" >>"$work/output" 2>&1 &&
    [[ $("$work/user/build/user" "$work/bus2") == ok ]]; then
  ran=$((ran + 1))
else
  tail "$work/output"
fi
# The program in docs/reference/c.md, unchanged.
quotes() {
  sed -n '/^```c$/,/^```$/{/^```/d;p}' "$root/docs/reference/c.md" >"$work/quotes.c"
  # shellcheck disable=SC2046
  cc -std=c11 -Wall -Wextra -Wpedantic -Werror "$work/quotes.c" -o "$work/quotes" \
    $(pkg-config --cflags --libs lapwing) || return
  "$work/quotes" "$work/quotes.bus" >"$work/quotes.out" || return
  diff "$work/quotes.out" - <<<$'1: 99 101\n2: 100 101\n3: 100 102'
}
if quotes >"$work/output" 2>&1; then
  ran=$((ran + 1))
else
  tail "$work/output"
fi
echo "$ran of 3"

several_sources() {  # the section of that name in docs/reference/c.md, as a function
  {
    printf '%s\n' '#include <lapwing.h>' 'static lapwing_error error = {.struct_size = sizeof error};' \
      'void must(lapwing_result result);' 'void on_batch(uint64_t token, const lapwing_batch *batch);' \
      'void follow(lapwing_subscriber **subscribers, lapwing_batch batch);' \
      'void follow(lapwing_subscriber **subscribers, lapwing_batch batch) {'
    sed -n '/^## Several sources/,/^## Durations/s/^    //p' "$root/docs/reference/c.md"
    echo '}'
  } >"$work/several_sources.c"
  grep -q lapwing_wait_set_wait "$work/several_sources.c" &&
    cc -std=c11 -Wall -Wextra -Wpedantic -Werror -fsyntax-only -I"$work/prefix/include" "$work/several_sources.c"
}
check "the part of docs/reference/c.md about several sources compiles" several_sources

nothing_else() {
  ! (cd "$work/prefix" && find . -type f) | grep -vE '/lapwing\.h$|/liblapwing\.so\.1\.0$|/lapwing\.pc$|/cmake/lapwing/'
}
check "the component has nothing of C++ or of the program" nothing_else

as_cpp() {  # the header must also compile as C++11
  printf '#include <lapwing.h>\nint main() { return 0; }\n' |
    g++ -std=c++11 -Wall -Wextra -Wpedantic -Werror -x c++ -fsyntax-only -I"$work/prefix/include" -
}
check "the header compiles as C++11" as_cpp

needed=$(readelf --dynamic --wide "$library" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' | sort)
echo "needs: $(tr '\n' ' ' <<<"$needed")"
# The part of Debian's Abseil that a shared library cannot include (ADR 19).
needs_no_more() {
  ! grep -vE '^(libc|libm|libgcc_s|libstdc\+\+|libzstd|libxxhash|ld-linux-x86-64|ld-linux-aarch64)\.so\.' <<<"$needed" |
    grep -vE '^libabsl_(base|cord|cord_internal|raw_hash_set|str_format_internal|strings|synchronization|throw_delegate|time)\.so\.'
}
check "the library needs no other" needs_no_more
exports_the_header() {
  diff <(nm -D --defined-only "$library" | awk '$2 != "A" { sub(/@.*/, "", $3); print $3 }' | sort) \
    <(python3 "$root/bindings/c/golden.py" --functions | sort)
}
check "the library exports the functions of lapwing.h and no others" exports_the_header
[[ $ran == 3 && $failed == 0 ]]
