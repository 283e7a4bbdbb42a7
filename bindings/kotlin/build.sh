#!/usr/bin/env bash
# Builds the Java package, and the Kotlin package over it into build/bindings/kotlin.
#
# Exit: 0 built, 77 the machine lacks what the last line says, else what failed.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
"$here/../java/build.sh"
. "$here/../java/jdk.sh"
find_jdk
mvn --batch-mode --quiet --file "$here/pom.xml" -DskipTests package
