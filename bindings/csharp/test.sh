#!/bin/sh
# Runs the tests and examples, built by build.sh, with the library LAPWING_LIBRARY.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
: "${LAPWING_LIBRARY:?set it to the path of liblapwing.so.1}"
exec mono --debug "$here/../../build/bindings/csharp/tests.exe" "$@"
