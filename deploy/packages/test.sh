#!/usr/bin/env bash
# The packages, as an administrator meets them: lintian has no word to say; two builds are equal, bit
# by bit; and in a bare Debian they are installed, used and purged, and nothing is left.
# systemd_test.sh runs their units under systemd.
#
#   deploy/packages/test.sh [DIR]          two builds are made in DIR, by default build/packages
#   deploy/packages/test.sh --built DIR    the packages in DIR/first are tested as they are
#
# Then the container image is made of them, and publishes and is healthy. Needs root, deploy/setup.sh and
# deploy/packages/setup.sh, and an hour. In a mount namespace of its own: nothing stays mounted.
# Exit: 0 all passed, 1 something failed, 77 it cannot run here.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.." || exit 1
if ((EUID == 0)) && [[ ${1-} != --inside ]]; then
  exec unshare --mount --propagation private deploy/packages/test.sh --inside "$@"
fi
[[ ${1-} == --inside ]] && shift
built=false
[[ ${1-} == --built ]] && built=true && shift
work=$(mkdir -p "${1:-build/packages}" && cd "${1:-build/packages}" && pwd) || exit 1
. deploy/packages/checks.sh
((EUID == 0)) || skip "a chroot needs root"
for tool in dh lintian debootstrap mmdebstrap buildah; do
  command -v "$tool" >/dev/null || skip "$tool is not there; deploy/packages/setup.sh installs it"
done

equal_packages() {
  local deb same=0
  for deb in "$work"/first/*.deb; do
    cmp "$deb" "$work/second/${deb##*/}" || same=1
  done
  return $same
}

