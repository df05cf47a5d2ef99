#!/usr/bin/env bash
# Makes a container image from the Debian package in dist/packages, with buildah and without a registry: the package's program and Node, the
# C libraries of this machine, and certificates; no shell. The image runs the agent, or with `collect …` a collector; its health check fits both.
#   scripts/container.sh            → image gateside:VERSION and dist/container/gateside-VERSION-ARCH.tar (podman load -i …, docker load -i …)
#   scripts/container.sh --prove    … and runs both programs in it
set -euo pipefail
cd "$(dirname "$0")/.."
command -v buildah >/dev/null || { echo "not built - needs buildah: apt-get install buildah"; exit 0; }
[ "$(id -u)" = 0 ] || command -v newuidmap >/dev/null || { echo "not built - needs root, or uidmap: apt-get install uidmap"; exit 0; }
arch=$(dpkg --print-architecture)
version=$(node -p 'require("./package.json").version')
deb=dist/packages/gateside_$version-1_$arch.deb
[ -e "$deb" ] || { echo "not built - there is no $deb: npm run package"; exit 0; }
export STORAGE_DRIVER=${STORAGE_DRIVER:-vfs} BUILDAH_FORMAT=docker
out=dist/container image=gateside:$version
source scripts/proving.sh
work=$(mktemp -d) container=''
cleanup() {
  end_processes
  [ -z "$container" ] || buildah rm "$container" >/dev/null 2>&1 || true
  rm -rf "$work"
}
trap cleanup EXIT

root=$work/root
dpkg-deb -x "$deb" "$work/package"
mkdir -p "$root"/{usr/lib,etc/ssl/certs,etc/gateside,data,tmp}
cp -r "$work/package/usr/lib/gateside" "$root/usr/lib/gateside"
install -m 0644 packaging/container/health.mjs "$root/usr/lib/gateside/health.mjs"
# The libraries that the runtime and its native modules are linked with, and the loader, at their own paths.
for binary in node better_sqlite3.node sdnotify.node; do ldd "$root/usr/lib/gateside/$binary"; done |
  grep -o '/[^ ]*\.so[^ ]*' | sort -u | while read -r library; do
    install -D -m 0755 "$(readlink -f "$library")" "$root$library"
  done
[ ! -e /etc/ssl/certs/ca-certificates.crt ] || cp /etc/ssl/certs/ca-certificates.crt "$root/etc/ssl/certs/"
printf 'root:x:0:0::/:/none\ngateside:x:1000:1000::/data:/none\n' >"$root/etc/passwd"
printf 'root:x:0:\ngateside:x:1000:\n' >"$root/etc/group"
chown -R 0:0 "$root"; chmod 1777 "$root/tmp"
# `buildah copy` gives everything to root: what belongs to another comes alone.
mkdir "$work/of-data"; mv "$root/data" "$work/of-data/data"; chmod 0770 "$work/of-data/data"

container=$(buildah from scratch)
buildah copy -q "$container" "$root" / >/dev/null
buildah copy -q --chown 1000:0 "$container" "$work/of-data" / >/dev/null
buildah config \
  --user 1000:1000 --workingdir /data --volume /data --stop-signal SIGTERM \
  --env DATA_DIR=/data --env SITE_FILE=/etc/gateside/site.json --env NODE_ENV=production --env MALLOC_ARENA_MAX=1 \
  --env SSL_CERT_FILE=/etc/ssl/certs/ca-certificates.crt \
  --healthcheck 'CMD ["/usr/lib/gateside/node", "/usr/lib/gateside/health.mjs"]' \
  --healthcheck-interval 30s --healthcheck-timeout 5s --healthcheck-start-period 20s \
  --entrypoint '["/usr/lib/gateside/node", "--max-semi-space-size=4", "--max-old-space-size=128", "--single-threaded-gc", "--no-separate-gc-phases", "/usr/lib/gateside/launch.js"]' \
  --cmd run --label org.opencontainers.image.version="$version" --label org.opencontainers.image.licenses=Apache-2.0 "$container"
