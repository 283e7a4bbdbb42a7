#!/bin/sh
# Checks Lapwing's memory-order protocols, and every wrong variant of them, with a C11 memory-model
# checker. README.md next to this file describes the models.
#
# Exit: 0 every right form passes and every wrong variant is caught; 77 SKIPPED, because the checker
# (the crate `loom`) is neither installed nor available; 1 any other error.
# LAPWING_REQUIRE_REGISTRIES=1 makes a skip an error.
set -eu
cd "$(dirname "$0")"

fetch_seconds_max=600 # ends a hang; cargo reports unreachable servers after 20 s

skip() {
  {
    echo "*****************************************************************************"
    echo "*** SKIPPED: the memory-model check did NOT run."
    echo "*** $1"
    echo "*** Slot, lap, close, doorbell, attention word, gate, archive and splice are UNPROVEN"
    echo "*** here, and so are the frames, the parking and the end of a channel."
    echo "*****************************************************************************"
  } >&2
  if [ "${LAPWING_REQUIRE_REGISTRIES:-0}" = 1 ]; then
    echo "LAPWING_REQUIRE_REGISTRIES=1: that is an error." >&2
    exit 1
  fi
  exit 77
}

command -v cargo >/dev/null || skip "There is no cargo. Install Rust 1.85 or newer."

# Versions before "cargo 1.85.0 (...)" cannot read the lock file, and their message does not say
# why.
cargo_minor=$(cargo --version | sed -n 's/^cargo 1\.\([0-9]*\)\..*/\1/p')
[ "${cargo_minor:-85}" -ge 85 ] || skip "$(cargo --version) is too old. Install Rust 1.85 or newer."

# If all crates are installed, that is enough. Otherwise try once to fetch them. A lock file that
# does not match Cargo.toml is our mistake, not a reason to skip.
if ! cargo fetch --locked --offline >/dev/null 2>&1; then
  if ! reason=$(CARGO_NET_RETRY=1 CARGO_HTTP_TIMEOUT=20 \
      timeout "$fetch_seconds_max" cargo fetch --locked 2>&1); then
    case $reason in
      *"lock file"*) echo "$reason" >&2; exit 1 ;;
    esac
    echo "$reason" >&2
    skip "The crate registry cannot be reached and loom is not vendored or cached."
  fi
fi

# A limit in the environment would make loom stop early and report success.
unset LOOM_MAX_PREEMPTIONS LOOM_MAX_BRANCHES LOOM_MAX_PERMUTATIONS LOOM_MAX_DURATION \
  LOOM_CHECKPOINT_FILE LOOM_CHECKPOINT_INTERVAL LOOM_LOG LOOM_LOCATION

cargo test --release --locked --offline -- --nocapture || exit 1
