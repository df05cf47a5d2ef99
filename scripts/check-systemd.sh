#!/usr/bin/env bash
# Proves the units in a real systemd: boots a small Debian in a container, installs the package in it, and watches the service start,
# read its credential, get killed, freeze, get upgraded and removed. As root, with debootstrap and systemd-container; about two minutes, and not part
# of CI, because booting a container needs more rights than a build machine has.
#   scripts/check-systemd.sh [ROOT]      ROOT is created if it does not exist, and kept, so that the next run is quick
set -euo pipefail
cd "$(dirname "$0")/.."
root=${1:-.cache/systemd-root}
mirror=${MIRROR:-http://deb.debian.org/debian}
version=$(node -p 'require("./package.json").version')
deb=${DEB:-dist/packages/gateside_$version-1_$(dpkg --print-architecture).deb}
claim() { printf 'ok - %s\n' "$1"; }
die() { printf 'not ok - %s\n' "$1" >&2; inside journalctl -u gateside -n 30 --no-pager 2>/dev/null | tail -30 >&2 || true; exit 1; }

for program in debootstrap systemd-nspawn nsenter; do
  command -v $program >/dev/null || { echo "skipped - $program is missing (debootstrap, systemd-container, util-linux)"; exit 0; }
done
[ "$(id -u)" = 0 ] || { echo "skipped - needs root"; exit 0; }
[ -e "$deb" ] || { echo "not ok - $deb is missing: npm run package" >&2; exit 1; }

if [ ! -x "$root/usr/lib/systemd/systemd" ]; then
  mkdir -p "$root"
  debootstrap --variant=minbase --include=systemd,systemd-sysv,dbus,adduser,libstdc++6,mosquitto bookworm "$root" "$mirror" >/dev/null
fi
work=$(mktemp -d)
systemd-nspawn -q --register=no --keep-unit -b -D "$root" --console=read-only </dev/null >"$work/boot.log" 2>&1 &
nspawn=$!
leader=
inside() { nsenter -t "$leader" -m -p -i -u -C -- env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin "$@"; }
cleanup() {
  if [ -n "$leader" ]; then inside systemctl poweroff >/dev/null 2>&1 || true; fi
  for _ in $(seq 50); do kill -0 "$nspawn" 2>/dev/null || break; sleep 0.2; done
  kill "$nspawn" 2>/dev/null || true
  rm -rf "$work"
}
trap cleanup EXIT
until_holds() { # seconds, command…
  local deadline=$((SECONDS + $1)); shift
  until "$@" >/dev/null 2>&1; do [ $SECONDS -lt $deadline ] || return 1; sleep 0.3; done
}
find_leader() { leader=$(pgrep -P "$nspawn" | head -1) && [ -n "$leader" ]; }
until_holds 20 find_leader || { cat "$work/boot.log" >&2; die "the container does not boot"; }
is_up() { case "$(inside systemctl is-system-running)" in running | degraded) ;; *) false ;; esac; }
until_holds 60 is_up || { tail -20 "$work/boot.log" >&2; die "systemd does not come up"; }
claim "$(inside systemctl --version | head -1) is up"

property() { inside systemctl show gateside -p "$1" --value; }
is() { [ "$(property "$1")" = "$2" ]; }
active() { is ActiveState active && is SubState running; }
restarted_after() { active && [ "$(property MainPID)" != "$1" ]; }

inside dpkg -P gateside >/dev/null 2>&1 || true
cp "$deb" "$root/root/gateside.deb"
inside dpkg -i /root/gateside.deb >"$work/install.log" 2>&1 || { cat "$work/install.log" >&2; die "install"; }
[ "$(inside systemctl is-enabled gateside || true)" = disabled ] || die "a box that nobody commissioned has the service enabled"
claim "installs, and waits for its commissioning"

# An agent with a gateway, and a broker that requires a password, which only the credential contains.
printf 'plant:geheim\n' >"$root/etc/mosquitto/gateside.passwords"
inside mosquitto_passwd -U /etc/mosquitto/gateside.passwords
inside chown mosquitto /etc/mosquitto/gateside.passwords
printf 'listener 18883 127.0.0.1\nallow_anonymous false\npassword_file /etc/mosquitto/gateside.passwords\n' >"$root/etc/mosquitto/conf.d/gateside.conf"
inside systemctl restart mosquitto
inside systemd-run --quiet --unit gateside-simulator /usr/bin/gateside simulate --port 18081 --sensors 7 --site-out /root/site.json || true
until_holds 20 test -s "$root/root/site.json" || die "the simulator does not start"
inside install -m 0640 -g gateside /root/site.json /etc/gateside/site.json
printf 'GATEWAY_URL=http://127.0.0.1:18081\nMQTT_URL=mqtt://127.0.0.1:18883\nMQTT_USERNAME=plant\nHTTP_PORT=18082\nBACKFILL_DAYS=0\n' >>"$root/etc/gateside/gateside.env"
inside install -d -m 0700 /etc/credstore
printf 'geheim\n' >"$root/etc/credstore/gateside.mqtt.password"
chmod 0600 "$root/etc/credstore/gateside.mqtt.password"
# A short watchdog, so that the test need not wait a minute; everything else is as installed.
mkdir -p "$root/etc/systemd/system/gateside.service.d"
printf '[Service]\nWatchdogSec=8\nRestartSec=2\n' >"$root/etc/systemd/system/gateside.service.d/quick.conf"
inside systemctl daemon-reload
inside gateside doctor >"$work/doctor.log" 2>&1 || { cat "$work/doctor.log" >&2; die "doctor"; }
claim "doctor finds gateway and broker, with the service's own credential"

