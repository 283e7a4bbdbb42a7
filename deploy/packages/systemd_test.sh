#!/usr/bin/env bash
# Tests the services under systemd. A container boots a bare Debian, installs the package and runs
# the commands of docs/how-to/run-with-systemd.md. The units start. `lapwing-serve` shows the bus
# and cannot change it. A killed publisher is restarted. Purging the package leaves nothing behind.
#
#   deploy/packages/systemd_test.sh DIR [WORK]
#
# DIR contains the packages (deploy/packages/build.sh). The root is created in WORK, by default
# build/packages. Needs root and deploy/packages/setup.sh. Takes 3 minutes. The container has its
# own namespaces and no network. Nothing stays mounted. Exit: 0 all passed, 1 something failed, 2
# wrong usage, 77 it cannot run here.
set -uo pipefail
if ((EUID == 0)) && [[ ${1-} != --inside ]]; then
  exec unshare --mount --propagation private "$0" --inside "$@"
fi
[[ ${1-} == --inside ]] && shift
packages=("$(realpath -m "${1-}")"/lapwing_*.deb)
[[ -f ${packages[0]} && ${#packages[@]} -eq 1 ]] ||
  { printf 'systemd_test: give a directory with one lapwing_*.deb\n' >&2; exit 2; }
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
work=$(realpath -m "${2:-$here/../../build/packages}")
mkdir -p "$work" && cd "$here/../.." || exit 1
. deploy/packages/checks.sh
((EUID == 0)) || skip "a container needs root"
for tool in debootstrap systemd-nspawn; do
  command -v "$tool" >/dev/null || skip "$tool is not there; deploy/packages/setup.sh installs it"
done

records=200000
bus=/var/lib/lapwing/es
units=(lapwing-publish@es lapwing-record@es lapwing-checkpoint@es lapwing-serve)
root=$work/systemd-root
supervisor='' leader='' cgroups=()
origin=http://127.0.0.1:9477

end_container() {  # On SIGTERM nspawn powers the container off.
  [[ -n $supervisor ]] || return
  kill "$supervisor" 2>/dev/null
  for _ in {1..150}; do
    kill -0 "$supervisor" 2>/dev/null || break
    sleep 0.2
  done
  kill -KILL ${leader:+"$leader"} "$supervisor" 2>/dev/null
  wait "$supervisor" 2>/dev/null
  for hierarchy in "${cgroups[@]}"; do
    find "$hierarchy/lapwing-$$" -depth -type d -exec rmdir {} + 2>/dev/null
  done
}
trap 'end_container; rm -rf --one-file-system "$root"' EXIT

inside() {
  nsenter --target "$leader" --all \
    /usr/bin/env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C.UTF-8 "$@"
}

# as UID GID GROUPS COMMAND...: runs without capabilities, so that only permissions decide.
as() {
  inside setpriv --reuid="$1" --regid="$2" --groups="$3" --inh-caps=-all --bounding-set=-all \
    --no-new-privs "${@:4}"
}
as_owner() { as lapwing lapwing lapwing "$@"; }
as_monitor() { as "${monitor[@]}" "$@"; }  # The identity of the running service: see `identified`.

property() { inside systemctl show --property="$1" --value "$2"; }

bare_debian() {  # Without procps: the units need no more than an essential system.
  local include
  include=$(dpkg-deb --field "${packages[0]}" Depends | tr ',' '\n' |
    sed 's/[|(].*//; s/ //g' | paste -sd ,)
  rm -rf --one-file-system "$root"
  debootstrap --variant=minbase --include="systemd,curl,openssl,$include" \
    "$suite" "$root" "$mirror" && cp "${packages[0]}" "$root/package.deb"
}

is_running() { [[ $(inside systemctl is-system-running) == running ]]; }

booted() {
  local scope=()
  # If systemd is not PID 1, nspawn cannot get a scope from it. Each container needs its own cgroup:
  # two systemds in one kill each other's services.
  if [[ ! -d /run/systemd/system ]]; then
    scope=(--keep-unit)
    mapfile -t cgroups < <(awk '$3 == "cgroup2" || $4 ~ /name=systemd/ { print $2 }' /proc/mounts)
  fi
  (
    for hierarchy in "${cgroups[@]}"; do
      mkdir "$hierarchy/lapwing-$$" && echo "$BASHPID" >"$hierarchy/lapwing-$$/cgroup.procs"
    done
    SYSTEMD_NSPAWN_UNIFIED_HIERARCHY=1 exec systemd-nspawn --quiet --boot --directory="$root" \
      --machine="lapwing-$$" --register=no "${scope[@]}" --private-network --console=pipe
  ) </dev/null >"$work/console" 2>&1 &
  supervisor=$!
  until_true pgrep --parent "$supervisor" systemd &&
    leader=$(pgrep --parent "$supervisor" systemd) && until_true is_running && return
  cat "$work/console"
  return 1
}

installed() {
  inside dpkg --install /package.deb &&
    [[ $(inside id -nG lapwing) == lapwing ]] &&
    [[ $(inside id -nG lapwing-serve) == 'lapwing-serve lapwing' ]] &&
    ! inside systemctl is-active "${units[@]}"
}

feed_made() {
  inside sh -ec 'mkdir /srv/feeds
    lapwing publish --bus /tmp/feed --source synthetic:records=$1
    lapwing export --bus /tmp/feed --out /srv/feeds/es.mbo.dbn.zst
    chmod 644 /srv/feeds/es.mbo.dbn.zst
    rm -r /tmp/feed /dev/shm/lapwing-0*' sh "$records"
}

# or_journal COMMAND...: prints the services' journal if the command fails.
or_journal() {
  "$@" && return
  inside journalctl --no-pager --lines=30 --unit='lapwing-*'
  return 1
}

# The commands from docs/how-to/run-with-systemd.md, word for word: they write es.toml, and enable
# and start the units.
configured() {
  sed -n '/^    cat > \/etc\/lapwing\/es.toml <<END$/,/^    systemctl enable/s/^    //p' \
    docs/how-to/run-with-systemd.md >"$work/commands"
  grep '^systemctl enable --now' "$work/commands" && inside sh -ex <"$work/commands"
}

active() {
  local unit
  for unit in "${units[@]}"; do
    inside systemctl status --no-pager "$unit" && [[ -n $(property StatusText "$unit") ]] || return
  done
}

get() {  # PATH [CURL-OPTION...]
  inside curl --silent --show-error --fail --max-time 10 \
    --header "Authorization: Bearer $token" "${@:2}" "$origin$1"
}

ready() { until_true inside curl --silent --fail --max-time 10 "$origin/readyz"; }

token_required() {
  ! token=wrong get /metrics && token=$(inside cat /var/lib/lapwing-serve/token) && get /metrics
}

metric() { get /metrics | tee /dev/stderr | grep -Fx "lapwing_$1"; }

metrics_agree() {
  metric 'bus_up{bus="lapwing/es"} 1' &&
    metric "bus_records_total{bus=\"lapwing/es\"} $records" &&
    metric "bus_durable_sequence{bus=\"lapwing/es\"} $records" &&
    metric 'subscriber_lag_records{bus="lapwing/es",subscriber="record"} 0' &&
    metric "subscriber_records_total{bus=\"lapwing/es\",subscriber=\"checkpoint-orders\"} $records"
}

# reading EXPRESSION: evaluates it for the newest reading. `bus` is the bus, `subscribers` its
# subscribers by name.
reading() {
  get /api/v1/buses | python3 -c '
import json, sys
(bus,) = [bus for bus in json.load(sys.stdin)["buses"] if bus["directory"] == sys.argv[1]]
subscribers = {each["name"]: each for each in bus["subscribers"] or []}
print(json.dumps(bus, indent=1))
sys.exit(not eval("(" + sys.argv[2] + ")"))' "$bus" "$1"
}

identified() {
  local pid
  pid=$(property MainPID lapwing-serve)
  read -ra monitor < <(inside sed -n 's/^[UG]id:\t\([0-9]*\).*/\1/p; s/^Groups:\t\(.*\) $/\1/p' \
    "/proc/$pid/status" | sed 's/ /,/g' | paste -sd ' ')
  inside cat "/proc/$pid/status"
  [[ ${monitor[*]} == "$(inside id -u lapwing-serve) $(inside id -g lapwing-serve) "* ]] &&
    inside grep -E '^(CapEff:.0+|NoNewPrivs:.1)$' "/proc/$pid/status"
}

can_read() {
  as_monitor lapwing tail --bus "$bus" --from oldest --count "$records" --format none &&
    as_monitor lapwing verify --bus "$bus"
}

# written_by WHO: prints the files and directories of the bus, its ring, its announcement and its
# recordings that WHO can write.
written_by() {
  inside find /var/lib/lapwing /var/lib/lapwing-recordings /dev/shm/ \
    \( -type f -o -type d -path '*/lapwing*' \) -print0 |
    "$1" xargs -0 sh -c '
      writes() {
        if [ -d "$1" ]; then mkdir "$1/attempt" && rmdir "$1/attempt"; else true >>"$1"; fi
      }
      for path; do
        if writes "$path" 2>/dev/null; then echo "$path"; fi
      done' sh
}

# Checks that `written_by` finds writable files: the bus, its journal and its announcement.
owner_can_write() {
  local written pattern
  written=$(written_by as_owner)
  printf '%s\n' "$written"
  for pattern in "$bus" "$bus/bus\.json" '.*\.jnl' '/dev/shm/.*\.bus'; do
    grep -x "$pattern" <<<"$written" || return
  done
}

# refused COMMAND...: succeeds if the command fails for lack of permission as the monitor's user.
refused() {
  local output
  if output=$(as_monitor timeout 60 lapwing "$@" 2>&1); then
    printf 'not refused: %s\n' "$output"
    return 1
  fi
  printf '%s\n' "$output"
  grep -E 'Permission denied|belongs to user|only the bus.s owner' <<<"$output"
}

all_refused() {
  refused publish --bus "$bus" --source synthetic:records=1 && refused repair --bus "$bus" &&
    refused checkpoint --bus "$bus" --fold latest --prune-journal &&
    refused record --bus "$bus" --out /var/lib/lapwing-recordings/es/other.dbn
}

certificate() {  # NAME
  inside sh -ec 'cd /etc/lapwing
    openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj "/CN=$1" \
      -addext subjectAltName=IP:127.0.0.1 -keyout key.pem -out cert.pem
    cp cert.pem "$1.pem"
    chgrp lapwing-serve key.pem
    chmod 640 key.pem' sh "$1"
}

trusted_by() { get /metrics --cacert "/etc/lapwing/$1.pem" --output /dev/null; }

reloaded() {
  local pid origin=https://127.0.0.1:9477
  certificate old &&
    printf 'tls-%s = "/etc/lapwing/%s.pem"\n' cert cert key key >>"$root/etc/lapwing/serve.toml" &&
    inside systemctl restart lapwing-serve && trusted_by old || return
  pid=$(property MainPID lapwing-serve)
  certificate new && inside systemctl reload lapwing-serve &&
    until_true trusted_by new && ! trusted_by old &&
    [[ $(property MainPID lapwing-serve) == "$pid" ]]
}

restarted() {
  [[ $(property NRestarts lapwing-publish@es) == 1 ]] &&
    inside systemctl is-active lapwing-publish@es
}

killed() {  # A killed recorder must not come back.
  inside systemctl kill --kill-who=main --signal=KILL lapwing-publish@es
  inside systemctl stop lapwing-record@es
  until_true restarted
}

stopped() {
  local unit
  inside systemctl disable --now "${units[@]}" || return
  for unit in "${units[@]}"; do
    [[ $(property Result "$unit") == success ]] || return
    [[ $(property ActiveState "$unit") == inactive ]] || return
  done
  inside find /dev/shm -name '*.bus' | silent cat
}

ring_left() {  # a ring that purge must remove
  inside systemctl start lapwing-publish@es &&
    inside systemctl kill --kill-who=main --signal=KILL lapwing-publish@es
  inside systemctl stop lapwing-publish@es
  inside find /dev/shm -name '*.ring' | grep .
}

left_over() {
  inside find / /dev/shm /run -xdev \( -path /var/lib/dpkg -o -path /var/log \) -prune -o \
    \( -name '*lapwing*' -o -nouser -o -nogroup \) -print
  inside getent passwd lapwing lapwing-serve
  inside getent group lapwing lapwing-serve
  true
}

check 'a bare Debian is made' bare_debian || exit 1
if ! booted >"$work/output" 2>&1; then
  tail -n 20 "$work/output"
  skip "systemd does not boot in a container"
fi
check 'the package makes its users and starts nothing' installed || exit 1
check 'a feed is made' feed_made
check 'the documented commands start the units' or_journal configured || exit 1
check 'the units are active and report their status' active
check 'the monitor is ready' ready
check 'it requires its token' token_required
check 'its metrics are those of the bus' until_true metrics_agree
check 'its page has the bus and its subscribers' until_true reading \
  'bus["label"] == "lapwing/es" and bus["state"] == "running" and
   bus["ring"]["head"] == '$records' and
   {name: each["process"] for name, each in subscribers.items()} ==
       {"record": "running", "checkpoint-orders": "running"}'
check 'it runs as its own user, without capabilities' identified
check 'this user reads every record' can_read
check 'the owner can write files and directories' owner_can_write
check 'this user can write none of them' silent written_by as_monitor
check 'its commands that write are refused' all_refused
check 'a killed publisher is started again' killed
check 'the monitor shows the kill and the missing recorder' until_true reading \
  'bus["state"] == "running" and bus["ring"]["head"] == '$records' and
   "killed" in [event["event"] for event in bus["events"]] and
   subscribers["record"]["state"] == "missing" and
   subscribers["checkpoint-orders"]["state"] == "live"'
check 'its user cannot forget the recorder' refused subscribers --bus "$bus" --forget record
check 'the owner can' as_owner lapwing subscribers --bus "$bus" --forget record
check 'the recorder starts again' or_journal inside systemctl start lapwing-record@es
check 'the monitor reloads its certificate' reloaded
check 'the units stop, and nothing is announced' stopped
check 'without a publisher, its user cannot start one' all_refused
check 'a publisher that was killed leaves its ring' ring_left
# Administrators may forget to stop enabled units before a purge.
check 'units run when it is purged' inside systemctl enable --now lapwing-publish@es lapwing-serve
check 'the package is purged' inside dpkg --purge lapwing
check 'nothing is left' silent left_over
printf '%d passed, %d failed, 0 skipped\n' "$passed" "$failed"
((failed == 0))
