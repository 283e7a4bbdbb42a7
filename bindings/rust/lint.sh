#!/usr/bin/env bash
# Runs clippy over the crates. Its warnings are errors.
#
# Exit: 0 nothing found; 77, whose last line says what this machine lacks; 1 anything else.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/crates.sh"
cargo clippy --version >/dev/null || lacks "clippy, which rustup adds: rustup component add clippy"
cargo clippy --locked --workspace --all-targets --features lapwing/tokio -- -D warnings