inside systemctl enable --now gateside >/dev/null 2>&1 || die "systemctl start"
active || die "not active (running): $(property ActiveState) ($(property SubState))"
is StatusText "polling 7 sensors" || die "status: $(property StatusText)"
until_holds 30 inside gateside status || die "gateside status"
# The container shares the network, so a subscriber on this machine is enough.
if command -v mosquitto_sub >/dev/null; then
  until_holds 40 mosquitto_sub -p 18883 -u plant -P geheim -t 'gateside/#' -C 3 -W 5 || die "nothing was published"
fi
claim "active (running); publishes with the password of /etc/credstore"
inside systemd-analyze security gateside --no-pager | tail -1

pid=$(property MainPID)
sleep 10
is MainPID "$pid" || die "the watchdog killed a healthy agent"
claim "a healthy agent outlives its watchdog interval"
inside sh -c "kill -STOP $pid"
until_holds 40 restarted_after "$pid" || die "a frozen agent was not restarted"
[[ "$(inside journalctl -u gateside --no-pager)" == *"Watchdog timeout"* ]] || die "it was not the watchdog"
claim "a frozen agent is killed by the watchdog and restarted"
pid=$(property MainPID)
inside sh -c "kill -KILL $pid"
until_holds 20 restarted_after "$pid" || die "a killed agent was not restarted"
claim "a killed agent is restarted"

started=$(date +%s%N)
inside systemctl stop gateside
claim "stops in $((($(date +%s%N) - started) / 1000000)) ms with result $(property Result)"
is Result success || die "stop: $(property Result)"

mv "$root/etc/gateside/site.json" "$root/etc/gateside/site.json.away"
inside systemctl start gateside >/dev/null 2>&1 && die "starts without a site file"
mv "$root/etc/gateside/site.json.away" "$root/etc/gateside/site.json"
until_holds 20 active || die "does not recover from a repaired setting: $(property ActiveState)"
claim "a wrong setting is tried again until it is repaired"

pid=$(property MainPID)
inside dpkg -i /root/gateside.deb >/dev/null 2>&1 || die "upgrade"
until_holds 20 restarted_after "$pid" || die "the upgrade did not restart the running agent"
inside systemctl stop gateside
inside dpkg -i /root/gateside.deb >/dev/null 2>&1
active && die "the upgrade started what the administrator had stopped"
claim "an upgrade restarts what runs and leaves alone what was stopped"

inside systemctl start gateside
inside dpkg -r gateside >/dev/null 2>&1
is ActiveState active && die "removed and still running"
inside dpkg -i /root/gateside.deb >/dev/null 2>&1
until_holds 20 active || die "installed again after a removal, the enabled service does not start"
claim "remove stops it; installed again it goes on, enabled as before"

printf 'GATEWAY_URL=http://127.0.0.1:18081\nMQTT_URL=mqtt://plant:geheim@127.0.0.1:18883\nHTTP_PORT=18083\nBACKFILL_DAYS=0\nMQTT_CLIENT_ID=north\n' >"$root/etc/gateside/north.env"
# A site of its own: two agents that publish as one site are told to both, and to `gateside status`.
sed 's/"simulated-plant"/"north-hall"/' "$root/etc/gateside/site.json" >"$root/etc/gateside/north.site.json"
inside chgrp gateside /etc/gateside/north.env /etc/gateside/north.site.json
inside systemctl start gateside@north || die "the instance does not start"
until_holds 20 inside gateside @north status || die "gateside @north status"
[ -e "$root/var/lib/gateside/north/gateside.db" ] || die "the instance has no store of its own"
claim "an instance runs beside it with settings and store of its own"

inside dpkg -P gateside >/dev/null 2>&1
rm -rf "$root/etc/gateside" "$root/etc/systemd/system/gateside.service.d" "$root/etc/credstore/gateside.mqtt.password"
[ ! -e "$root/var/lib/gateside" ] || die "purge left the store"
claim "purge stops all and leaves nothing"
