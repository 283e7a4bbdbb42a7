#!/usr/bin/env bash
# Tests the packages as an administrator uses them. lintian must report no problems, and two builds
# must be bit-identical. On a bare Debian the packages are installed, used and purged without
# leaving any files. systemd_test.sh runs their units under systemd.
#
#   deploy/packages/test.sh [DIR]          makes two builds in DIR (default: build/packages)
#   deploy/packages/test.sh --built DIR    tests the packages in DIR/first
#
# Then the container image is built from them, publishes, and becomes healthy. Needs root,
# deploy/setup.sh, deploy/packages/setup.sh and an hour. Runs in its own mount namespace, so no
# mounts remain.
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

# Whether the override for spelling-error-in-binary is used depends on how the compiler lays out
# strings.
lint() {
  lintian -EI --pedantic --allow-root "$work"/first/*.changes 2>&1 |
    grep -v -e '^I: .*: unused-override spelling-error-in-binary ' -e '^N: 0 hints overridden; '
  return "${PIPESTATUS[0]}"
}

# All files in the chroot except the package manager's own records.
listing() {
  find "$root" -xdev \( -path "$root/var/lib/dpkg" -o -path "$root/var/lib/apt" -o -path "$root/var/cache" \
    -o -path "$root/var/log" -o -path "$root/packages" -o -path "$root/proc" -o -path "$root/dev" \
    -o -path "$root/etc/ld.so.cache" -o -path "$root/var/lib/systemd" \) -prune -o -printf '%P %m %U %G\n' | sort
}

inside() {
  chroot "$root" /usr/bin/env PATH=/usr/sbin:/usr/bin:/sbin:/bin DEBIAN_FRONTEND=noninteractive LC_ALL=C.UTF-8 "$@"
}

# A killed publisher leaves its ring and its announcement in shared memory.
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
# Install the dependencies first, so that remaining files belong to our packages.
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

# podman and buildah share their storage, so use a name unique to this run.
image=lapwing-test:$$
# Runs a publisher in a container until the image's own HEALTHCHECK succeeds.
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
