# shellcheck shell=bash
# Functions for the set-up scripts, which source this file. They install only with apt, and ask no
# questions.

say() { printf 'setup: %s\n' "$*"; }
fail() { printf 'setup: %s\n' "$2" >&2; exit "$1"; }
has() { command -v "$1" >/dev/null; }

# For scripts without arguments: --help prints the comment at the start of the script.
take_no_arguments() {
  case ${1-} in
    '') ;;
    -h|--help) sed -n '2,/^[^#]/s/^# \{0,1\}//p' "$0"; exit 0 ;;
    *) fail 2 "unknown argument '$1'; this script takes none" ;;
  esac
}

installed() {
  [[ $(dpkg-query -W -f='${db:Status-Status}' "$1" 2>/dev/null) == installed ]]
}

# Prefix for commands that need root. Without a terminal, sudo fails instead of asking for a
# password.
as_root=()
if [[ $EUID -ne 0 ]]; then
  if [[ -t 0 ]]; then as_root=(sudo); else as_root=(sudo -n); fi
fi

# apt-get waits up to 300 s for other holders of its lock.
apt() {
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
    apt-get --quiet --quiet --option DPkg::Lock::Timeout=300 "$@" </dev/null
}

# Reads apt's package lists. Ends the script if the system is not supported, or if the user may not
# install packages. $1 is the list of missing packages for the message.
begin_to_install() {
  local system id version
  system=$(. /etc/os-release 2>/dev/null && printf '%s %s' "${ID-unknown}" "${VERSION_ID-}") ||
    system=unknown
  read -r id version <<<"$system"
  # Debian's testing and unstable releases have no version number.
  local oldest
  case $id in
    debian) oldest=12 ;;
    ubuntu) oldest=24 ;;
    *) oldest=none ;;
  esac
  if [[ $oldest == none || ( -n ${version-} && ${version%%.*} -lt $oldest ) ]] || ! has apt-get; then
    fail 2 "this script needs apt-get and Debian 12, Ubuntu 24.04 or newer. This is ${system% }.
setup: Install these packages, or their equivalents here, and continue as the README describes:
setup:   $1"
  fi
  [[ $EUID -eq 0 ]] || has sudo ||
    fail 1 "run this as root, or install sudo; these packages are missing: $1"
  say "reading the package lists"
  apt update || fail 1 "apt-get update failed; check the network and /etc/apt/sources.list"
}

install_packages() {
  say "installing $*"
  apt install --yes --no-install-recommends "$@" ||
    fail 1 "apt-get install failed; the lines above say which package"
}

# install_missing READY [PACKAGE…]: READY is the final message.
install_missing() {
  local ready=$1
  shift
  if [[ $# -eq 0 ]]; then
    say "everything is installed"
    return
  fi
  begin_to_install "$*"
  install_packages "$@"
  say "$ready"
}
