#!/usr/bin/env bash
# Runs the crates' tests: unit tests, documentation tests, examples, code that must not compile, and
# lint.sh.
#
# LAPWING_LIBRARY   the library; default: that of build/release, or else the system's
# Exit: 0 success, 77 a requirement is missing (named on the last line), any other: a test failed.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/crates.sh"
library=${LAPWING_LIBRARY:-$root/build/release/liblapwing.so.1}
[[ -n ${LAPWING_LIBRARY:-} || -e $library ]] || library=
[[ -z $library ]] || library=$(cd "$OLDPWD" && realpath "$library")
export LAPWING_LIBRARY=$library

cargo check --locked --workspace # the crates without their features
cargo test --locked --workspace --features lapwing/tokio
exec "$rust/lint.sh"
