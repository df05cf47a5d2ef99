#!/usr/bin/env bash
# A btrfs subvolume with a quota under DATA_DIR, and a broker that is away: the box fills it, is killed there, starts again, and goes on once the
# quota is raised. SQLite's index of its log is mapped memory, so a write beyond the quota can end a process by SIGBUS. As root, with btrfs-progs,
# after `npm run build`:  scripts/quota-disk.sh [quota in MB]
set -euo pipefail
case "${1:-}" in --help) sed -n '2,4s/^# //p' "$0"; exit 0 ;; esac
quota=${1:-48} work=$(mktemp -d) agent='' sim=''
cleanup() {
  [ -z "$agent" ] || stop
  kill -9 $sim 2>/dev/null || true
  wait 2>/dev/null || true
  umount "$work/disk" 2>/dev/null || true
  [ -n "${KEEP:-}" ] && cp "$work"/*.log "$KEEP" ; rm -rf "$work"
}
trap cleanup EXIT
mkdir "$work/disk"
truncate -s 600M "$work/image"
mkfs.btrfs -q "$work/image" >/dev/null
mount -o loop "$work/image" "$work/disk"
btrfs subvolume create "$work/disk/box" >/dev/null
btrfs quota enable "$work/disk"
btrfs qgroup limit "${quota}M" "$work/disk/box"

node dist/gateside.js simulate --port 0 --sensors 28 --speed 60 --site-out "$work/site.json" >"$work/sim.log" 2>&1 &
sim=$!
until grep -q 'http://' "$work/sim.log"; do sleep 0.1; done
url=$(grep -o 'http://[0-9.:]*' "$work/sim.log" | head -1)
export GATEWAY_URL=$url MQTT_URL=mqtt://127.0.0.1:9 SITE_FILE=$work/site.json DATA_DIR=$work/disk/box HTTP_PORT=0 DISK_FREE_MIN_MB=16 BUFFER_MAX_MB=512
export POLL_INTERVAL_S=1 BACKFILL_DAYS=3 COMMIT_INTERVAL_S=0 WAVEFORM_DAYS=7
run() { # log: starts it again when it ends, as systemd does
  (while :; do
    code=0
    node dist/gateside.js run >>"$1" 2>&1 & echo $! >"$work/pid"
    wait $! || code=$?
    echo "ended with $code" >>"$1"
    sleep 3
  done) 2>/dev/null &
  agent=$!
}
stop() { kill -9 "$agent" 2>/dev/null || true; kill -9 "$(cat "$work/pid")" 2>/dev/null || true; wait "$agent" 2>/dev/null || true; }
# What a status says of the store; empty where nobody answers.
status() { timeout 20 node dist/gateside.js status --json 2>/dev/null || true; }
buffer() { status | node -e 'let t="";process.stdin.on("data",(d)=>t+=d).on("end",()=>{try{const b=JSON.parse(t).buffer;console.log(b.depth,b.isWritable,b.alarm??"")}catch{console.log("no answer")}})'; }
used() { du -sm "$DATA_DIR" | cut -f 1; }
# Until the quota refuses, or the process has gone.
fill() { # log, s
  local until=$((SECONDS + $2))
  while [ $SECONDS -lt $until ]; do
    grep -qE 'quota|ended with|disk_full' "$1" && break
    sleep 1
  done
}
ends() { grep -ho 'ended with [0-9]*' "$@" | sort | uniq -c | tr '\n' ';'; }

run "$work/first.log"
fill "$work/first.log" 300
echo "== full after $SECONDS s: $(used) of $quota MB; status: $(buffer)"
sleep 40
echo "   40 s later: $(used) MB; status: $(buffer); ends: $(ends "$work/first.log")"
stop
run "$work/second.log"
sleep 20
echo "== killed and started again: status: $(buffer); ends: $(ends "$work/second.log")"
grep -ohE '"msg":"[^"]*(SIGBUS|quota)[^"]*"|error: no room.*' "$work/first.log" "$work/second.log" | cut -c 1-160 | sort | uniq -c | sort -rn | head -6
btrfs qgroup limit 400M "$DATA_DIR"
before=$(status | node -e 'let t="";process.stdin.on("data",(d)=>t+=d).on("end",()=>{try{console.log(JSON.parse(t).buffer.readings)}catch{console.log(0)}})')
for _ in $(seq 20); do
  sleep 2
  after=$(status | node -e 'let t="";process.stdin.on("data",(d)=>t+=d).on("end",()=>{try{const b=JSON.parse(t).buffer;console.log(b.isWritable?b.readings:0)}catch{console.log(0)}})')
  [ "$after" -gt "$before" ] && break
done
echo "   ends of both runs: $(ends "$work/first.log" "$work/second.log")"
echo "== quota raised: readings stored $before, then $after; status: $(buffer)"
[ "$after" -gt "$before" ]
