#!/usr/bin/env bash
# Builds the package, its examples, its conformance driver and the benchmark of bench/languages into
# build/bindings/go. Exit: 0 built, 77 a requirement is missing (named on the last line), 1 the
# build failed.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"

lacks() {
  printf '%s\n' "$1"
  exit 77
}

. ./environment.sh
command -v go > /dev/null || lacks "Go 1.24 or newer; this machine has none"
version=$(go env GOVERSION)
printf 'go1.24\n%s\n' "$version" | sort -VC ||
  lacks "Go 1.24 or newer; this machine has ${version#go}"
command -v "$(go env CC | cut -d' ' -f1)" > /dev/null ||
  lacks "a C compiler for cgo; this machine has none"

out=$(cd ../.. && pwd)/build/bindings/go
mkdir -p "$out"
go vet ./...
go build -o "$out/" ./conformance ./examples/...
cd ../../bench/languages/go
go vet .
go build -o "$out/rates" .
printf 'built %s\n' "$out"
