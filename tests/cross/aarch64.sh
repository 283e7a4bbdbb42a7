#!/usr/bin/env bash
# Builds the tests of slots, rings, journals and channels for aarch64, and runs them under qemu.
#
#   tests/cross/aarch64.sh
#
# An architecture with weaker ordering has different sizes, alignments and pages. qemu does not
# simulate the ordering itself; tests/model covers it.
#
# Libraries are installed with apt into a separate folder, build/aarch64/root. No packages for
# another architecture are installed on the system. Needs g++-aarch64-linux-gnu and qemu-user.
#
# Exit: 0 all passed; 77 SKIPPED: the compiler, the emulator or the packages are not available; 1
# any other error.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

packages=(libabsl-dev libboost-dev liburing-dev libxxhash-dev libzstd-dev libcli11-dev
  nlohmann-json3-dev librocksdb-dev catch2)
# In the order of deploy/test.sh's stages: slots, rings, files, channels.
tests=(proto_test abi_golden_test ring_test archiver_test journal_reader_test recovery_test
  checkpoint_test fold_test channel_frames_test channel_model_test torn_read_test)
# qemu ignores these madvise advices, but reports success: MADV_DONTFORK, MADV_COLLAPSE,
# MADV_POPULATE_WRITE, MADV_POPULATE_READ.
left_out=('~A forked child does not have*' '~A tmpfs that gives no huge pages*'
  '~Huge pages are real*' '~A channel does what a plain queue does*'
  '~A ring is filled from its first record*' '~A segment that is cut short while it is mapped*')
build=build/aarch64
root=$PWD/$build/root
arch=aarch64-linux-gnu

skip() {
  echo "*** SKIPPED: nothing was built or run for aarch64: $*"
  exit 77
}

for program in $arch-g++ qemu-aarch64; do
  command -v "$program" >/dev/null || skip "$program is not installed"
done

# Runs apt for another architecture, with separate lists and state.
foreign_apt() {
  apt-get -q -o APT::Architecture=arm64 -o APT::Architectures::=arm64 \
    -o Dir::State="$root/apt" -o Dir::State::status="$root/apt/status" \
    -o Dir::Cache="$root/apt/cache" -o Debug::NoLocking=1 -o APT::Sandbox::User=root \
    -o APT::Get::AllowUnauthenticated=false "$@"
}

if [[ ! -e $root/complete ]]; then
  mkdir -p "$root/apt/lists/partial" "$root/apt/cache/archives/partial"
  : >"$root/apt/status"
  foreign_apt update || skip "apt has no lists for arm64"
  foreign_apt install --download-only --no-install-recommends -y "${packages[@]}" ||
    skip "apt has no packages for arm64"
  for package in "$root"/apt/cache/archives/*.deb; do dpkg-deb -x "$package" "$root"; done
  touch "$root/complete"
fi

LAPWING_ROOT=$root cmake -S . -B "$build/tree" -G Ninja -DCMAKE_BUILD_TYPE=RelWithDebInfo \
  -DCMAKE_TOOLCHAIN_FILE="$PWD/cmake/aarch64.cmake" -DLAPWING_BUILD_BENCH=OFF \
  -DLAPWING_BUILD_PROGRAM=OFF
cmake --build "$build/tree" --target "${tests[@]}"

status=0
for name in "${tests[@]}"; do
  program=$(find "$build/tree" -name "$name" -type f -perm -u+x)
  echo "--- $name"
  qemu-aarch64 -L "$root" -E LD_LIBRARY_PATH="$root/usr/lib/$arch:$root/lib/$arch" \
    "$program" --order rand "${left_out[@]}" || status=1
done
exit $status
