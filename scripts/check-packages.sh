#!/usr/bin/env bash
# Proves the packages on this machine (as root): contents, install, run with a filled store, upgrade, remove, purge on amd64; arm64
# runs under qemu. Prints one line per check and exits with a non-zero code at the first that fails.
set -euo pipefail
cd "$(dirname "$0")/.."
packages=dist/packages
version=$(node -p 'require("./package.json").version')
source scripts/proving.sh
work=$(mktemp -d); secrets=(); installed=
cleanup() { end_processes; rm -rf "$work" "${secrets[@]}"; [ -z "$installed" ] || dpkg -P gateside >/dev/null 2>&1 || true; }
trap cleanup EXIT
[ -e "$packages/SHA256SUMS" ] || { echo "skipped - there are no packages: npm run package"; exit 0; }

# A second build of everything, compiled from scratch in another directory, in parallel with the tests below. It skips the compression:
# the same program gives the same result. GATESIDE_SECOND_BUILD=no leaves it out.
again() { CCACHE_DISABLE=1 node --import tsx scripts/package.ts amd64 --out "$work/again" --natives "$work/natives" --plain; }
# Before it, one whose compiler fails: what that leaves must not hinder the next.
again=
if [ "${GATESIDE_SECOND_BUILD:-}" != no ]; then
  mkdir "$work/broken"; printf '#!/bin/sh\nexit 1\n' >"$work/broken/x86_64-linux-gnu-gcc"; chmod +x "$work/broken/x86_64-linux-gnu-gcc"
  { if PATH="$work/broken:$PATH" again; then echo "it made a package without a compiler"; exit 1; else again; fi; } >"$work/again.log" 2>&1 & again=$!
  pids+=("$again")
fi

(cd $packages && sha256sum --quiet -c SHA256SUMS) && claim "checksums match"
for deb in "$packages"/gateside_"$version"-1_*.deb; do
  listing=$(dpkg-deb -c "$deb")
  for path in ./usr/bin/gateside ./usr/lib/gateside/node ./usr/lib/gateside/gateside.js ./usr/lib/gateside/launch.js ./usr/lib/gateside/collect.js ./usr/lib/gateside/copy-log.js \
    ./usr/lib/gateside/better_sqlite3.node ./usr/lib/gateside/sdnotify.node \
    ./usr/lib/systemd/system/gateside.service ./usr/lib/systemd/system/gateside@.service \
    ./usr/share/gateside/gateside.env ./usr/share/doc/gateside/copyright ./usr/share/doc/gateside/sbom.cdx.json; do
    grep -q " $path\$" <<<"$listing" || die "$deb lacks $path"
  done
  ! grep -vE '^.{10} root/root' <<<"$listing" | grep -q . || die "$deb holds files that root does not own"
  # No setuid bit, and nothing where a package could add cron jobs, timers or rules of sudo.
  ! grep -E '^...[sS]|^......[sS]' <<<"$listing" || die "$deb holds setuid files"
  ! grep -vE ' \./(usr/(bin|lib/gateside|lib/systemd/system|share)/?.*|usr/|usr/lib/|usr/lib/systemd/|etc/|etc/gateside/)?$' <<<"$listing" | grep . || die "$deb holds files elsewhere"
  size=$(stat -c %s "$deb")
  [ "$size" -lt 35000000 ] || die "$deb has grown to $size bytes"
  installed_mb=$(($(dpkg-deb -f "$deb" Installed-Size) * 1024 / 1000000))
  read -r said_mb said_installed_mb < <(sed -nE 's/^The package \(([0-9]+) MB, ([0-9]+) MB installed\).*/\1 \2/p' docs/operations.md)
  for pair in "$((size / 1000000)) $said_mb" "$installed_mb $said_installed_mb"; do
    read -r is said <<<"$pair"
    [ $((is > said ? is - said : said - is)) -le 5 ] || die "docs/operations.md says $said MB, it is $is MB"
  done
  claim "$(basename "$deb"): complete, owned by root, $((size / 1000000)) MB, installed $installed_mb MB, as docs/operations.md says"
  dpkg-deb --fsys-tarfile "$deb" | tar -xOf - ./usr/share/doc/gateside/sbom.cdx.json >"$work/sbom.json"
  node --import tsx scripts/check-sbom.ts "$work/sbom.json" >"$work/sbom.log" 2>&1 || { cat "$work/sbom.log"; die "bill of materials"; }
  claim "$(basename "$deb"): $(cat "$work/sbom.log")"
  if command -v lintian >/dev/null; then
    lintian --no-cfg --allow-root --fail-on error,warning "$deb" >"$work/lintian.log" 2>&1 || { cat "$work/lintian.log"; die "lintian"; }
    claim "lintian has nothing to say"
  else
    echo "skipped - lintian is not installed"
  fi
