#!/usr/bin/env bash
# Installs what building all the peers of bench/peers/list needs from Debian (12 or newer), beside
# what deploy/setup.sh installs for Lapwing itself. Their own packages are fetched by build.sh.
#
# Runs as root, or as a user who may use sudo. Never asks a question, and touches nothing when
# everything is there.
#
# Exit: 0 ready, 1 a package could not be installed, 2 an unknown system or wrong usage.
set -euo pipefail
here=$(dirname "${BASH_SOURCE[0]}")
. "$here/rust.sh"
. "$here/../../tools/apt.sh"
take_no_arguments "$@"

# Libraries by their packages; programs by name, since one that came another way is as good.
missing=()
for package in libzmq3-dev iceoryx libiceoryx-posh-dev; do
  installed "$package" || missing+=("$package")
done
has mvn || missing+=(maven)
has javac || missing+=(default-jdk-headless)
has clang++-19 || missing+=(clang-19)
need_rust=false
rust_is_new_enough || need_rust=true

if [[ ${#missing[@]} -eq 0 && $need_rust == false ]]; then
  say "everything is installed"
  exit 0
fi
begin_to_install "${missing[*]}$($need_rust && printf ' cargo (Rust %s or newer)' "$rust_needed")"
if $need_rust; then
  # Debian's `cargo` is too old; its `cargo-web`, kept for the browsers, is current.
  apt-cache show cargo-web >/dev/null 2>&1 ||
    fail 1 "no package here has Rust $rust_needed; install it from rustup.rs and run this again"
  missing+=(cargo-web)
fi
install_packages "${missing[@]}"
say "ready; bench/peers/build.sh builds the peers"