# The override of spelling-error-in-binary is used or not, as the compiler lays out the texts.
lint() {
  lintian -EI --pedantic --allow-root "$work"/first/*.changes 2>&1 |
    grep -v -e '^I: .*: unused-override spelling-error-in-binary ' -e '^N: 0 hints overridden; '
  return "${PIPESTATUS[0]}"
}

# Everything in the chroot that is no package manager's own record.
listing() {
  find "$root" -xdev \( -path "$root/var/lib/dpkg" -o -path "$root/var/lib/apt" -o -path "$root/var/cache" \
    -o -path "$root/var/log" -o -path "$root/packages" -o -path "$root/proc" -o -path "$root/dev" \
    -o -path "$root/etc/ld.so.cache" -o -path "$root/var/lib/systemd" \) -prune -o -printf '%P %m %U %G\n' | sort
}

inside() {
  chroot "$root" /usr/bin/env PATH=/usr/sbin:/usr/bin:/sbin:/bin DEBIAN_FRONTEND=noninteractive LC_ALL=C.UTF-8 "$@"
}

# A publisher that is killed leaves its ring and its announcement in shared memory.
killed() {
  inside sh -c '
    $1 publish --bus /var/lib/lapwing/killed --source synthetic:records=10 --capacity 1024 --linger 600s &
    for attempt in $(seq 300); do
      lapwing health --bus /var/lib/lapwing/killed && break
      sleep 0.2
    done
    kill -9 $! && ls -d /dev/shm/lapwing-*' sh "$1"
}

used() {  # as the services' user, in the services' folders
  inside install -d -o lapwing -g lapwing -m 750 /var/lib/lapwing/es /var/lib/lapwing/killed \
    /var/lib/lapwing-recordings/es
  cat >"$root/etc/lapwing/es.toml" <<'END'
bus = "/var/lib/lapwing/es"
[publish]
source = "synthetic:records=100000"
capacity = 4096
[record]
out = "/var/lib/lapwing-recordings/es/es.dbn.zst"
from = "oldest"
until-closed = true
END
  local lapwing=(setpriv --reuid=lapwing --regid=lapwing --clear-groups lapwing)
  inside "${lapwing[@]}" publish --config /etc/lapwing/es.toml &&
    inside "${lapwing[@]}" record --config /etc/lapwing/es.toml &&
    inside "${lapwing[@]}" verify --bus /var/lib/lapwing/es &&
    inside test -s /var/lib/lapwing-recordings/es/es.dbn.zst &&
    killed "${lapwing[*]}" &&
    inside sh -c 'lapwing --version && test -e /usr/lib/systemd/system/lapwing-publish@.service'
}

compiled() {
  printf '#include <lapwing.h>\n#include <stdio.h>\nint main(void) { return puts(lapwing_version(NULL)) < 0; }\n' \
    >"$root/packages/main.c"
  inside sh -c 'cd /packages && gcc main.c $(pkg-config --cflags --libs lapwing) -o main && ./main && rm main main.c'
}

$built || check 'the packages are built' deploy/packages/build.sh "$work/first" || exit 1
check 'lintian has no word to say' silent lint
if ! $built; then
  check 'they are built again, elsewhere' deploy/packages/build.sh "$work/second" &&
    check 'both builds are equal' equal_packages
fi

root=$work/root
rm -rf --one-file-system "$root"
trap 'umount -R "$root/dev/shm" "$root/proc" 2>/dev/null; rm -rf --one-file-system "$root"' EXIT
check 'a bare Debian is made' debootstrap --variant=minbase "$suite" "$root" "$mirror" || exit 1
mount -t proc proc "$root/proc" && mount -t tmpfs tmpfs "$root/dev/shm" || exit 1
mkdir "$root/packages"
cp /etc/resolv.conf "$root/etc/" 2>/dev/null
cp "$work"/first/*.deb "$root/packages/"
printf '#!/bin/sh\nexit 101\n' >"$root/usr/sbin/policy-rc.d"
chmod 755 "$root/usr/sbin/policy-rc.d"
mapfile -t debs < <(cd "$root" && printf '/%s\n' packages/*.deb)
mapfile -t released < <(printf '%s\n' "${debs[@]}" | grep -v -e -dbgsym_)
# What they depend on comes first, so that what is left over is theirs.
check 'apt installs them' inside apt-get install -yq --no-install-recommends \
  "${debs[@]}" gcc libc6-dev pkg-config
check 'apt removes them' inside apt-get purge -yq lapwing liblapwing1 liblapwing-dev
listing >"$work/before"
check 'dpkg installs them' inside dpkg -i "${released[@]}"
check 'they are used' used
check 'a program is compiled with them' compiled
check 'dpkg purges them' inside dpkg --purge lapwing liblapwing-dev liblapwing1
listing >"$work/after"
check 'nothing is left' diff "$work/before" "$work/after"
check 'nothing is left in shared memory' silent find "$root/dev/shm" -mindepth 1

deploy/packages/systemd_test.sh "$work/first" "$work" | tee "$work/systemd"
case ${PIPESTATUS[0]} in
  77) ((skipped += 1)) ;;
  *) ((passed += $(grep -c '^passed: ' "$work/systemd")))
     ((failed += $(grep -c '^FAILED: ' "$work/systemd"))) ;;
esac

# podman and buildah share what they store; a name of this run alone.
image=lapwing-test:$$
# In one container a publisher, and the image's own HEALTHCHECK until it is content.
healthy() {
  buildah run --isolation=chroot "$worker" -- sh -c '
    lapwing publish --bus "$LAPWING_BUS" --source synthetic:records=1000 --capacity 4096 --linger 600s &
    publisher=$!
    status=1
    for attempt in $(seq 300); do
      if sh -c "$1"; then status=0; break; fi
      sleep 0.2
    done
    kill "$publisher"
    wait "$publisher" || status=1
    if sh -c "$1"; then echo "healthy without a publisher"; status=1; fi
    exit $status' sh "$health"
}
if check 'the image is made' deploy/container/build.sh "$work/first" "$image"; then
  health=$(buildah inspect --type image "$image" |
    python3 -c 'import json, sys; print(json.load(sys.stdin)["Docker"]["config"]["Healthcheck"]["Test"][-1])')
  worker=$(buildah from --pull-never "$image")
  check 'its publisher is healthy, as HEALTHCHECK asks' healthy
  buildah rm "$worker" >/dev/null
  buildah rmi "$image" >/dev/null
fi
printf '%d passed, %d failed, %d skipped\n' "$passed" "$failed" "$skipped"
((failed == 0))
