#!/usr/bin/env bash
# A slow link to a name with an IPv4 and an IPv6 address, from a box that has IPv4 alone, in two network namespaces: does the agent
# reach gateway and broker? As root, after `npm run build`:  scripts/slow-link.sh [round trip in ms …]
set -euo pipefail
box=gs-box-$$ far=gs-far-$$ work=$(mktemp -d)
cleanup() {
  for ns in "$box" "$far"; do
    ip netns pids "$ns" 2>/dev/null | xargs -r kill 2>/dev/null || true
    ip netns del "$ns" 2>/dev/null || true
    rm -rf "/etc/netns/$ns"
  done
  rm -rf "$work"
}
trap cleanup EXIT
ip netns add "$box" && ip netns add "$far"
for ns in "$box" "$far"; do ip -n "$ns" link set lo up; done
mkdir -p "/etc/netns/$box"
printf '127.0.0.1 localhost\n10.231.0.2 far.example\nfd99::2 far.example\n' >"/etc/netns/$box/hosts"
printf 'listener 1883 0.0.0.0\nallow_anonymous true\n' >"$work/broker.conf"
ip netns exec "$far" mosquitto -c "$work/broker.conf" >/dev/null 2>&1 &
ip netns exec "$far" node -e '
  require("http").createServer((q, r) => r.end(JSON.stringify([{ Configs: [], Key: { StatusNumber: 0, Description: "" }, Value: [] }]))).listen(8081)' &
printf '{"site":"far","sensors":[{"code":"1","type":1,"kinds":["rpm"]}]}' >"$work/site.json"
status=0
for rtt in "${@:-100 300 700 1500}"; do
  for ms in $rtt; do
    python3 scripts/slow-link.py "$box" "$far" "$ms" 2 >"$work/link" &
    link=$!
    until grep -q up "$work/link"; do sleep 0.1; done
    echo "== round trip $ms ms, 2 % loss"
    mkdir -p "$work/data-$ms"
    ip netns exec "$box" env DATA_DIR="$work/data-$ms" GATEWAY_URL=http://far.example:8081 WIRE_WORD=sensor \
      MQTT_URL=mqtt://far.example:1883 SITE_FILE="$work/site.json" HTTP_PORT=off \
      timeout 120 node dist/gateside.js doctor >"$work/out" 2>&1 || true
    grep -Ei 'gateway|broker|mqtt' "$work/out" | head -8
    grep -Eqi '^ *ok +broker' "$work/out" || status=1
    kill "$link" && wait "$link" 2>/dev/null || true
  done
done
exit $status
