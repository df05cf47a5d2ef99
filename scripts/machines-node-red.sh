#!/usr/bin/env bash
# Machines as a Node-RED flow reads them: mosquitto, a simulated plant, the agent, and one `mqtt in` node with "auto-detect".
# After `npm run build`; DIR is where `npm install node-red` was run:  scripts/machines-node-red.sh DIR
set -euo pipefail
red=$(realpath "$1")
work=$(mktemp -d)
pids=()
cleanup() {
  for pid in "${pids[@]}"; do kill "$pid" 2>/dev/null || true; done
  wait 2>/dev/null || true
  rm -rf "$work"
}
trap cleanup EXIT
free_port() { node -e 'const s = require("net").createServer().listen(0, "127.0.0.1", () => { console.log(s.address().port); s.close(); })'; }
gateway=$(free_port) broker=$(free_port) editor=$(free_port)
printf 'listener %s 127.0.0.1\nallow_anonymous true\n' "$broker" >"$work/broker.conf"
mosquitto -c "$work/broker.conf" >/dev/null 2>&1 &
pids+=($!)
node dist/gateside.js simulate --port "$gateway" --site-out "$work/site.json" >/dev/null 2>&1 &
pids+=($!)
until [ -s "$work/site.json" ]; do sleep 0.1; done
cat >"$work/flow.json" <<FLOW
[{ "id": "t", "type": "tab", "label": "machines" },
 { "id": "b", "type": "mqtt-broker", "broker": "127.0.0.1", "port": "$broker", "clientid": "", "autoConnect": true, "protocolVersion": "4", "keepalive": "60", "cleansession": true },
 { "id": "i", "type": "mqtt in", "z": "t", "topic": "gateside/+/machine/+", "qos": "1", "datatype": "auto-detect", "broker": "b", "wires": [["f"]] },
 { "id": "f", "type": "function", "z": "t", "outputs": 1, "func": "msg.payload = [typeof msg.payload, msg.payload.machine, msg.payload.condition, msg.payload.reason].join(' | ') + '\\\\n'; return msg;", "wires": [["o"]] },
 { "id": "o", "type": "file", "z": "t", "filename": "$work/seen", "filenameType": "str", "appendNewline": false, "createDir": false, "overwriteFile": "false", "wires": [[]] }]
FLOW
cat >"$work/settings.cjs" <<SETTINGS
module.exports = { uiPort: $editor, uiHost: "127.0.0.1", httpAdminRoot: false, disableEditor: true, flowFile: "$work/flow.json",
  credentialSecret: false, telemetry: { enabled: false, updateNotification: false }, logging: { console: { level: "warn" } } };
SETTINGS
HOME=$work node "$red/node_modules/node-red/red.js" --settings "$work/settings.cjs" --userDir "$work" &
pids+=($!)
mkdir "$work/data"
DATA_DIR=$work/data GATEWAY_URL=http://127.0.0.1:$gateway MQTT_URL=mqtt://127.0.0.1:$broker SITE_FILE=$work/site.json \
  WIRE_WORD=sensor HTTP_PORT=off PUBLISH_MACHINES=true BACKFILL_DAYS=0 POLL_INTERVAL_S=5 node dist/gateside.js run >"$work/agent" 2>&1 &
pids+=($!)
machines=$(node -p 'new Set(JSON.parse(require("fs").readFileSync(process.argv[1])).sensors.flatMap(({ location }) => location?.machine ?? [])).size' "$work/site.json")
told() { cut -d'|' -f2 "$work/seen" 2>/dev/null | sort -u | wc -l; }
end=$((SECONDS + 300))
until (($(told) >= machines)); do
  ((SECONDS < end)) || { echo "$(told) of $machines machines within 300 s"; cat "$work/seen" 2>/dev/null; exit 1; }
  sleep 0.5
done
sort -u "$work/seen"
! grep -v '^object |' "$work/seen" || { echo "not JSON"; exit 1; }
echo "each of $machines machines arrived as an object"
