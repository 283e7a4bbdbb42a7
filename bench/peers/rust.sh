# shellcheck shell=bash
# The Rust version that the crates need. Sourced by build.sh and setup.sh.
rust_needed=$(sed -n 's/^rust-version = "\(.*\)"$/\1/p' \
  "$(dirname "${BASH_SOURCE[0]}")/rust/Cargo.toml")

rust_is_new_enough() {
  local have
  have=$(cargo --version 2>/dev/null | cut -d' ' -f2) && [[ -n $have ]] || return 1
  [[ $(printf '%s\n' "$rust_needed" "$have" | sort -V | head -1) == "$rust_needed" ]]
}
