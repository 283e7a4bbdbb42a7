#!/usr/bin/env bash
# Follows the README in bare roots: set-up, demonstration and default tests, as root and as an
# ordinary user with sudo.
#
#   tests/cross/fresh_roots.sh [SUITE…]      default: bookworm trixie
#
# Each suite gets its own root with debootstrap, from this machine's apt mirror, and a copy of the
# committed source. Runs in its own mount namespace, so no mounts remain. Prints how many minutes
# each command takes. Takes 4 GB and about half an hour per suite.
#
# Exit: 0 all passed; 77 SKIPPED: not root, or no debootstrap; 1 any other error.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

if ((EUID != 0)) || ! command -v debootstrap >/dev/null; then
  echo "*** SKIPPED: no fresh roots: that needs root and debootstrap"
  exit 77
fi
if [[ ${1-} != --inside ]]; then
  exec unshare --mount --propagation private "$0" --inside "$@"
fi
shift
(($# > 0)) || set -- bookworm trixie

work=$(mktemp -d "${TMPDIR:-/tmp}/lapwing-roots-XXXXXX")
trap 'umount -R "$work"/* 2>/dev/null; rm -rf --one-file-system "$work"' EXIT
mirror=$(apt-get indextargets --format '$(REPO_URI)' | grep -v -e security -e updates | sort -u |
  head -n 1)
results=()

# timed WHAT ROOT COMMAND…: runs a command from the copy in the root.
timed() {
  local what=$1 root=$2 start=$SECONDS status=0
  shift 2
  echo "=== $what"
  chroot "$root" "$@" || status=$?
  results+=("$(printf '%-44s %3d min %02d s  exit %d' "$what" $(((SECONDS - start) / 60)) \
    $(((SECONDS - start) % 60)) "$status")")
  echo "=== ${results[-1]}"
  return "$status"
}

failed=0
for suite in "$@"; do
  root=$work/$suite
  mkdir "$root"
  mount --bind "$root" "$root"  # mount namespaces created inside need a root that is a mount
  debootstrap --variant=minbase --include=ca-certificates,sudo "$suite" "$root" "$mirror" >/dev/null
  cp /etc/resolv.conf "$root/etc/" 2>/dev/null || true
  for folder in proc sys dev; do mount --rbind "/$folder" "$root/$folder"; done
  chroot "$root" useradd --create-home --shell /bin/bash newcomer
  echo 'newcomer ALL=(ALL) NOPASSWD: ALL' >"$root/etc/sudoers.d/newcomer"
  for user in root newcomer; do
    home=$(chroot "$root" sh -c "echo ~$user")
    mkdir -p "$root$home/lapwing"
    git archive HEAD | tar -x -C "$root$home/lapwing"
    chroot "$root" chown -R "$user:" "$home/lapwing"
    for command in deploy/demo.sh deploy/test.sh; do
      timed "$suite, $user: $command" "$root" su - "$user" -c "cd lapwing && $command" || failed=1
    done
  done
done
printf '%s\n' '' "${results[@]}"
exit $failed
