#!/usr/bin/env bash
# Installs from Debian what the packages of other languages are built with, as far as Debian has it: Python's
# headers, Rust, Maven, Node.js, Mono. Go 1.24 and a JDK 22 are newer than Debian 12's; bindings/test.sh says
# which language a machine lacks something for.
# Runs as root, or as a user who may use sudo; idempotent, asks nothing.
# Exit: 0 ready, 1 a package could not be installed, 2 wrong usage.
set -euo pipefail
here=$(dirname "${BASH_SOURCE[0]}")
. "$here/../tools/apt.sh"
take_no_arguments "$@"

# Programs by name, since one that came another way is as good.
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
