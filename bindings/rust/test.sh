#!/usr/bin/env bash
# Runs the tests of the crates: unit tests, documents, examples, and what must not compile; and
# lint.sh.
#
# LAPWING_LIBRARY   the library; default: that of build/release, else the system's
# Exit: 0; 77, whose last line says what this machine lacks; anything else: a test failed.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/crates.sh"
library=${LAPWING_LIBRARY:-$root/build/release/liblapwing.so.1}
[[ -n ${LAPWING_LIBRARY:-} || -e $library ]] || library=
[[ -z $library ]] || library=$(cd "$OLDPWD" && realpath "$library")
export LAPWING_LIBRARY=$library

cargo check --locked --workspace # the crate without its features
cargo test --locked --workspace --features lapwing/tokio
exec "$rust/lint.sh"
