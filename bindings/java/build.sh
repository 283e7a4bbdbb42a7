#!/usr/bin/env bash
# Builds the Java package and the benchmark of bench/languages into build/bindings/java. Installs the package
# into Maven's local repository, where the Kotlin package finds it. Does not need Lapwing's library, which is
# loaded at run time.
#
# Exit: 0 built, 77 a requirement is missing (named on the last line), any other: the exit code of
# the failed step.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
. "$here/jdk.sh"
find_jdk
command -v mvn >/dev/null || { echo "Maven; this machine has none"; exit 77; }
command -v python3 >/dev/null || { echo "Python 3.9 or newer; this machine has none"; exit 77; }

python3 "$here/../header/emit.py" java "$here/src/main/java/lapwing/C.java"
mvn --batch-mode --quiet --file "$here/pom.xml" -DskipTests install
out=$here/../../build/bindings/java
"$JAVA_HOME/bin/javac" -Xlint:all,-restricted -Werror -d "$out/rates" -cp "$out/lapwing.jar" \
  "$here"/../../bench/languages/java/*.java
