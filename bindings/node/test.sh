#!/bin/sh
# Runs the package's tests and examples, built by build.sh, with the library LAPWING_LIBRARY.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
: "${LAPWING_LIBRARY:?set it to the path of liblapwing.so.1}"
cd "$here/../../build/bindings/node"
exec node --expose-gc --test tests/*.test.mjs
