#!/bin/sh
# Generates src/bindings.rs from the C header. Run it after changing the header.
#   lapwing-sys/regenerate.sh [HEADER]     default: include/lapwing.h of this tree
# Needs bindgen 0.72 (cargo install bindgen-cli --version 0.72.1) and libclang.
set -eu
cd "$(dirname "$0")"
header=${1:-../../../include/lapwing.h}

bindgen "$header" --output src/bindings.rs --rust-target 1.82 --formatter rustfmt \
  --allowlist-item 'lapwing_.*' --allowlist-item 'LAPWING_.*' \
  --dynamic-loading Lapwing --dynamic-link-require-all --with-derive-default \
  --use-core --wrap-unsafe-ops --no-layout-tests -- -std=c11
