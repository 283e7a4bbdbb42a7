#!/usr/bin/env bash
# Installs each package as its users do, in an empty folder of its own, and runs the package's example `publish`
# with the installed library: `8 installed, 8 ran`. Run it after bindings/test.sh, which builds the packages.
#   bindings/install.sh [LANGUAGE…]      default: c python rust go java kotlin node csharp
# Uses the build LAPWING_BUILD_DIR, by default build/release. Exit: 0 all packages installed and ran, 1 at least one
# did not, 2 unknown language.
set -uo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
build=$(cd "${LAPWING_BUILD_DIR:-$root/build/release}" && pwd) || exit 1
bindings=$root/bindings
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
unset LAPWING_LIBRARY
languages=("$@")
[[ $# -gt 0 ]] || languages=(c python rust go java kotlin node csharp)

for language in "${languages[@]}"; do
  case $language in
    c|python|rust|go|java|kotlin|node|csharp) ;;
    *) printf 'install: there is no package for %s\n' "$language" >&2; exit 2 ;;
  esac
done

cmake --install "$build" --prefix "$work/prefix" >"$work/log" 2>&1 || { tail "$work/log"; exit 1; }
libdir=$(dirname "$(find "$work/prefix" -name liblapwing.so.1)")
export LD_LIBRARY_PATH=$libdir PKG_CONFIG_PATH=$libdir/pkgconfig
export C_INCLUDE_PATH=$work/prefix/include CPLUS_INCLUDE_PATH=$work/prefix/include

# install_LANGUAGE runs in the folder of the language. Then run_LANGUAGE BUS publishes some records.
install_c() {
  # shellcheck disable=SC2046
  cc "$root/tests/capi/round_trip.c" -o publish $(pkg-config --cflags --libs lapwing)
}
run_c() { ./publish "$1"; }
install_python() {
  python3 -m venv venv && venv/bin/pip install --quiet "$bindings/python" &&
    python3 -m venv bundled && bundled/bin/pip install --quiet "$bindings/python" \
      "--config-settings=cmake.define.LAPWING_BUNDLE=$build/liblapwing.so.1" &&
    cp "$bindings/python/examples/publish.py" .
}
# Without LD_LIBRARY_PATH, the package that bundles the library can find only its own copy.
run_python() {
  venv/bin/python publish.py "$1" 10 &&
    env -u LD_LIBRARY_PATH bundled/bin/python -c \
      'import pathlib, lapwing; assert pathlib.Path(lapwing.LIBRARY).parent == pathlib.Path(lapwing.__file__).parent'
}
install_rust() {
  cargo init --quiet --name publish . && cargo add --quiet --path "$bindings/rust/lapwing" &&
    cargo add --quiet zerocopy --features derive &&
    cp "$bindings/rust/lapwing/examples/publish.rs" src/main.rs && cargo build --quiet
}
run_rust() { target/debug/publish "$1" 10; }
install_go() {
  local module
  module=$(cd "$bindings/go" && go list -m) &&
    go mod init publish && go mod edit "-require=$module@v0.0.0" "-replace=$module=$bindings/go" &&
    cp "$bindings/go/examples/publish/main.go" . && go build -o publish .
}
run_go() { ./publish "$1" 10; }
jdk() { . "$bindings/java/jdk.sh" && find_jdk; }
install_java() { jdk && "$bindings/java/build.sh" && cp "$bindings/java/examples/Publish.java" .; }
run_java() {
  jdk && "$JAVA_HOME/bin/java" -cp "$root/build/bindings/java/lapwing.jar" \
    --enable-native-access=ALL-UNNAMED Publish.java "$1"
}
# Maven compiles Kotlin's examples with the tests of its package.
install_kotlin() {
  jdk && "$bindings/kotlin/build.sh" && cp "$root/build/bindings/kotlin/lapwing-kotlin.jar" . &&
    cp -r "$root/build/bindings/kotlin/lib" "$root/build/bindings/kotlin/test-classes" .
}
run_kotlin() {
  jdk && "$JAVA_HOME/bin/java" --enable-native-access=ALL-UNNAMED \
    -cp 'lapwing-kotlin.jar:lib/*:test-classes' lapwing.examples.PublishKt "$1"
}
install_node() {
  "$bindings/node/build.sh" && npm init --yes && npm install "$root/build/bindings/node" &&
    cp "$bindings/node/examples/publish.mjs" .
}
run_node() { node publish.mjs "$1" 10; }
install_csharp() {
  "$bindings/csharp/build.sh" && cp "$root/build/bindings/csharp/Lapwing.dll" . &&
    mcs -r:Lapwing.dll -out:publish.exe "$bindings/csharp/examples/Publish.cs"
}
run_csharp() { mono publish.exe "$1" 10; }

installed=0
ran=0
for language in "${languages[@]}"; do
  mkdir -p "$work/$language"
  cd "$work/$language" || exit 1
  if ! "install_$language" >"$work/log" 2>&1; then
    echo "FAILED: install $language"
    tail -n 15 "$work/log"
    continue
  fi
  installed=$((installed + 1))
  if "run_$language" "$work/$language/bus" >"$work/log" 2>&1 &&
      "$build/lapwing" tail --bus "$work/$language/bus" --from oldest --until-closed >"$work/rows" 2>>"$work/log" &&
      [[ -s $work/rows ]]; then
    ran=$((ran + 1))
    echo "$language: $(wc -l <"$work/rows") records"
  else
    echo "FAILED: run $language"
    tail -n 15 "$work/log"
  fi
done
echo "$installed installed, $ran ran"
[[ $installed == "${#languages[@]}" && $ran == "${#languages[@]}" ]]
