#!/usr/bin/env bash
# Runs one rate of a language and prints its figures. See README.md. Run the package's build.sh
# first.
#   bench/languages/rates.sh LANGUAGE RATE KEY=VALUE…
# The JVM uses a fixed heap size, and compiles frequently used code early.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$here/../..
built=$root/build/bindings
language=$1
shift
jvm() {  # CLASSPATH MAIN …
  . "$root/bindings/java/jdk.sh"
  find_jdk
  export MALLOC_ARENA_MAX=1
  exec "$JAVA_HOME/bin/java" --enable-native-access=ALL-UNNAMED -XX:+UseSerialGC \
    -Xms64m -Xmx64m -XX:+AlwaysPreTouch -XX:CompileThresholdScaling=0.1 -cp "$@"
}
case $language in
  c|cpp) exec "${LAPWING_BUILD_DIR:-$root/build/release}/bench/languages_${language}_rates" "$@" ;;
  csharp) exec mono "$built/csharp/rates.exe" "$@" ;;
  go) GOGC=10 exec "$built/go/rates" "$@" ;;
  java) jvm "$built/java/lapwing.jar:$built/java/rates" rates.Rates "$@" ;;
  kotlin)
    jvm "$built/kotlin/lapwing-kotlin.jar:$built/kotlin/test-classes:$built/java/rates:$built/kotlin/lib/*" \
      rates.CoroutineRatesKt "$@" ;;
  node)
    MALLOC_ARENA_MAX=1 exec node --expose-gc --max-semi-space-size=1 "$built/node/rates/rates.mjs" "$@" ;;
  python) exec "$built/python/venv/bin/python" "$here/python/rates.py" "$@" ;;
  rust) exec "$built/rust/release/lapwing-rates" "$@" ;;
esac
