#!/usr/bin/env bash
# Vets everything (build.sh) and checks its format. Runs the package's tests and its examples, then the
# package's tests once more under the race detector. LAPWING_LIBRARY: the library; else the system's is
# taken. Arguments go to `go test`.
# Exit: that of build.sh, or of the tests.
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
