#!/usr/bin/env bash
# Installs the Debian packages needed to build and test the packages and the container image, in
# addition to deploy/setup.sh. It starts no services.
# Runs as root, or as a user who may use sudo; idempotent; asks no questions.
# Exit: 0 ready, 1 a package could not be installed, 2 wrong usage.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/../../tools/apt.sh"
take_no_arguments "$@"

packages=(
  debhelper dpkg-dev  # the packages
  lintian             # Debian's policy checks
  debootstrap         # a bare Debian for installation tests
  systemd-container   # boots it with systemd in a container
  mmdebstrap buildah  # the image
  podman              # its health check
)
missing=()
for package in "${packages[@]}"; do
  installed "$package" || missing+=("$package")
done
install_missing "ready" "${missing[@]}"
