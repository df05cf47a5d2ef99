#!/usr/bin/env bash
# Proves scripts/install.sh on this machine (as root, where no Gateside is installed): install, run, reinstall over changed settings,
# uninstall, purge. Leaves nothing behind.
set -euo pipefail
cd "$(dirname "$0")/.."
claim() { printf 'ok - %s\n' "$1"; }
die() { printf 'not ok - %s\n' "$1" >&2; exit 1; }
[ "$(id -u)" = 0 ] || { echo "skipped - needs root"; exit 0; }
for path in /usr/lib/gateside /usr/bin/gateside /etc/gateside /var/lib/gateside; do
  [ ! -e "$path" ] || { echo "skipped - $path exists: Gateside is installed here"; exit 0; }
done
work=$(mktemp -d)
trap 'scripts/install.sh --uninstall --purge >/dev/null 2>&1 || true; rm -rf "$work"' EXIT

setpriv --reuid=65534 --regid=65534 --clear-groups sh scripts/install.sh >"$work/log" 2>&1 && die "installs without being root"
grep -q 'must run as root' "$work/log" || die "does not say that it wants root"
claim "asks for root"

scripts/install.sh >"$work/log" 2>&1 || { cat "$work/log"; die "install"; }
grep -q 'is installed' "$work/log" || die "does not say what comes next"
[ "$(gateside --version)" = "$(node -p 'require("./package.json").version')" ] || die "the installed program does not run"
[ "$(stat -c %U:%G:%a /etc/gateside /var/lib/gateside | tr '\n' ' ')" = 'root:gateside:750 gateside:gateside:750 ' ] || die "directories"
[ "$(stat -c %U:%G:%a /etc/gateside/gateside.env)" = root:gateside:640 ] || die "settings"
claim "installs and runs"
NODE_DEBUG=gateside gateside --version 2>&1 | grep -q ': code cache used' || die "the installed program does not use its code cache"
claim "makes the code cache"
if [ -e /usr/lib/gateside/sdnotify.node ]; then access=main; else access=all; fi
grep -q "^NotifyAccess=$access" /usr/lib/systemd/system/gateside.service || die "the unit does not fit the way of notifying"
if command -v systemd-analyze >/dev/null; then
  [ -z "$(systemd-analyze verify --man=no /usr/lib/systemd/system/gateside.service 2>&1)" ] || die "systemd-analyze verify"
fi
claim "the units fit (NotifyAccess=$access)"

echo '# changed by the administrator' >>/etc/gateside/gateside.env
echo '{}' >/etc/gateside/site.json
touch /var/lib/gateside/gateside.db
scripts/install.sh >"$work/log" 2>&1 || { cat "$work/log"; die "install again"; }
grep -q 'changed by the administrator' /etc/gateside/gateside.env || die "a second install lost settings"
claim "installs over itself and keeps settings"

scripts/install.sh --uninstall >/dev/null
[ ! -e /usr/lib/gateside ] && [ ! -e /usr/bin/gateside ] && [ ! -e /usr/lib/systemd/system/gateside.service ] || die "uninstall left the program"
[ -e /etc/gateside/site.json ] && [ -e /var/lib/gateside/gateside.db ] || die "uninstall took settings or readings"
claim "uninstall keeps settings and readings"
scripts/install.sh --uninstall --purge >/dev/null
[ ! -e /var/lib/gateside ] && [ ! -e /etc/gateside/gateside.env ] || die "purge left settings or readings"
[ -e /etc/gateside/site.json ] || die "purge took an administrator's own file"
rm -f /etc/gateside/site.json; rmdir /etc/gateside
! getent passwd gateside >/dev/null || die "purge left the user"
claim "purge takes settings, readings and user, and nothing an administrator made"
