#!/usr/bin/env bash
# Runs clippy on the crates. Its warnings are errors.
#
# Exit: 0 nothing found, 77 a requirement is missing (named on the last line), 1 any other failure.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/crates.sh"
cargo clippy --version >/dev/null || lacks "clippy, which rustup adds: rustup component add clippy"
cargo clippy --locked --workspace --all-targets --features lapwing/tokio -- -D warnings
