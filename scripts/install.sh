#!/bin/sh
# Installs Gateside on a systemd machine without the package: from a checkout that was built (npm ci && npm run build) or an unpacked
# release. Needs Node 20.20, 22.12 or 24, which the service then uses. As root:  scripts/install.sh [--uninstall [--purge]]
set -eu
cd "$(dirname "$0")/.."

say() { printf '%s\n' "$*"; }
fail() { printf 'error: %s\n' "$*" >&2; exit 1; }
[ "$(id -u)" = 0 ] || fail "must run as root (sudo $0)"
systemd_runs() { [ -d /run/systemd/system ]; }

if [ "${1:-}" = --uninstall ]; then
  if systemd_runs; then systemctl disable --now gateside.service 'gateside@*.service' 'gateside-collect@*.service' 2>/dev/null || true; fi
  rm -rf /usr/lib/gateside /usr/bin/gateside /usr/lib/systemd/system/gateside.service /usr/lib/systemd/system/gateside@.service
  if systemd_runs; then systemctl daemon-reload; fi
  if [ "${2:-}" = --purge ]; then
    rm -rf /var/lib/gateside || say "/var/lib/gateside stays: it is a mount, or could not be removed."
    rm -f /etc/gateside/gateside.env
    rmdir /etc/gateside 2>/dev/null || true
    find /etc/systemd/system -name 'gateside@*.service' -type l -lname '*/gateside@.service' -delete 2>/dev/null || true
    userdel gateside 2>/dev/null || true
    say "Gateside, its readings and its settings have been removed."
    # A later account may get the number of the group that has gone.
    if [ -d /etc/gateside ]; then
      chown root:root /etc/gateside
      chmod 0700 /etc/gateside
      say "Files that an administrator created stay in /etc/gateside, now readable by root alone."
    fi
  else
    say "Gateside has been removed; settings in /etc/gateside and readings in /var/lib/gateside are kept (--purge removes them)."
  fi
  exit 0
fi

[ -f dist/gateside.js ] && [ -f dist/launch.js ] && [ -f dist/better_sqlite3.node ] || fail "dist/ is not built: run  npm ci && npm run build  first"
node=$(command -v node) || fail "Node is not installed; version 20.20, 22.12 or 24 is needed"
"$node" -e 'const [a,b]=process.versions.node.split(".").map(Number); process.exit((a===20&&b>=20)||(a===22&&b>=12)||a>=24?0:1)' ||
  fail "this is Node $("$node" --version); it must be 20.20 or later in the 20 series, 22.12 or later in the 22 series, or 24 or later"
"$node" dist/gateside.js --version >/dev/null &&
  "$node" -e 'process.dlopen({ exports: {} }, require("node:path").resolve("dist/better_sqlite3.node"))' ||
  fail "the program was not built for Node $("$node" --version): run  npm ci && npm run build  with it"

getent passwd gateside >/dev/null ||
  useradd --system --user-group --no-create-home --home-dir /var/lib/gateside --shell /usr/sbin/nologin gateside
install -d -m 0755 /usr/lib/gateside
# Unlinked first: a running agent has the old files open.
for part in gateside.js launch.js collect.js copy-log.js package.json THIRD-PARTY-LICENCES.txt dashboard better_sqlite3.node sdnotify.node; do
  [ ! -e "dist/$part" ] || cp -R --remove-destination "dist/$part" /usr/lib/gateside/
done
chmod -R u=rwX,go=rX /usr/lib/gateside
# The runtime that was tested is the one that runs, even if somebody upgrades the system's Node. A version manager's shim is not the program itself.
program=$("$node" -p process.execPath)
install -m 0755 "$program" /usr/lib/gateside/node
/usr/lib/gateside/node /usr/lib/gateside/gateside.js --version >/dev/null || fail "a copy of $program does not run by itself"
if command -v cc >/dev/null && [ -f native/sdnotify.c ] && [ ! -f dist/sdnotify.node ]; then
  headers=$(dirname "$(dirname "$program")")/include/node
  if [ -f "$headers/node_api.h" ]; then
    cc -O2 -shared -fPIC -I"$headers" native/sdnotify.c -s -o /usr/lib/gateside/sdnotify.node
  fi
fi
# The same code cache as the package's (packaging/postinst), made last, because V8 accepts it only for exactly this program and runtime.
env -i PATH="$PATH" timeout -k 5 30 /usr/lib/gateside/node --max-semi-space-size=4 --max-old-space-size=128 --single-threaded-gc --no-separate-gc-phases \
  /usr/lib/gateside/launch.js --write-cache >/dev/null 2>&1 </dev/null ||
  say "The code cache could not be created, so the agent starts more slowly."
install -m 0755 packaging/gateside.sh /usr/bin/gateside
install -d -m 0750 -o root -g gateside /etc/gateside
[ -d /etc/credstore ] || install -d -m 0700 /etc/credstore
install -d -m 0750 -o gateside -g gateside /var/lib/gateside
[ -e /etc/gateside/gateside.env ] || install -m 0640 -o root -g gateside packaging/gateside.env /etc/gateside/gateside.env
install -d -m 0755 /usr/lib/systemd/system
for unit in gateside.service gateside@.service; do
  # Without the small native module, readiness is reported by systemd-notify, which is a separate process.
  if [ -f /usr/lib/gateside/sdnotify.node ]; then cat "systemd/$unit"; else sed 's/^NotifyAccess=main/NotifyAccess=all/' "systemd/$unit"; fi \
    >"/usr/lib/systemd/system/$unit"
done
if systemd_runs; then systemctl daemon-reload; systemctl try-restart gateside.service 'gateside@*.service' 'gateside-collect@*.service' || true; fi
say "Gateside $(gateside --version) is installed. Next:"
say "  1. set GATEWAY_URL and MQTT_URL in /etc/gateside/gateside.env, write /etc/gateside/site.json"
say "  2. gateside check && gateside doctor"
say "  3. systemctl enable --now gateside"
