#!/usr/bin/env bash
# Installs everything needed to build and test Lapwing on a bare Debian 12 or newer, with apt only.
#
# Run it as root, or as a user who may use sudo, which may ask for a password. It asks no questions.
# If every package is installed, it uses neither apt nor the network.
#
# Exit: 0 ready, 1 a package could not be installed, 2 an unknown system or wrong usage.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/../tools/apt.sh"

# The comments state the purpose of each package.
packages=(
  build-essential cmake ninja-build ccache pkg-config  # the build
  clang-19 libclang-rt-19-dev                          # the second compiler and its sanitizers
  clang-format-19                                      # code formatting, checked by lint
  clang-tidy-19 shellcheck                             # tools/check
  libabsl-dev libboost-dev                             # statuses and strings; mapped memory
  liburing-dev                                         # the publisher's file thread
  libxxhash-dev libzstd-dev zstd                       # checksums; compressed DBN
  libcli11-dev nlohmann-json3-dev                      # the command line; bus.json
  libtomlplusplus-dev                                  # --config
  tzdata                                               # record --time-zone
  libsystemd-dev                                       # systemd's READY and watchdog
  libncurses-dev                                       # lapwing top
  libssl-dev prometheus-cpp-dev                        # `lapwing serve`: TLS, metrics
  libjs-dygraphs                                       # the charts of its page
  librocksdb-dev                                       # checkpoints
  libnats-dev                                          # the relay to other machines
  catch2 libbenchmark-dev                              # tests and benchmarks
  fio                                                  # lower bound of sustained publishing
  doxygen                                              # the reference of the public headers
  abigail-tools                                        # ABI comparison of the C interface
  mandoc zsh fish                                      # checks of manual pages and completions
  valgrind                                             # counts of instructions per publish
  python3-matplotlib                                   # pictures of benchmark reports
  python3 python3-venv ca-certificates                 # lint rules; tests that need a registry
  python3-pexpect python3-pyte                         # tests of `lapwing top` in a terminal
  systemd                                              # checks of the units
  e2fsprogs util-linux mount                           # tests of power cuts on a loop device
  nats-server                                          # tests of the relay, which start it
)

take_no_arguments "$@"
missing=()
for package in "${packages[@]}"; do
  installed "$package" || missing+=("$package")
done
# The memory-model tests need a Rust compiler, which may be installed in any way.
need_cargo=false
has cargo || need_cargo=true

if [[ ${#missing[@]} -eq 0 && $need_cargo == false ]]; then
  say "everything is installed"
  exit 0
fi

begin_to_install "${missing[*]}$($need_cargo && printf ' cargo (Rust 1.70 or newer)')"
if $need_cargo; then
  # Debian 12's `cargo` is too old for the dependencies of the tests. Its `cargo-web`, maintained
  # for the browsers, is recent enough.
  if apt-cache show cargo-web >/dev/null 2>&1; then missing+=(cargo-web); else missing+=(cargo); fi
fi
# The package of nats-server enables its service and starts it on a public port. A mask prevents the
# start. Afterwards the service is installed and disabled.
nats_mask=/etc/systemd/system/nats-server.service
if [[ " ${missing[*]} " == *" nats-server "* && ! -e $nats_mask && ! -L $nats_mask ]]; then
  "${as_root[@]}" mkdir -p "${nats_mask%/*}"
  "${as_root[@]}" ln -s /dev/null "$nats_mask"
  trap '"${as_root[@]}" rm -f "$nats_mask"; "${as_root[@]}" systemctl --quiet disable nats-server' EXIT
fi
install_packages "${missing[@]}"
say "ready"
