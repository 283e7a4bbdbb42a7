#!/bin/sh
# Runs eslint over the package. Builds it first, since build.sh installs eslint.
#
# Exit: 0 nothing found, 77 skipped: the last line names the missing requirement, 1 any other error.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
"$here/build.sh"
cd "$here/../../build/bindings/node"
cp "$here/eslint.config.mjs" .
found=$(node_modules/.bin/eslint eslint.config.mjs conformance examples rates src tests) || {
  echo "$found" | sed "s|^$PWD/|bindings/node/|"
  exit 1
}
