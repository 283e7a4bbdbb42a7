#!/usr/bin/env bash
# Makes a bare Debian 12 (or newer) ready to build and test Lapwing, with packages from apt alone.
#
# Runs as root, or as a user who may use sudo. Never asks a question (sudo may want its
# password on a terminal). Running it again is quick: when
# every package is there it neither touches apt nor needs the network.
#
# Exit: 0 ready, 1 a package could not be installed, 2 an unknown system or wrong usage.
set -euo pipefail

# What each is for stands beside it.
packages=(
  build-essential cmake ninja-build ccache pkg-config  # the build
  clang-19 libclang-rt-19-dev                          # the second compiler and its sanitizers
  libabsl-dev libboost-dev                             # statuses and strings; mapped memory
  liburing-dev                                         # the publisher's file thread
  libxxhash-dev libzstd-dev zstd                       # checksums; compressed DBN
  libcli11-dev nlohmann-json3-dev                      # the command line; bus.json
  librocksdb-dev                                       # checkpoints
  catch2 libbenchmark-dev                              # tests and benchmarks
  fio                                                  # the floor of sustained publishing
  valgrind                                             # instructions of a publish, counted
  python3-matplotlib                                   # the pictures of a benchmark's report
  python3 python3-venv ca-certificates                 # house rules; tests that need a registry
  e2fsprogs util-linux mount                           # tests that cut the power of a loop device
)

say() { printf 'setup: %s\n' "$*"; }
fail() { printf 'setup: %s\n' "$2" >&2; exit "$1"; }

case ${1-} in
  '') ;;
  -h|--help) sed -n '2,7s/^# \{0,1\}//p' "$0"; exit 0 ;;
  *) fail 2 "unknown argument '$1'; this script takes none" ;;
esac

installed() {
  [[ $(dpkg-query -W -f='${db:Status-Status}' "$1" 2>/dev/null) == installed ]]
}

missing=()
if command -v dpkg-query >/dev/null; then
  for package in "${packages[@]}"; do
    installed "$package" || missing+=("$package")
  done
else
  missing=("${packages[@]}")
fi
# The memory-model tests need a Rust compiler; one that a user installed another way is as good.
need_cargo=false
command -v cargo >/dev/null || need_cargo=true

if [[ ${#missing[@]} -eq 0 && $need_cargo == false ]]; then
  say "everything is installed"
  exit 0
fi

system=$(. /etc/os-release 2>/dev/null && printf '%s %s' "${ID-unknown}" "${VERSION_ID-}") ||
  system=unknown
read -r id version <<<"$system"
# Debian's testing and unstable releases carry no version number.
if [[ $id != debian || ( -n ${version-} && ${version%%.*} -lt 12 ) ]]; then
  fail 2 "this script sets up Debian 12 or newer, and this is ${system% }.
setup: Install these packages, or what they are called here, and build with CMake as README.md says:
setup:   ${missing[*]}$($need_cargo && printf ' cargo (Rust 1.70 or newer)')"
fi

as_root=()
if [[ $EUID -ne 0 ]]; then
  command -v sudo >/dev/null ||
    fail 1 "run this as root, or install sudo; these packages are missing: ${missing[*]}"
  # Without a terminal nobody could type a password: fail rather than wait.
  if [[ -t 0 ]]; then as_root=(sudo); else as_root=(sudo -n); fi
fi
apt() {
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
    apt-get --quiet --quiet --option DPkg::Lock::Timeout=300 "$@" </dev/null
}

say "reading the package lists"
apt update || fail 1 "apt-get update failed; check the network and /etc/apt/sources.list"
if $need_cargo; then
  # Debian 12's `cargo` is too old for what the tests depend on; its `cargo-web`, kept for the
  # browsers, is current.
  if apt-cache show cargo-web >/dev/null 2>&1; then missing+=(cargo-web); else missing+=(cargo); fi
fi
say "installing ${missing[*]}"
apt install --yes --no-install-recommends "${missing[@]}" ||
  fail 1 "apt-get install failed; the lines above say which package"
say "ready"
