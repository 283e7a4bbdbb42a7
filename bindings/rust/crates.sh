# shellcheck shell=bash
# Sourced by build.sh and test.sh. Checks for Rust, fetches the crates that the package needs, and
# sets the build folder. Exits with 77 if this machine lacks something, which the last line names.
rust=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$rust/../.." && pwd)
export CARGO_TARGET_DIR=$root/build/bindings/rust
fetch_seconds_max=600 # limits a hang; cargo itself reports an unreachable registry after 20 s

lacks() {
  echo "$1" >&2
  exit 77
}

needed=$(sed -n 's/^rust-version = "\(.*\)"$/\1/p' "$rust/Cargo.toml")
have=$(cargo --version 2>/dev/null | cut -d' ' -f2) || true
[[ -n $have ]] || lacks "Rust $needed or newer; this machine has none"
[[ $(printf '%s\n' "$needed" "$have" | sort -V | head -1) == "$needed" ]] ||
  lacks "Rust $needed or newer; this machine has $have"

# No network is needed if this machine has all crates. A lock file that does not match Cargo.toml is
# a mistake in this tree, and not a reason to skip.
if ! cargo fetch --manifest-path "$rust/Cargo.toml" --locked --offline >/dev/null 2>&1; then
  if ! reason=$(CARGO_NET_RETRY=1 CARGO_HTTP_TIMEOUT=20 timeout "$fetch_seconds_max" \
      cargo fetch --manifest-path "$rust/Cargo.toml" --locked 2>&1); then
    echo "$reason" >&2
    [[ $reason != *"lock file"* ]] || exit 1
    lacks "the crates of bindings/rust/Cargo.lock; the crate registry cannot be reached"
  fi
fi
export CARGO_NET_OFFLINE=true
cd "$rust" || exit
