/** Each record, event and waveform of a seed: arrived, pending, or told in a gap. */
import { writeFileSync } from "node:fs";
import { cloudValues, cloudWants } from "../chaos/cloud-select.ts";
import { judge, missingWaveforms, ReportedGaps, type Verdict } from "../chaos/compare.ts";
import { came, type Judged, judgeUplink } from "../chaos/compare-uplinks.ts";
import { droppedCount } from "../chaos/dropped.ts";
import type { Expectation, Wanted } from "../chaos/expectation.ts";
import type { Received } from "../chaos/received.ts";
import type { Broker } from "./broker.ts";
import type { Checks } from "./checks.ts";
import { staleTopics } from "./queries.ts";
import type { Stage } from "./stage.ts";
import { storePath, withStore } from "./with-store.ts";

/** Kinds of readings that no record of the gateway carries. */
const DERIVED_KINDS = ["bands", "node"];
/** A channel of a measurement each. */
const CHANNELS_MAX = 3;

export function account(
  stage: Stage,
  records: Expectation,
  checks: Checks,
): { verdict: Verdict; failures: string[] } {
  const { main, cloud, platform, host, agent, brokers, held } = stage;
  const expectation = {
    ...records,
    must: new Map([...records.must, ...held]),
    may: new Map([...records.may, ...held, ...checks.derived, ...unseen(main, checks)]),
  };
  const stored = storedIds(agent.dataDir);
  const verdict = judge(expectation, { recorder: main, host: null, stored });
  const gaps = [...main.gaps, ...cloud.gaps, ...platform.received.gaps];
  const further: Judged[] = [];
  if (brokers.has("cloud"))
    further.push({
      uplink: "cloud",
      expected: ({ sensor, kind }, values) =>
        cloudWants(sensor, kind) ? cloudValues(values) : null,
      has: came(cloud),
      recorder: cloud,
    });
  if (brokers.has("platform"))
    further.push({
      uplink: "platform",
      expected: (_, values) => values,
      has: (id, wanted, values) => platform.has(id, wanted, values),
      recorder: platform.received,
    });
  if (host !== null)
    further.push({
      uplink: "scada",
      expected: (_, values) => values,
      has: (_, wanted, values) => host.hasReading(wanted, values) || null,
      recorder: null,
    });
  const uplinks = further.map((one) => judgeUplink(one, expectation, main, gaps, stored));
  const failures = [verdict, ...uplinks].flatMap(({ lost, invented, doubled }) => [
    ...lost.map((text) => `lost: ${text}`),
    ...invented.map((text) => `invented: ${text}`),
    ...doubled.map((text) => `doubled: ${text}`),
  ]);
  failures.push(...staleTopics(agent.dataDir, brokers.get("main") as Broker));
  failures.push(...lostEvents(stage, checks), ...lostWaveforms(stage, expectation));
  return { verdict, failures };
}

/** What the agent derived, delivered and, with a full buffer, gave up between two looks. */
function unseen({ ids }: Received, { hasUnseen }: Checks): [string, Wanted][] {
  if (!hasUnseen) return [];
  const derived = [...ids].filter(([, { kind }]) => DERIVED_KINDS.includes(kind));
  return derived.map(([id, { kind }]) => [id, { sensor: "", kind, timeMs: 0, channels: [] }]);
}

/** Each event arrived or is counted in a gap. */
function lostEvents({ main }: Stage, { events }: Checks): string[] {
  const missing = new Map<string, Wanted>();
  for (const [id, event] of events)
    if (!main.events.has(id)) missing.set(id, { ...event, kind: "event", channels: [] });
  const gaps = new ReportedGaps([...main.gaps].filter(({ uplink = "main" }) => uplink === "main"));
  return [...gaps.take(missing)].map(([id, { sensor }]) => `lost: event ${id} of ${sensor}`);
}

function lostWaveforms({ main, agent, allWaveforms }: Stage, { must }: Expectation): string[] {
  if (!allWaveforms) return [];
  const missing = missingWaveforms({ must }, { recorder: main, host: null });
  const isDropped = missing.length <= droppedCount(agent.dataDir) * CHANNELS_MAX;
  return isDropped ? [] : missing.map((text) => `lost: ${text}`);
}

function storedIds(dataDir: string): Set<string> {
  const sql = `SELECT lower(hex(r.id)) FROM readings r JOIN streams s USING (stream) WHERE s.kind NOT IN ('event', 'node')`;
  return withStore(storePath(dataDir), (db) => new Set(db.prepare<[], string>(sql).pluck().all()));
}

/** The rows of the store, without what depends on the order of storing. */
export function writeRows(dataDir: string, path: string): void {
  const sql = `SELECT json_array(s.sensor, s.kind, r.time_ms, lower(hex(r.id)), r.is_future, r.quality, r.attributes, r.raw)
    FROM readings r JOIN streams s USING (stream) ORDER BY s.sensor, s.kind, r.time_ms, r.id`;
  const rows = withStore(storePath(dataDir), (db) => db.prepare<[], string>(sql).pluck().all());
  writeFileSync(path, rows.join("\n"));
}
