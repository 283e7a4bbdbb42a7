#!/usr/bin/env bash
# Runs build.sh, which vets everything, and checks the formatting. Runs the package's tests and its
# examples, then the package's tests again under the race detector. LAPWING_LIBRARY is the library;
# default: the system's. Arguments are passed to `go test`. Exit: the exit code of build.sh or of
# the tests.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
./build.sh
. ./environment.sh
unformatted=$("$(go env GOROOT)/bin/gofmt" -l .)
if [[ -n $unformatted ]]; then
  printf 'gofmt -w these files:\n%s\n' "$unformatted"
  exit 1
fi
go test -count=1 "$@" ./...
go test -count=1 -race -skip AllocatesNothing "$@" .