done

wait_for_http() { # port, seconds
  for _ in $(seq $(($2 * 5))); do curl -fsS "http://127.0.0.1:$1/healthz" >/dev/null 2>&1 && return 0; sleep 0.2; done
  return 1
}

can_run() { command -v mosquitto >/dev/null && command -v curl >/dev/null; }
if [ "$(id -u)" = 0 ] && [ "$(dpkg --print-architecture)" = amd64 ] && can_run; then
  deb="$packages/gateside_$version-1_amd64.deb"
  # The previous version: this package under a lower number; RELEASED_DEB=FILE uses a released one instead.
  previous="$work/previous"; dpkg-deb -R "${RELEASED_DEB:-$deb}" "$previous"
  [ -n "${RELEASED_DEB:-}" ] || sed -i 's/^Version: .*/Version: 0.0.1-1/' "$previous/DEBIAN/control"
  dpkg-deb --root-owner-group -Znone -b "$previous" "$work/previous.deb" >/dev/null
  dpkg -P gateside >/dev/null 2>&1 || true
  installed=yes
  dpkg -i "$work/previous.deb" >"$work/install.log" 2>&1 || { cat "$work/install.log"; die "install"; }
  gateside --version | grep -q "$version" || die "the installed program does not run"
  claim "installs and runs with its own Node $(/usr/lib/gateside/node --version)"
  /usr/lib/gateside/node -e '
    const { components } = JSON.parse(require("fs").readFileSync("/usr/share/doc/gateside/sbom.cdx.json", "utf8"));
    const node = components.find(({ name }) => name === "node");
    const said = Object.fromEntries([node, ...node.components].map(({ name, version }) => [name, version]));
    const names = { uv: "libuv", ares: "c-ares" };
    // Interfaces and data, not libraries.
    const { modules, napi, cldr, tz, unicode, ...libraries } = process.versions;
    const plain = (version) => String(version).replace(/[-+].*/, "");
    // One that is not built in has no version.
    for (const [key, is] of Object.entries(libraries).filter(([, version]) => version !== ""))
      if (plain(said[names[key] ?? key]) !== plain(is)) throw new Error(`${key}: ${said[names[key] ?? key]}, runs ${is}`);
    for (const { name, cpe } of node.components)
      if (cpe === undefined && ["undici", "llhttp", "nghttp2", "c-ares", "brotli", "icu", "zstd", "sqlite", "openssl", "v8"].includes(name)) throw new Error(`${name}: no CPE`);
    const sqlite = components.find(({ name }) => name === "better-sqlite3").components[0].version;
    const library = require("fs").readFileSync("/usr/lib/gateside/better_sqlite3.node", "latin1");
    if (!library.includes(sqlite)) throw new Error(`SQLite ${sqlite} is not in the module`);
  ' || die "the bill of materials does not name what runs"
  claim "the bill of materials names the Node that runs and every library in it, and the SQLite of the store"
  [ "$(stat -c %U:%G:%a /var/lib/gateside)" = gateside:gateside:750 ] || die "state directory"
  [ "$(stat -c %U:%G:%a /etc/gateside)" = root:gateside:750 ] || die "configuration directory"
  [ -e /etc/gateside/gateside.env ] || die "no settings file"
  claim "directories belong to whom they should"

  sim=$(free_port); mqtt=$(free_port); http=$(free_port)
  mosquitto -p "$mqtt" >/dev/null 2>&1 & pids+=($!)
  gateside simulate --port "$sim" --sensors 7 --site-out "$work/site.json" >/dev/null 2>&1 & pids+=($!)
  for _ in $(seq 50); do [ -s "$work/site.json" ] && break; sleep 0.2; done
  install -m 0640 -g gateside "$work/site.json" /etc/gateside/site.json
  printf 'GATEWAY_URL=http://127.0.0.1:%s\nMQTT_URL=mqtt://127.0.0.1:%s\nHTTP_PORT=%s\nBACKFILL_DAYS=0\n' "$sim" "$mqtt" "$http" >> /etc/gateside/gateside.env
  gateside check >"$work/check.log" 2>&1 || { cat "$work/check.log"; die "check"; }
  claim "gateside check accepts the simulator's site file"
  # With a notify socket, so that its module is loaded; nobody listens there, which must do no harm.
  start() { NOTIFY_SOCKET=$work/notify setpriv --reuid gateside --regid gateside --clear-groups gateside run >"$work/agent.log" 2>&1 & agent=$!; pids+=("$agent"); wait_for_http "$http" 20 || { tail -20 "$work/agent.log"; die "the agent did not come up"; }; }
  if start_postgres; then
    metrics=$(free_port)
    COLLECT_TO=$postgres_url gateside collect --from "mqtt://127.0.0.1:$mqtt" --metrics "$metrics" >"$work/collect.log" 2>&1 & pids+=($!); collector=$!
    wait_for_http "$metrics" 30 || { tail -20 "$work/collect.log"; die "the collector did not come up"; }
  else
    echo "skipped - the collector needs PostgreSQL"; collector=
  fi
  start
  for _ in $(seq 100); do
    stored=$(curl -fsS "http://127.0.0.1:$http/metrics" | awk '/^gateside_readings_total/ {n += $2} END {print n+0}')
    [ "$stored" -gt 0 ] && break; sleep 0.2
  done
  [ "$stored" -gt 0 ] || die "nothing was stored"
  if [ -n "$collector" ]; then
    collected() { [ "$(psql -AtX "$postgres_url" -c 'SELECT count(DISTINCT sensor) FROM measurement')" -ge 5 ]; }
    until_holds collected || { tail -20 "$work/collect.log"; die "the collector writes nothing"; }
    # Its exit code says whether the box needs attention, as one does that has not sent statistics yet.
    gateside fleet --db "$postgres_url" --all >"$work/fleet.log" 2>&1 || true
    grep -q '^simulated-plant .*online' "$work/fleet.log" || { cat "$work/fleet.log"; die "gateside fleet does not list the box"; }
    gateside export --db "$postgres_url" --format parquet --from "$(date +%F)" --to "$(date +%F)" >"$work/day.parquet" 2>"$work/export.log" || { cat "$work/export.log"; die "export --format parquet"; }
    [ "$(head -c 4 "$work/day.parquet")" = PAR1 ] || die "the export is no Parquet file"
    kill "$collector"; wait "$collector" || die "the collector did not end cleanly"
    claim "the same package collects ($(psql -AtX "$postgres_url" -c 'SELECT count(*) FROM measurement') values in PostgreSQL), lists the fleet and exports Parquet"
  fi
  kill "$agent"; wait "$agent" || die "the agent did not end cleanly"
  before=$(gateside export --from 2000-01-01 --to 2100-01-01 --format jsonl 2>/dev/null | wc -l)
  [ "$before" -gt 0 ] || die "the export is empty"
  claim "runs as user gateside, stores ($before readings) and ends cleanly"

  gateside backfill --from "$(date +%F)" --to "$(date +%F)" >"$work/backfill.log" 2>&1 || { cat "$work/backfill.log"; die "backfill by root"; }
  ! find /var/lib/gateside ! -user gateside | grep -q . || die "root's backfill left files that the service cannot write"
  claim "root's backfill leaves the store to the service's user"
  install -d -m 0700 /etc/credstore
  [ -e /etc/credstore/gateside.http.token ] || { echo "a-secret-of-the-test-0123456789" >/etc/credstore/gateside.http.token; secrets+=(/etc/credstore/gateside.http.token); }
  gateside check --json | grep -q '"HTTP_TOKEN"' || die "check"
  ! gateside check --json | grep -q a-secret-of-the-test || die "check shows a secret"
  [ "$(gateside check 2>/dev/null | grep -c 'HTTP_TOKEN.*credential')" = 1 ] || { gateside check; die "the command line does not see the service's credential"; }
  authority=/etc/credstore/gateside.alarm.webhook.ca
  [ -e $authority ] || { gateside certificate --out "$work/ca" >/dev/null 2>&1; install -m 0600 "$work/ca.cert.pem" $authority; secrets+=($authority); }
  ALARM_WEBHOOK_URL=https://127.0.0.1/ gateside check >"$work/check.log" 2>&1 || { cat "$work/check.log"; die "check as the service's user cannot read a PEM file of the service"; }
  rm -f "${secrets[@]}"
  claim "the command line reads the service's credentials, and shows none"

  install -m 0640 -g gateside /etc/gateside/site.json /etc/gateside/north.site.json
  north=$(free_port)
  sed "s/^HTTP_PORT=.*/HTTP_PORT=$north/" /etc/gateside/gateside.env >/etc/gateside/north.env
  echo MQTT_CLIENT_ID=north >>/etc/gateside/north.env
  install -d -o gateside -g gateside /var/lib/gateside/north
  gateside @north run >"$work/north.log" 2>&1 & pids+=($!); instance=$!
  wait_for_http "$north" 20 || { tail -20 "$work/north.log"; die "the instance did not come up"; }
  gateside @north status >/dev/null || die "gateside @north status"
  [ "$(stat -c %U /var/lib/gateside/north/gateside.db)" = gateside ] || die "the instance's store"
  kill "$instance"; wait "$instance" || die "the instance did not end cleanly"
  ! gateside @south status >/dev/null 2>&1 || die "an instance nobody configured answers"
  rm -f /etc/gateside/north.env /etc/gateside/north.site.json
  claim "gateside @north is an instance of its own"

  printf '# changed by the administrator\n' >> /etc/gateside/gateside.env
  # Unattended: no terminal, no answer to a question, no --force-conf; both with the package's own file changed and with the example.
  dpkg -i "$deb" >"$work/upgrade.log" 2>&1 </dev/null || { cat "$work/upgrade.log"; die "an unattended upgrade from the released package"; }
  [ "$(dpkg-query -W -f '${Status}' gateside)" = "install ok installed" ] || die "the upgrade left the package half configured"
  next="$work/next"; dpkg-deb -R "$deb" "$next"
  sed -i 's/^Version: .*/Version: 99.0.0-1/' "$next/DEBIAN/control"; echo '# a new line of the example' >>"$next/usr/share/gateside/gateside.env"
  dpkg-deb --root-owner-group -Znone -b "$next" "$work/next.deb" >/dev/null
  dpkg -i "$work/next.deb" >"$work/upgrade.log" 2>&1 </dev/null || { cat "$work/upgrade.log"; die "an unattended upgrade with a changed example"; }
  ! grep -q 'a new line of the example' /etc/gateside/gateside.env || die "an upgrade touched the settings"
  ! ls /etc/gateside/*.dpkg-* >/dev/null 2>&1 || die "the upgrade left questions behind: $(ls /etc/gateside)"
  [ "$(stat -c %a /etc/credstore)" = 700 ] || die "/etc/credstore"
  grep -q 'changed by the administrator' /etc/gateside/gateside.env || die "the changed settings were lost"
  after=$(gateside export --from 2000-01-01 --to 2100-01-01 --format jsonl 2>/dev/null | wc -l)
  [ "$after" -ge "$before" ] || die "the upgrade lost readings: $before then $after"
  start; kill "$agent"; wait "$agent" || true
  claim "upgrades unattended over a filled store and edited settings"

  [ "$(stat -c %U:%G:%a /usr/lib/gateside/gateside.cache)" = root:root:644 ] || die "the code cache is not root's alone"
  cache_says() { NODE_DEBUG=gateside gateside --version 2>&1 >/dev/null | sed 's/^GATESIDE [0-9]*: //'; }
  [ "$(cache_says)" = "code cache used" ] || die "the installed program does not use its code cache: $(cache_says)"
  printf 'x' | dd of=/usr/lib/gateside/gateside.cache bs=1 seek=100000 conv=notrunc 2>/dev/null
  [ "$(cache_says)" = "no code cache used" ] || die "a damaged code cache is used"
  gateside --version | grep -q "$version" || die "the program does not run beside a damaged code cache"
  dpkg -i "$work/next.deb" >/dev/null 2>&1 && [ "$(cache_says)" = "code cache used" ] || die "another installation does not make the code cache again"
  claim "the code cache is made at installation, is root's alone, and is not used where it is damaged"

  dpkg -r gateside >/dev/null 2>&1; [ -e /etc/gateside/gateside.env ] && [ -e /var/lib/gateside/gateside.db ] || die "remove took data or settings"
  [ ! -e /usr/lib/gateside ] || die "remove left the program: $(ls /usr/lib/gateside)"
  claim "remove keeps settings and readings"
  rm -f /etc/gateside/site.json
  install -m 0640 -g gateside /dev/null /etc/gateside/http.key.pem
  install -d /etc/systemd/system/multi-user.target.wants
  ln -sf /usr/lib/systemd/system/gateside@.service /etc/systemd/system/multi-user.target.wants/gateside@north.service
  group=$(getent group gateside | cut -d: -f3)
  dpkg -P gateside >"$work/purge.log" 2>&1
  [ ! -e /var/lib/gateside ] && [ "$(ls /etc/gateside)" = http.key.pem ] || die "purge left something, or took an administrator's key"
  grep -q /etc/gateside/http.key.pem "$work/purge.log" || die "purge does not say what it left"
  ! getent passwd gateside >/dev/null || die "purge left the user"
  # An account made later may get the group's number.
  ! setpriv --reuid=65534 --regid="$group" --clear-groups cat /etc/gateside/http.key.pem 2>/dev/null || die "a key that purge left can be read by others"
  [ ! -L /etc/systemd/system/multi-user.target.wants/gateside@north.service ] || die "purge left an instance's link"
  rm -r /etc/gateside
  claim "purge leaves what an administrator created, for root alone, and nothing else"
else
  echo "skipped - install test: needs root on an amd64 Debian, mosquitto and curl"
fi

arm="$packages/gateside_$version-1_arm64.deb"
if [ -e "$arm" ] && can_run && command -v qemu-aarch64-static >/dev/null && [ -d /usr/aarch64-linux-gnu/lib ]; then
  dpkg-deb -x "$arm" "$work/arm"
  lib="$work/arm/usr/lib/gateside"
  # Not a function: in the background, that would be a separate shell, and killing it would leave the agent running.
  arm_gateside=(env QEMU_LD_PREFIX=/usr/aarch64-linux-gnu qemu-aarch64-static -E LD_LIBRARY_PATH=/usr/aarch64-linux-gnu/lib "$lib/node" "$lib/gateside.js")
  "${arm_gateside[@]}" --version | grep -q "$version" || die "arm64: does not run"
  sim=$(free_port); mqtt=$(free_port); http=$(free_port)
  mosquitto -p "$mqtt" >/dev/null 2>&1 & pids+=($!)
  node dist/gateside.js simulate --port "$sim" --sensors 7 --site-out "$work/arm-site.json" >/dev/null 2>&1 & pids+=($!)
  for _ in $(seq 50); do [ -s "$work/arm-site.json" ] && break; sleep 0.2; done
  GATEWAY_URL=http://127.0.0.1:$sim MQTT_URL=mqtt://127.0.0.1:$mqtt HTTP_PORT=$http BACKFILL_DAYS=0 SITE_FILE=$work/arm-site.json DATA_DIR=$work/arm-data NOTIFY_SOCKET=$work/notify \
    "${arm_gateside[@]}" run >"$work/arm.log" 2>&1 & pids+=($!)
  wait_for_http "$http" 60 || { tail -20 "$work/arm.log"; die "arm64: the agent did not come up"; }
  for _ in $(seq 300); do
    delivered=$(curl -fsS "http://127.0.0.1:$http/metrics" | awk '/^gateside_delivered_total/ {n += $2} END {print n+0}')
    [ "$delivered" -gt 0 ] && break; sleep 0.2
  done
  [ "$delivered" -gt 0 ] || { tail -20 "$work/arm.log"; die "arm64: nothing was delivered"; }
  claim "arm64 under emulation: polls, stores and delivers ($delivered messages)"
else
  echo "skipped - arm64 run: needs qemu-user-static, libc6-arm64-cross and libstdc++6-arm64-cross"
fi

[ -n "$again" ] || { echo "skipped - the second build"; exit 0; }
wait "$again" || { cat "$work/again.log"; die "the second build"; }
for part in --ctrl-tarfile --fsys-tarfile; do
  cmp <(dpkg-deb $part "$work/again/gateside_$version-1_amd64.deb") <(dpkg-deb $part "$packages/gateside_$version-1_amd64.deb") ||
    die "the second build differs from the first ($part)"
done
claim "built again elsewhere after a build that failed, the same bytes"
