#!/usr/bin/env bash
# Installs promtool and Prometheus from Debian, with which the tests of this folder check alerts and ask a
# Prometheus. It serves nothing: its unit stays masked, unless it was installed before.
# Runs as root, or as a user who may use sudo; idempotent, asks nothing.
# Exit: 0 ready, 1 a package could not be installed, 2 wrong usage.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/../apt.sh"
take_no_arguments "$@"

if has promtool && has prometheus; then
  say "everything is installed"
  exit 0
fi
begin_to_install prometheus
unit=/etc/systemd/system/prometheus.service
if [[ ! -e $unit && ! -L $unit ]]; then
  "${as_root[@]}" install -d "${unit%/*}"
  "${as_root[@]}" ln -s /dev/null "$unit"
fi
install_packages prometheus
say "ready; Prometheus is not started, and 'systemctl unmask prometheus' lets it be"
