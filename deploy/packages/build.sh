#!/usr/bin/env bash
# Builds the Debian packages lapwing, liblapwing1 and liblapwing-dev from the committed source.
#
#   deploy/packages/build.sh DIR     writes to DIR, which is created or replaced
#
# Needs deploy/setup.sh and debhelper. Each build uses the commit's time and the same paths, so the
# same commit produces the same packages. LAPWING_PACKAGE_JOBS: number of parallel compilers. Exit:
# 0 built, 1 not built, 2 wrong usage.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

case ${1-} in
  -h|--help) sed -n '2,/^set/{/^set/d;s/^# \{0,1\}//p}' "$0"; exit 0 ;;
  ''|-*) printf 'build: give the directory of the packages; see --help\n' >&2; exit 2 ;;
esac
mkdir -p "$1"
target=$(cd "$1" && pwd)
for tool in dpkg-buildpackage dh; do
  command -v "$tool" >/dev/null ||
    { printf 'build: %s is missing; apt-get install dpkg-dev debhelper\n' "$tool" >&2; exit 1; }
done
version=$(dpkg-parsechangelog --show-field Version)
# A separate copy of the source, so that ignored files are not packaged.
source=$target/lapwing-$version
rm -rf "$source"
mkdir "$source"
git archive HEAD | tar -x -C "$source"
revision=$(git rev-parse --short=12 HEAD)
SOURCE_DATE_EPOCH=$(git show --no-patch --format=%ct HEAD)
export SOURCE_DATE_EPOCH LAPWING_REVISION=$revision
(cd "$source" && dpkg-buildpackage --build=full --no-sign --jobs="${LAPWING_PACKAGE_JOBS:-$(nproc)}")
rm -rf "$source"
printf 'build: %s\n' "$target"/*.deb
