#!/usr/bin/env bash
# Installs from Debian what the tests of monitoring need besides: promtool and Prometheus, with which those of
# this folder check alerts and ask a Prometheus, Chromium, in which page_test.py opens the page, and slowhttptest,
# with which serve_test.py makes slow clients. Prometheus serves nothing: its unit stays masked, unless it was
# installed before.
# Runs as root, or as a user who may use sudo; idempotent, asks nothing.
# Exit: 0 ready, 1 a package could not be installed, 2 wrong usage.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/../apt.sh"
take_no_arguments "$@"

missing=()
{ has promtool && has prometheus; } || missing+=(prometheus)
has chromedriver || missing+=(chromium-driver)
has slowhttptest || missing+=(slowhttptest)
installed python3-selenium || missing+=(python3-selenium)
if [[ ${#missing[@]} -eq 0 ]]; then
  say "everything is installed"
  exit 0
fi
begin_to_install "${missing[*]}"
unit=/etc/systemd/system/prometheus.service
if [[ " ${missing[*]} " == *" prometheus "* && ! -e $unit && ! -L $unit ]]; then
  "${as_root[@]}" install -d "${unit%/*}"
  "${as_root[@]}" ln -s /dev/null "$unit"
fi
install_packages "${missing[@]}"
say "ready; Prometheus is not started, and 'systemctl unmask prometheus' lets it be"
