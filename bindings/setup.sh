#!/usr/bin/env bash
# Installs the Debian packages that the bindings are built with: Python's headers, Rust, Maven, Node.js, Mono.
# Go 1.24 and JDK 22 are newer than those of Debian 12. bindings/test.sh reports which languages the machine
# cannot build.
# Run it as root, or as a user who may use sudo. It is idempotent and not interactive.
# Exit: 0 ready, 1 a package could not be installed, 2 wrong usage.
set -euo pipefail
here=$(dirname "${BASH_SOURCE[0]}")
. "$here/../tools/apt.sh"
take_no_arguments "$@"

# Looks for programs by name: those of other sources are equally good.
missing=()
has cargo || missing+=(cargo-web)
has cargo-clippy || missing+=(rust-web-clippy)
has mvn || missing+=(maven)
has node || missing+=(nodejs)
has npm || missing+=(npm)
has mcs || missing+=(mono-mcs)
has mono || missing+=(mono-runtime)
for package in python3-dev python3-venv libmono-system-core4.0-cil; do
  installed "$package" || missing+=("$package")
done
install_missing "ready; bindings/test.sh builds the packages and runs them" "${missing[@]}"
