#!/usr/bin/env bash
# Runs the tests of the Kotlin package, including its examples, with the library LAPWING_LIBRARY. Run build.sh
# first.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
. "$here/../java/jdk.sh"
find_jdk
exec mvn --batch-mode --file "$here/pom.xml" surefire:test
