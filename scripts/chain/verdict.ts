/** The end of a run: what the gateways have served against what the databases hold, reading by reading. */
import { setTimeout as sleep } from "node:timers/promises";
import type { PolledKind } from "../../src/core/sensor.ts";
import type { Simulator } from "../../src/simulator/simulator.ts";
import { expectedReading } from "../../test/support/expected-reading.ts";
import { Expectations, type Wanted } from "../chaos/expectation.ts";
import type { CabledDatabase } from "./cabled-database.ts";
import { ask } from "./processes.ts";

/** After the last fault everything must have arrived within this time, ms. */
const SETTLE_MS = 300_000;
/** Between the agent's numbers and those worked out here; spectra have other windows. */
const TOLERANCE = 1e-3;

/** A reading as it stands in a database. */
interface Stored {
  readonly site: string;
  readonly sensor: string;
  readonly kind: string;
  readonly time: Date;
  readonly values: Readonly<Record<string, unknown>>;
  readonly units: Readonly<Record<string, string>>;
  count: number;
}

export interface Verdict {
  readonly served: number;
  readonly stored: number;
  /** Lost by an asynchronous fail-over or a restore, not by the chain. */
  readonly byDatabase: number;
  readonly lost: number;
  readonly doubled: number;
  readonly invented: number;
  readonly wrongSensor: number;
  readonly wrongUnit: number;
  /** Time or a value is another one than the record's. */
  readonly changed: number;
  /** Hourly and daily values that differ from those of the stored readings. */
  readonly wrongHours: number;
}

/** Waits until everything served so far has arrived, then compares. */
export async function judge(
  database: CabledDatabase,
  names: readonly string[],
  boxes: readonly { readonly site: string; readonly simulator: Simulator }[],
): Promise<Verdict> {
  const expectations = boxes.map(({ simulator }) => new Expectations(simulator, 0));
  const must = new Set(expectations.flatMap((one) => [...one.now().must.keys()]));
  const deadline = Date.now() + SETTLE_MS;
  let stored = await storedIn(database, names);
  const missing = () => [...must].filter((id) => !stored.has(id));
  const unexplained = () => missing().filter((id) => !database.mayBeGone.has(id));
  while (unexplained().length > 0 && Date.now() < deadline) {
    await sleep(1000);
    stored = await storedIn(database, names);
  }
  const may = new Map(
    expectations.flatMap((expectation, at) =>
      [...expectation.now().may].map(([id, wanted]) => [id, { wanted, box: boxes[at] }]),
    ),
  );
  let [invented, wrongSensor, wrongUnit, changed] = [0, 0, 0, 0];
  for (const [id, row] of stored) {
    const { wanted, box } = may.get(id) ?? {};
    if (wanted === undefined || box === undefined) {
      invented += 1;
      continue;
    }
    const place = [box.site, wanted.sensor, wanted.kind];
    if (place.join() !== [row.site, row.sensor, row.kind].join()) wrongSensor += 1;
    else {
      const want = expectedOf(box.simulator, wanted);
      if (!isSame(want.units, row.units)) wrongUnit += 1;
      if (want.timeMs !== row.time.getTime() || !isSame(want.values, row.values)) changed += 1;
    }
  }
  const lost = unexplained().length;
  let wrongHours = 0;
  for (const name of names)
    for (const span of ["hour", "day"] as const)
      wrongHours += await valuesThatDiffer(database.url(name), span);
  return {
    served: must.size,
    stored: stored.size,
    byDatabase: missing().length - lost,
    lost,
    doubled: [...stored.values()].filter(({ count }) => count > 1).length,
    invented,
    wrongSensor,
    wrongUnit,
    changed,
    wrongHours,
  };
}

function expectedOf(simulator: Simulator, { sensor: code, kind, record }: Wanted) {
  const sensor = simulator.siteFile("plant").sensors.find((entry) => entry.code === code);
  if (sensor === undefined || record === undefined) throw new Error(`no sensor ${code}`);
  return expectedReading(sensor, kind as PolledKind, record);
}

/** Numbers to a thousandth, all else exactly; the same members. */
function isSame(
  wanted: Readonly<Record<string, unknown>>,
  found: Readonly<Record<string, unknown>>,
): boolean {
  const names = Object.keys(wanted);
  return (
    names.length === Object.keys(found).length &&
    names.every((name) => {
      const [one, other] = [wanted[name], found[name]];
      if (typeof one !== "number" || typeof other !== "number") return one === other;
      return Math.abs(one - other) <= TOLERANCE * Math.abs(one) + 1e-9;
    })
  );
}

async function storedIn(
  database: CabledDatabase,
  names: readonly string[],
): Promise<Map<string, Stored>> {
  const stored = new Map<string, Stored>();
  for (const name of names) {
    const rows = await ask<Stored & { id: string }>(
      database.url(name),
      `SELECT id, site, sensor, kind, time, "values", units, 1 AS count FROM reading`,
    );
    for (const row of rows) {
      const known = stored.get(row.id);
      if (known === undefined) stored.set(row.id, row);
      else known.count += 1;
    }
  }
  return stored;
}

/** The values of hours or days against those of the readings beside them, at one moment. */
async function valuesThatDiffer(url: string, span: "hour" | "day"): Promise<number> {
  const [row] = await ask<{ count: string }>(
    url,
    `WITH wanted AS (
       SELECT date_trunc('${span}', time, 'UTC') AS time, site, sensor, kind, value, coalesce(unit, '') AS unit,
         count(number) FILTER (WHERE quality <> 'bad') AS count, min(number) FILTER (WHERE quality <> 'bad') AS min,
         max(number) FILTER (WHERE quality <> 'bad') AS max, avg(number) FILTER (WHERE quality <> 'bad') AS mean,
         count(*) FILTER (WHERE quality = 'bad') AS bad
       FROM measurement WHERE number IS NOT NULL OR quality = 'bad' GROUP BY 1, 2, 3, 4, 5, 6),
     found AS (SELECT time, site, sensor, kind, value, coalesce(unit, '') AS unit, count, min, max, mean, bad FROM measurement_${span})
     SELECT count(*) AS count FROM wanted w FULL JOIN found f USING (time, site, sensor, kind, value, unit)
     WHERE (w.count, w.min, w.max, w.bad) IS DISTINCT FROM (f.count, f.min, f.max, f.bad)
       OR abs(w.mean - f.mean) > 1e-9 * (1 + abs(w.mean))`,
  );
  return Number(row?.count);
}
