#!/usr/bin/env bash
# Installs what building all the peers of bench/peers/list needs from Debian (12 or newer), beside
# what deploy/setup.sh installs for Lapwing itself. Their own packages are fetched by build.sh.
#
# Runs as root, or as a user who may use sudo. Never asks a question, and touches nothing when
# everything is there.
#
# Exit: 0 ready, 1 a package could not be installed, 2 an unknown system or wrong usage.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/rust.sh"

say() { printf 'setup: %s\n' "$*"; }
fail() { printf 'setup: %s\n' "$2" >&2; exit "$1"; }

case ${1-} in
  '') ;;
  -h|--help) sed -n '2,8s/^# \{0,1\}//p' "$0"; exit 0 ;;
  *) fail 2 "unknown argument '$1'; this script takes none" ;;
esac

installed() {
  [[ $(dpkg-query -W -f='${db:Status-Status}' "$1" 2>/dev/null) == installed ]]
}
has() { command -v "$1" >/dev/null; }

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
if $need_rust; then wanted="${missing[*]} cargo (Rust $rust_needed or newer)"; else
  wanted=${missing[*]}; fi
has apt-get ||
  fail 2 "this script sets up Debian; install these, or what they are called here: $wanted"

as_root=()
if [[ $EUID -ne 0 ]]; then
  has sudo || fail 1 "run this as root, or install sudo; these are missing: $wanted"
  # Without a terminal nobody could type a password: fail rather than wait.
  if [[ -t 0 ]]; then as_root=(sudo); else as_root=(sudo -n); fi
fi
apt() {
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
    apt-get --quiet --quiet --option DPkg::Lock::Timeout=300 "$@" </dev/null
}

say "reading the package lists"
apt update || fail 1 "apt-get update failed; check the network and /etc/apt/sources.list"
if $need_rust; then
  # Debian's `cargo` is too old; its `cargo-web`, kept for the browsers, is current.
  apt-cache show cargo-web >/dev/null 2>&1 ||
    fail 1 "no package here has Rust $rust_needed; install it from rustup.rs and run this again"
  missing+=(cargo-web)
fi
say "installing ${missing[*]}"
apt install --yes --no-install-recommends "${missing[@]}" ||
  fail 1 "apt-get install failed; the lines above say which package"
say "ready; bench/peers/build.sh builds the peers"
