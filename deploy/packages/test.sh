#!/usr/bin/env bash
# The packages, as an administrator meets them: lintian has no word to say; two builds are equal, bit
# by bit; and in a bare Debian they are installed, used and purged, and nothing is left.
#
#   deploy/packages/test.sh [DIR]    default: build/packages; two builds are made there
#
# Needs root (a chroot), deploy/setup.sh, debhelper, lintian and debootstrap, and an hour.
# Exit: 0 all passed, 1 something failed, 77 it cannot run here.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.." || exit 1
work=$(mkdir -p "${1:-build/packages}" && cd "${1:-build/packages}" && pwd) || exit 1
skip() { printf 'SKIPPED: %s\n' "$1"; exit 77; }
((EUID == 0)) || skip "a chroot needs root"
for tool in dh lintian debootstrap; do
  command -v "$tool" >/dev/null || skip "$tool is not there: apt-get install debhelper lintian debootstrap"
done
passed=0 failed=0

check() {  # NAME COMMAND...: what it prints is shown where it fails
  local name=$1
  shift
  if "$@" >"$work/output" 2>&1; then
    printf 'passed: %s\n' "$name"
    ((passed += 1))
  else
    printf 'FAILED: %s\n' "$name"
    tail -n 40 "$work/output"
    ((failed += 1))
    return 1
  fi
}

silent() {  # COMMAND...: it succeeds and prints nothing
  local said
  said=$("$@" 2>&1) && [[ -z $said ]] || { printf '%s\n' "$said"; return 1; }
}

equal_packages() {
  local deb same=0
  for deb in "$work"/first/*.deb; do
    cmp "$deb" "$work/second/${deb##*/}" || same=1
  done
  return $same
}

# Everything in the chroot that is no package manager's own record.
listing() {
  find "$root" -xdev \( -path "$root/var/lib/dpkg" -o -path "$root/var/lib/apt" -o -path "$root/var/cache" \
    -o -path "$root/var/log" -o -path "$root/packages" -o -path "$root/proc" -o -path "$root/dev" \
    -o -path "$root/etc/ld.so.cache" -o -path "$root/var/lib/systemd" \) -prune -o -printf '%P %m %U %G\n' | sort
}

inside() {
  chroot "$root" /usr/bin/env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin DEBIAN_FRONTEND=noninteractive LC_ALL=C.UTF-8 "$@"
}

used() {  # as the services' user, in the services' folders
  inside install -d -o lapwing -g lapwing -m 750 /var/lib/lapwing/es /var/lib/lapwing/es/recordings
  cat >"$root/etc/lapwing/es.toml" <<'END'
bus = "/var/lib/lapwing/es"
[publish]
source = "synthetic:records=100000"
capacity = 4096
[record]
out = "/var/lib/lapwing/es/recordings/es.dbn.zst"
from = "start"
until-closed = true
END
  local lapwing='setpriv --reuid=lapwing --regid=lapwing --clear-groups lapwing'
  inside $lapwing publish --config /etc/lapwing/es.toml &&
    inside $lapwing record --config /etc/lapwing/es.toml &&
    inside $lapwing verify --bus /var/lib/lapwing/es &&
    inside test -s /var/lib/lapwing/es/recordings/es.dbn.zst &&
    inside sh -c 'lapwing --version && test -e /usr/lib/systemd/system/lapwing-publish@.service'
}

compiled() {
  printf '#include <lapwing.h>\n#include <stdio.h>\nint main(void) { return puts(lapwing_version()) < 0; }\n' \
    >"$root/packages/main.c"
  inside sh -c 'cd /packages && gcc main.c $(pkg-config --cflags --libs lapwing) -o main && ./main && rm main main.c'
}

check 'the packages are built' deploy/packages/build.sh "$work/first" || exit 1
check 'lintian has no word to say' silent lintian -EI --pedantic --allow-root "$work"/first/*.changes
check 'they are built again, elsewhere' deploy/packages/build.sh "$work/second"
check 'both builds are equal' equal_packages

root=$work/root
unmount() {
  umount -q "$root/dev/shm" "$root/proc"
  rm -rf --one-file-system "$root"
}
rm -rf --one-file-system "$root"
trap unmount EXIT
suite=$(. /etc/os-release && printf '%s' "$VERSION_CODENAME")
mirror=$(apt-get indextargets --format '$(SITE)' "Release: $suite" "Created-By: Packages" | head -n 1)
# debootstrap prefers no apt configuration of the machine, so that the chroot is bare.
check 'a bare Debian is made' debootstrap --variant=minbase "$suite" "$root" "$mirror" || exit 1
mount -t proc proc "$root/proc" && mount -t tmpfs tmpfs "$root/dev/shm" || exit 1
mkdir "$root/packages"
cp "$work"/first/*.deb "$root/packages/"
printf '#!/bin/sh\nexit 101\n' >"$root/usr/sbin/policy-rc.d"
chmod 755 "$root/usr/sbin/policy-rc.d"
# What they depend on comes first, so that what is left over is theirs.
check 'apt installs them' inside apt-get install -yq --no-install-recommends \
  $(cd "$root" && printf '/%s ' packages/*.deb) gcc libc6-dev pkg-config
check 'apt removes them' inside apt-get purge -yq lapwing liblapwing1 liblapwing-dev
listing >"$work/before"
check 'dpkg installs them' inside dpkg -i $(cd "$root" && for deb in packages/*.deb; do
  [[ $deb == *-dbgsym_* ]] || printf '/%s ' "$deb"; done)
check 'they are used' used
check 'a program is compiled with them' compiled
check 'dpkg purges them' inside dpkg --purge lapwing liblapwing-dev liblapwing1
listing >"$work/after"
check 'nothing is left' diff "$work/before" "$work/after"
check 'nothing is left in shared memory' silent find "$root/dev/shm" -mindepth 1
printf '%d passed, %d failed, 0 skipped\n' "$passed" "$failed"
((failed == 0))
