#!/usr/bin/env bash
# Builds the crates, the conformance driver and the benchmark of bench/languages into
# build/bindings/rust. Does not need liblapwing, which is loaded at run time.
#
# Exit: 0 success, 77 a requirement is missing (named on the last line), 1 any other failure.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/crates.sh"
cargo build --release --locked --workspace --features lapwing/tokio --lib --bins
