#!/bin/sh
# Builds the package in build/bindings/node.
# Exit: 0 built, 77 skipped: the last line names the missing requirement.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
out=$here/../../build/bindings/node
node_min=18

if ! command -v node > /dev/null || ! command -v npm > /dev/null; then
  echo "Node.js $node_min or newer, with npm; this machine has none"
  exit 77
fi
if [ "$(node -p 'process.versions.node.split(".")[0]')" -lt $node_min ]; then
  echo "Node.js $node_min or newer; this machine has $(node --version)"
  exit 77
fi
if ! command -v python3 > /dev/null; then
  echo "Python 3.9 or newer; this machine has none"
  exit 77
fi

python3 "$here/../header/emit.py" node "$here/src/abi.ts"
mkdir -p "$out"
cd "$out"
rm -rf dist src tests examples conformance rates
cp -r "$here/src" "$here/tests" "$here/examples" "$here/conformance" "$here/tsconfig.json" "$here/README.md" .
cp -r "$here/../../bench/languages/node" rates
if ! cmp -s "$here/package.json" package.json || [ ! -d node_modules ]; then
  cp "$here/package.json" .
  npm install --no-package-lock --no-audit --no-fund --loglevel=error
fi
node_modules/.bin/tsc
