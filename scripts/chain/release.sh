#!/usr/bin/env bash
# The figures of the receiving end that a release states, on a quiet machine with two cores, in about fifteen minutes: npm run build && scripts/chain/release.sh
# SMALL=1 tries everything with little, in a minute or two; its figures mean nothing.
set -euo pipefail
cd "$(dirname "$0")/../.."
run() {
  printf '\n## %s\n' "$*"
  node --import tsx "scripts/chain/$@"
}
if [ -n "${SMALL:-}" ]; then
  writing=(--readings 10000 --boxes 50 --stored 0,100000)
  fleet=(--boxes 50 --nodes 1 --backlog 2000 --rate 50 --seconds 5 --agents 1 --collectors 1 --stored 200000)
  years=(--sensors 20 --days 30 --stored 100000)
else
  writing=(--readings 60000 --stored 0,5000000)
  fleet=(--agents 2 --collectors 1,2 --stored 20000000)
  years=()
fi
# CPU a reading, and readings a second and core, without a broker: at most 32 µs in the collector.
run writing.ts "${writing[@]}"
# Drained a second (at least 12,677 with one collector and small tables), and the delay of 833 readings a second, up to 20 million stored.
run fleet.ts "${fleet[@]}" --stored-collectors 1
# A year of 400 and of 3,000 sensors by hours, and the update to hourly values.
run years.ts "${years[@]}"
