#!/usr/bin/env bash
# Installs the packages of Debian 12 or newer that are needed to build all peers in
# bench/peers/list, in addition to deploy/setup.sh. build.sh fetches the peers' own packages.
#
# Runs as root, or as a user who may use sudo. Asks no questions, and changes nothing if all
# packages are installed.
#
# Exit: 0 ready, 1 a package could not be installed, 2 an unknown system or wrong usage.
set -euo pipefail
here=$(dirname "${BASH_SOURCE[0]}")
. "$here/rust.sh"
. "$here/../../tools/apt.sh"
take_no_arguments "$@"

# Libraries by package; programs by name, because they may be installed in another way.
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
  # Debian's `cargo` is too old; its `cargo-web`, maintained for the browsers, is recent enough.
  apt-cache show cargo-web >/dev/null 2>&1 ||
    fail 1 "no package here has Rust $rust_needed; install it from rustup.rs and run this again"
  missing+=(cargo-web)
fi
install_packages "${missing[@]}"
say "ready; bench/peers/build.sh builds the peers"
