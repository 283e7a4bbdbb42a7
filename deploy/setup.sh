#!/usr/bin/env bash
# Makes a bare Debian 12 (or newer) ready to build and test Lapwing, with packages from apt alone.
#
# Runs as root, or as a user who may use sudo. Never asks a question (sudo may want its
# password on a terminal). Running it again is quick: when
# every package is there it neither touches apt nor needs the network.
#
# Exit: 0 ready, 1 a package could not be installed, 2 an unknown system or wrong usage.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/../tools/apt.sh"

# What each is for stands beside it.
packages=(
  build-essential cmake ninja-build ccache pkg-config  # the build
  clang-19 libclang-rt-19-dev                          # the second compiler and its sanitizers
  clang-format-19                                      # the house rule on formatting
  clang-tidy-19 shellcheck                             # tools/check
  libabsl-dev libboost-dev                             # statuses and strings; mapped memory
  liburing-dev                                         # the publisher's file thread
  libxxhash-dev libzstd-dev zstd                       # checksums; compressed DBN
  libcli11-dev nlohmann-json3-dev                      # the command line; bus.json
  libtomlplusplus-dev                                  # --config
  tzdata                                               # record --time-zone
  libsystemd-dev                                       # systemd's READY and watchdog
  libncurses-dev                                       # `lapwing top`
  libssl-dev prometheus-cpp-dev                        # `lapwing serve`: TLS, metrics
  libjs-dygraphs                                       # the charts of its page
  librocksdb-dev                                       # checkpoints
  catch2 libbenchmark-dev                              # tests and benchmarks
  fio                                                  # the floor of sustained publishing
  doxygen                                              # the reference of the public headers
  abigail-tools                                        # the C interface compared with what it was
  mandoc zsh fish                                      # manual pages and completions, checked
  valgrind                                             # instructions of a publish, counted
  python3-matplotlib                                   # the pictures of a benchmark's report
  python3 python3-venv ca-certificates                 # house rules; tests that need a registry
  python3-pexpect python3-pyte                         # `lapwing top` in a terminal, tested
  systemd                                              # the units, checked
  e2fsprogs util-linux mount                           # tests that cut the power of a loop device
)

take_no_arguments "$@"
missing=()
for package in "${packages[@]}"; do
  installed "$package" || missing+=("$package")
done
# The memory-model tests need a Rust compiler; one that a user installed another way is as good.
need_cargo=false
has cargo || need_cargo=true

if [[ ${#missing[@]} -eq 0 && $need_cargo == false ]]; then
  say "everything is installed"
  exit 0
fi

begin_to_install "${missing[*]}$($need_cargo && printf ' cargo (Rust 1.70 or newer)')"
if $need_cargo; then
  # Debian 12's `cargo` is too old for what the tests depend on; its `cargo-web`, kept for the
  # browsers, is current.
  if apt-cache show cargo-web >/dev/null 2>&1; then missing+=(cargo-web); else missing+=(cargo); fi
fi
install_packages "${missing[@]}"
say "ready"
