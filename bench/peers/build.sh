#!/usr/bin/env bash
# Builds the peers in bench/peers/list into build/peers/, one program each.
#
#   bench/peers/build.sh            all of them
#   bench/peers/build.sh PEER…      only these
#   bench/peers/build.sh --cheap    those written in C++ that need no further dependencies
#
# For each peer, prints `built NAME VERSION`, or `missing NAME VERSION: ` and what is missing.
# bench/peers/setup.sh installs the missing Debian packages for all of them.
#
# LAPWING_PEERS_DIR   directory of the programs; default: build/peers
# LAPWING_BUILD_DIR   Lapwing's own build; default: build/release, configured if necessary
#
# Exit: 0 all requested peers are built, 1 one is missing, 2 wrong usage.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.." || exit 1

here=bench/peers
. "$here/rust.sh"
out=${LAPWING_PEERS_DIR:-$PWD/build/peers}
native=${LAPWING_BUILD_DIR:-$PWD/build/release}
cheap=(lapwing lapwing-channel head-counter-ring unix-socket pipe)
mkdir -p "$out/logs"

known() { awk '!/^#/ && NF { print $1 }' "$here/list"; }
field() { awk -v name="$1" -v column="$2" '!/^#/ && $1 == name { print $column }' "$here/list"; }

names=()
for argument in "$@"; do
  case $argument in
    -h|--help) sed -n '2,14s/^# \{0,1\}//p' "$0"; exit 0 ;;
    --cheap) names+=("${cheap[@]}") ;;
    *)
      known | grep -qxF -- "$argument" || {
        printf 'build: %s is not a peer; %s/list names them\n' "$argument" "$here" >&2
        exit 2
      }
      names+=("$argument")
      ;;
  esac
done
((${#names[@]} > 0)) || mapfile -t names < <(known)

missing=0
built() { printf 'built   %s %s\n' "$1" "$(field "$1" 2)"; }
lacks() {
  printf 'missing %s %s: %s\n' "$1" "$(field "$1" 2)" "$2"
  missing=1
}
# Prints the first error and the path of the log of a failed build.
failed_log() {
  printf 'its build failed: %s (%s)' "$(grep -iE 'error|failed' "$1" | head -1)" "$1"
}

build_cpp() {
  local name=$1 target=peer_${1//-/_} log=$out/logs/$1.log
  if [[ ! -f $native/CMakeCache.txt ]]; then
    cmake --preset release >"$out/logs/cmake.log" 2>&1 ||
      { lacks "$name" "$(failed_log "$out/logs/cmake.log")"; return; }
  fi
  if ! build_target "$target" "$log" && is_unknown "$log"; then
    # The build may have been configured before its package was installed.
    cmake "$native" >"$out/logs/cmake.log" 2>&1
    build_target "$target" "$log"
  fi
  if is_unknown "$log"; then lacks "$name" "$(package_hint "$name")"; return; fi
  [[ $(tail -n 1 "$log") == built ]] || { lacks "$name" "$(failed_log "$log")"; return; }
  ln -sf "$native/bench/peers/$name" "$out/$name" 2>>"$log" ||
    { lacks "$name" "$(failed_log "$log")"; return; }
  built "$name"
}
# Only the build directory contains the list of targets, so it may have to be configured first.
build_target() {  # NAME LOG
  cmake --build "$native" --target "$1" >"$2" 2>&1 && echo built >>"$2"
}
is_unknown() { grep -qE "unknown target '|No rule to make target" "$1"; }
package_hint() {
  case $1 in
    zeromq) printf 'apt-get install libzmq3-dev' ;;
    iceoryx) printf 'apt-get install iceoryx libiceoryx-posh-dev' ;;
    *) printf 'CMake made no target for it' ;;
  esac
}

# Each package has its own feature of the crate, so that a failing one does not affect the others.
build_crate() {
  local name=$1 package=$2 log=$out/logs/$1.log
  rust_is_new_enough ||
    { lacks "$name" "apt-get install cargo-web (any Rust from $rust_needed on will do)"; return; }
  local -a environment=(CARGO_TARGET_DIR="$out/target")
  if [[ $package == tachyon ]]; then
    command -v clang++-19 >/dev/null ||
      { lacks "$name" 'apt-get install clang-19 (it is C++23)'; return; }
    environment+=(CC=clang-19 CXX=clang++-19)
  fi
  env "${environment[@]}" cargo build --release --locked --manifest-path "$here/rust/Cargo.toml" \
    --no-default-features --features "$package" >"$log" 2>&1 ||
    { lacks "$name" "$(failed_log "$log")"; return; }
  cp "$out/target/release/lapwing-peers" "$out/$name.new" && mv "$out/$name.new" "$out/$name"
  built "$name"
}

# All Maven peers are built at once, because Maven fetches every package before it compiles.
maven_outcome=
build_maven() {
  local name=$1 log=$out/logs/maven.log
  if [[ -z $maven_outcome ]]; then
    maven_outcome=ok
    if ! command -v mvn >/dev/null || ! command -v javac >/dev/null; then
      maven_outcome='apt-get install maven default-jdk-headless'
    elif ! mvn --batch-mode --no-transfer-progress --file "$here/java/pom.xml" \
      -Dpeers.out="$out/java" compile >"$log" 2>&1; then
      maven_outcome=$(failed_log "$log")
    fi
  fi
  [[ $maven_outcome == ok ]] || { lacks "$name" "$maven_outcome"; return; }
  cat >"$out/$name" <<END
#!/bin/sh
exec java $(tr '\n' ' ' <"$here/java/jvm_options") \\
  -cp "$out/java/classes:$out/java/lib/*" lapwing.peers.Main $name "\$@"
END
  chmod +x "$out/$name"
  built "$name"
}

for name in "${names[@]}"; do
  package=$(field "$name" 3)
  case $package in
    cpp:*|debian:*) build_cpp "$name" ;;
    maven:*) build_maven "$name" ;;
    crate:*) build_crate "$name" "${package#*:}" ;;
  esac
done
exit $missing
