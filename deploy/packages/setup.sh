#!/usr/bin/env bash
# Installs from Debian what builds the packages and the container image, and what tests them, besides what
# deploy/setup.sh installs. It starts nothing.
# Runs as root, or as a user who may use sudo; idempotent, asks nothing.
# Exit: 0 ready, 1 a package could not be installed, 2 wrong usage.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/../../tools/apt.sh"
take_no_arguments "$@"

packages=(
  debhelper dpkg-dev  # the packages
  lintian             # what Debian has to say of them
  debootstrap         # a bare Debian to install them in
  systemd-container   # its systemd in a container
  mmdebstrap buildah  # the image
  podman              # its health check
)
missing=()
for package in "${packages[@]}"; do
  installed "$package" || missing+=("$package")
done
install_missing "ready" "${missing[@]}"