mkdir -p "$out"
buildah commit -q "$container" "$image" >/dev/null
tar=$out/gateside-$version-$arch.tar
rm -f "$tar"
buildah push -q "$image" "docker-archive:$tar:$image" >/dev/null
claim "$image: $(($(stat -c %s "$tar") / 1000000)) MB in $tar"
[ "${1-}" = --prove ] || exit 0

buildah inspect --type image "$image" | grep -q health.mjs || die "the image has no health check"
# Not a function: in the background, that would be a separate shell, and killing it would leave the program running.
inside=(buildah run --isolation chroot --user 1000:1000)
lib=/usr/lib/gateside
"${inside[@]}" "$container" -- $lib/node $lib/launch.js --version | grep -q "$version" || die "the program does not run in the image"
claim "the program runs in the image, as user 1000"
command -v mosquitto >/dev/null || { echo "skipped - the run needs mosquitto"; exit 0; }
mqtt=$(free_port) sim=$(free_port)
mosquitto -p "$mqtt" >/dev/null 2>&1 & pids+=($!)
node dist/gateside.js simulate --port "$sim" --sensors 7 --site-out "$work/site.json" >/dev/null 2>&1 & pids+=($!)
for _ in $(seq 100); do [ -s "$work/site.json" ] && break; sleep 0.2; done
chmod 0644 "$work/site.json"
mkdir -m 0777 "$work/data"
volumes=(-v "$work/site.json:/etc/gateside/site.json:ro" -v "$work/data:/data")
"${inside[@]}" "${volumes[@]}" --env GATEWAY_URL="http://127.0.0.1:$sim" --env MQTT_URL="mqtt://127.0.0.1:$mqtt" --env BACKFILL_DAYS=0 --env HTTP_PORT=0 "$container" -- \
  $lib/node $lib/launch.js run >"$work/agent.log" 2>&1 & pids+=($!)
healthy=no
for _ in $(seq 150); do
  if "${inside[@]}" "${volumes[@]}" "$container" -- $lib/node $lib/health.mjs gateside run 2>/dev/null; then healthy=yes; break; fi
  sleep 0.2
done
[ $healthy = yes ] || { tail -5 "$work/agent.log"; die "the agent does not become healthy"; }
timeout 60 mosquitto_sub -p "$mqtt" -t 'gateside/+/+/rpm' -C 1 >/dev/null || die "no reading arrives"
claim "the agent in the image is healthy and publishes"
! "${inside[@]}" "$container" -- $lib/node $lib/health.mjs gateside collect --metrics 9 2>/dev/null || die "a collector that is not there is healthy"
start_postgres || { echo "skipped - the collector needs PostgreSQL"; exit 0; }
# As deploy/compose starts it.
mapfile -t collect < <(node -p '
  const file = require("fs").readFileSync("deploy/compose/compose.yaml", "utf8");
  require("yaml").parse(file, { merge: true }).services.collect.entrypoint.join("\n")')
words=(--metrics "0.0.0.0:$(free_port)" --from "mqtt://127.0.0.1:$mqtt" --to "$postgres_url")
"${inside[@]}" "$container" -- "${collect[@]}" "${words[@]}" >"$work/collect.log" 2>&1 & pids+=($!)
until_holds "${inside[@]}" "$container" -- $lib/node $lib/health.mjs gateside collect "${words[@]}" || { tail -5 "$work/collect.log"; die "the collector does not become healthy"; }
collected() { [ "$(psql -AtX "$postgres_url" -c 'SELECT count(*) FROM measurement')" -gt 0 ]; }
until_holds collected || { tail -5 "$work/collect.log"; die "the collector writes nothing"; }
claim "a collector in the image, started as in compose.yaml, is healthy and writes to PostgreSQL"
