#!/usr/bin/env bash
# Installs the Debian packages that the monitoring tests need. promtool and Prometheus check the
# alerts and answer queries in this folder's tests. page_test.py opens the page in Chromium, and
# site_test.py opens the documentation. proxy_test.py uses nginx as a proxy. serve_test.py simulates
# slow clients with slowhttptest. Prometheus and nginx do not run as services: their units stay
# masked, unless they were installed before. Runs as root, or as a user who may use sudo;
# idempotent; asks no questions. Exit: 0 ready, 1 a package could not be installed, 2 wrong usage.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/../../tools/apt.sh"
take_no_arguments "$@"

missing=()
{ has promtool && has prometheus; } || missing+=(prometheus)
has chromedriver || missing+=(chromium-driver)
[[ -x /usr/sbin/nginx ]] || missing+=(nginx-light)
has slowhttptest || missing+=(slowhttptest)
installed python3-selenium || missing+=(python3-selenium)
if [[ ${#missing[@]} -eq 0 ]]; then
  say "everything is installed"
  exit 0
fi
begin_to_install "${missing[*]}"
mask() {  # PACKAGE SERVICE: run before the package is installed, which would start the service
  local unit=/etc/systemd/system/$2.service
  [[ " ${missing[*]} " == *" $1 "* && ! -e $unit && ! -L $unit ]] || return 0
  "${as_root[@]}" install -d "${unit%/*}"
  "${as_root[@]}" ln -s /dev/null "$unit"
}
mask prometheus prometheus
mask nginx-light nginx
install_packages "${missing[@]}"
say "ready; Prometheus and nginx are not started. To allow that, run 'systemctl unmask NAME'."
