#!/usr/bin/env bash
# Builds the crates, the conformance driver and the rates of bench/languages into build/bindings/rust. Needs no
# liblapwing: it is loaded at run time.
#
# Exit: 0; 77, whose last line says what this machine lacks; 1 anything else.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/crates.sh"
cargo build --release --locked --workspace --features lapwing/tokio --lib --bins
