#!/usr/bin/env bash
# Builds the Java package, and then the Kotlin package into build/bindings/kotlin.
#
# Exit: 0 built, 77 a requirement is missing (named on the last line), any other: the exit code of
# the failed step.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
"$here/../java/build.sh"
. "$here/../java/jdk.sh"
find_jdk
mvn --batch-mode --quiet --file "$here/pom.xml" -DskipTests package
