#!/usr/bin/env bash
# Builds the container image `lapwing` from the Debian packages.
#
#   deploy/container/build.sh DIR [IMAGE]    DIR contains lapwing_*.deb (deploy/packages/build.sh);
#                                            IMAGE is the image's name (default: lapwing:VERSION)
#
# Needs root, mmdebstrap and buildah. Debian's packages come from this machine's apt sources, which
# may be a local mirror or a folder. Nothing else is downloaded.
# Exit: 0 built, 1 not built, 2 wrong usage.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)

case ${1-} in
  -h|--help) sed -n '2,/^set/{/^set/d;s/^# \{0,1\}//p}' "$0"; exit 0 ;;
  ''|-*) printf 'build: give the directory of the packages; see --help\n' >&2; exit 2 ;;
esac
for tool in mmdebstrap buildah; do
  command -v "$tool" >/dev/null ||
    { printf 'build: %s is missing; apt-get install mmdebstrap buildah\n' "$tool" >&2; exit 1; }
done
packages=("$1"/lapwing_*.deb)
[[ -f ${packages[0]} && ${#packages[@]} -eq 1 ]] ||
  { printf 'build: %s has not one lapwing_*.deb; deploy/packages/build.sh %s makes it\n' "$1" "$1" >&2; exit 1; }
package=$(realpath "${packages[0]}")
image=${2:-lapwing:$(dpkg-deb --field "$package" Version)}
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(stat --format=%Y "$package")}
export SOURCE_DATE_EPOCH
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

suite=$(. /etc/os-release && printf '%s' "$VERSION_CODENAME")
# standalone-sysusers creates the user without systemd.
mmdebstrap --variant=minbase --quiet --include=systemd-standalone-sysusers --include="$package" \
  --setup-hook="mkdir -p \"\$1$(dirname "$package")\" && cp '$package' \"\$1$package\"" \
  --customize-hook="rm \"\$1$package\"" \
  --customize-hook='install -d -o 0 -g 0 -m 755 "$1/var/lib/lapwing"' \
  --customize-hook='chroot "$1" chown lapwing:lapwing /var/lib/lapwing' \
  --dpkgopt='path-exclude=/usr/share/doc/*' --dpkgopt='path-include=/usr/share/doc/*/copyright' \
  --dpkgopt='path-exclude=/usr/share/locale/*' \
  "$suite" "$work/root.tar"
# chroot isolation needs no namespaces, so it works on any machine. HEALTHCHECK needs Docker's
# format.
buildah build --isolation=chroot --format=docker --timestamp="$SOURCE_DATE_EPOCH" --quiet \
  --file "$here/Containerfile" --tag "$image" "$work"
printf 'build: image %s\n' "$image"
