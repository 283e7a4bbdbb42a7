# shellcheck shell=bash
# For build.sh and test.sh, which read it: Rust and the crates that the package needs, and where it
# is built. Ends with 77 and a last line that says what the machine lacks.
rust=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$rust/../.." && pwd)
export CARGO_TARGET_DIR=$root/build/bindings/rust
fetch_seconds_max=600 # ends a hang; what cannot be reached is known to cargo after 20 s

lacks() {
  echo "$1" >&2
  exit 77
}

needed=$(sed -n 's/^rust-version = "\(.*\)"$/\1/p' "$rust/Cargo.toml")
have=$(cargo --version 2>/dev/null | cut -d' ' -f2) || true
[[ -n $have ]] || lacks "Rust $needed or newer; this machine has none"
[[ $(printf '%s\n' "$needed" "$have" | sort -V | head -1) == "$needed" ]] ||
  lacks "Rust $needed or newer; this machine has $have"

# What is on this machine is enough if it is all there. A lock file that does not fit Cargo.toml is
# our mistake, and no reason to skip.
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
