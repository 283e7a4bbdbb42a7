#!/usr/bin/env bash
# Runs the package's tests and its examples, then the package's tests once more under the race
# detector. LAPWING_LIBRARY: the library; else the system's is taken. Arguments go to `go test`.
# Exit: that of build.sh, or of the tests.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
./build.sh
. ./environment.sh
go test -count=1 "$@" ./...
go test -count=1 -race -skip AllocatesNothing "$@" .
