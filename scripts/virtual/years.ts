/** Years without faults: what grows although nothing should, and what only years show. One plant, in its own process. */
import { copyFileSync, mkdirSync, readdirSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { PLANT_SITE } from "../chaos/events.ts";
import { Checks } from "./checks.ts";
import type { Drawn } from "./draw.ts";
import { HOUR_MS, MINUTE_MS } from "./happenings.ts";
import { Program } from "./program.ts";
import { openStage, type Stage } from "./stage.ts";
import { storePath, withStore } from "./with-store.ts";
import { World } from "./world.ts";

export interface YearsOrder {
  readonly years: number;
  readonly sensors: number;
  /**
   * A store that an earlier trial kept: this one starts where it ended, with it or with a new one, and shows what that costs. Nothing is checked then, as
   * checks take longer the more is stored.
   */
  readonly from: { readonly store: string; readonly isUsed: boolean } | null;
  /** Where the store is copied to at the end. */
  readonly keep: string | null;
  /** Bundles. */
  readonly agent: string;
  readonly plant: string;
  /** Does not exist yet. */
  readonly directory: string;
}

const HOURS_PER_YEAR = 8766;
const MONTHS = 12;
const MB = 1_048_576;
/** Invariants are looked up this often: by the minute they would cost more than the agent. */
const CHECK_MS = HOUR_MS;
/** From this share of the time on nothing may grow any more, except by a tenth. */
const SETTLED_SHARE = 0.5;
const GROWTH_MAX = 1.1;

interface Row {
  readonly month: number;
  readonly readings: number;
  readonly filesMb: number;
  /** Of the files: what each has a share of the budget for, and fills it over the years. */
  readonly sharesMb: number;
  readonly heapMb: number;
  readonly cpuS: number;
}

function drawYears({ years, sensors, from }: YearsOrder): Drawn {
  const hourly = 3600;
  const firstMs = Date.parse("2026-01-12T05:00:00Z");
  return {
    seed: 1,
    hours: years * HOURS_PER_YEAR,
    zone: "Europe/Berlin",
    startMs: from === null ? firstMs : newestMs(from.store) + HOUR_MS,
    sensors,
    cadenceS: {
      accel: 6 * hourly,
      current: hourly,
      currentV2: hourly,
      accCurrent: hourly,
      loop: hourly,
      dryContact: hourly,
      rpm: hourly,
    },
    historyDays: 1,
    samples: 256,
    receiveMaximum: 20,
    uplinks: ["main"],
    profile: "aws-iot",
    version: 5,
    hasMachines: true,
    hasStateReads: false,
    isUpgrade: false,
    ownIntervalS: null,
    env: {
      POLL_INTERVAL_S: "3600",
      COMMIT_INTERVAL_S: "60",
      PUBLISH_FORMATS: "json",
      PUBLISH_WAVEFORMS: "never",
      BUFFER_MAX_MB: "64",
      BACKFILL_DAYS: "3",
      DISK_FREE_MIN_MB: "0",
      HTTP_PORT: "off",
    },
    plan: [],
  };
}

async function runYears(order: YearsOrder, tell: (line: string) => void): Promise<string[]> {
  const failures: string[] = [];
  const drawn = drawYears(order);
  mkdirSync(order.directory);
  const world = new World();
  try {
    await world.run(live(world, order, drawn, failures, tell));
  } finally {
    rmSync(order.directory, { recursive: true, force: true });
  }
  return failures;
}

async function live(
  world: World,
  { agent: agentPath, plant, directory, years, from, keep }: YearsOrder,
  drawn: Drawn,
  failures: string[],
  tell: (line: string) => void,
): Promise<void> {
  const stage = await openStage(world, {
    drawn,
    directory,
    agent: new Program(agentPath),
    plant: new Program(plant),
    journalPath: null,
    onLine: ({ level, text }) => void (level === "error" && failures.push(`logged ${text}`)),
    onFailure: (what) => void failures.push(what),
  });
  const checks = new Checks(stage, drawn.env, drawn.zone);
  const rows: Row[] = [];
  const look = () => {
    checks.look();
    world.after(CHECK_MS, look);
  };
  if (from?.isUsed) {
    mkdirSync(stage.agent.dataDir, { recursive: true });
    copyFileSync(from.store, storePath(stage.agent.dataDir));
  }
  stage.agent.start();
  if (from === null) world.after(MINUTE_MS, look);
  tell(
    "| month | readings | files, MB | hours, kept, remembered, MB | heap, MB | CPU s |\n| --- | --- | --- | --- | --- | --- |",
  );
  // At least four rows.
  const rowsMax = Math.max(4, Math.round(years * MONTHS));
  for (let n = 1; n <= rowsMax; n++) {
    await world.sleep((years * HOURS_PER_YEAR * HOUR_MS) / rowsMax);
    const row = rowOf(round((n * years * MONTHS) / rowsMax), stage);
    rows.push(row);
    tell(`| ${Object.values(row).join(" | ")} |`);
    if (failures.length + checks.failures.size > 0) break;
  }
  const before = heapMb();
  const held = contents(stage);
  await stage.agent.stop();
  if (keep !== null) copyFileSync(storePath(stage.agent.dataDir), keep);
  if (from === null) checks.look();
  tell(`the agent's own heap: ${(before - heapMb()).toFixed(1)} MB; in its store: ${held}`);
  failures.push(...checks.failures, ...stage.main.faults);
  if (from === null) failures.push(...checks.finish(), ...grown(rows));
}

/**
 * Of the files without the shares, whose limit is the budget's. What the harness keeps of each message grows too, so the heap shows nothing; the agent's
 * own is told at the end.
 */
function grown(rows: readonly Row[]): string[] {
  const from = rows[Math.floor(rows.length * SETTLED_SHARE)];
  const to = rows.at(-1);
  if (from === undefined || to === undefined) return [];
  const [before, after] = [from, to].map(({ filesMb, sharesMb }) => filesMb - sharesMb);
  if (before === undefined || after === undefined || after <= before * GROWTH_MAX) return [];
  return [`files grew from ${round(before)} MB in month ${from.month} to ${round(after)} MB`];
}

function rowOf(month: number, { agent, main }: Stage): Row {
  const files = readdirSync(agent.dataDir).filter((name) => name.startsWith("gateside"));
  const bytes = files.reduce((sum, name) => sum + statSync(join(agent.dataDir, name)).size, 0);
  return {
    month,
    readings: main.ids.size,
    filesMb: round(bytes / MB),
    sharesMb: round(sharesBytes(agent.dataDir) / MB),
    heapMb: heapMb(),
    cpuS: round(process.cpuUsage().user / 1e6),
  };
}

/** Needs --expose-gc. */
function heapMb(): number {
  (Reflect.get(globalThis, "gc") as (() => void) | undefined)?.();
  return round(process.memoryUsage().heapUsed / MB);
}

const round = (value: number) => Math.round(value * 10) / 10;

function newestMs(path: string): number {
  const sql = "SELECT max(time_ms) FROM readings";
  return withStore(path, (db) => db.prepare<[], number>(sql).pluck().get()) ?? 0;
}

/** Hourly values, medians of days, kept measurements, and what is remembered of readings that have left. */
function sharesBytes(dataDir: string): number {
  const sql = `SELECT coalesce(sum(pgsize), 0) FROM dbstat
    WHERE name IN ('hours', 'days', 'hour_series', 'day_medians', 'forgotten') OR name LIKE '%kept\\_%' ESCAPE '\\'`;
  return withStore(storePath(dataDir), (db) => db.prepare<[], number>(sql).pluck().get()) ?? 0;
}

/** Rows of each table, and the oldest reading. */
function contents({ agent }: Stage): string {
  return withStore(storePath(agent.dataDir), (db) => {
    const tables = db
      .prepare<[], string>(
        "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'",
      )
      .pluck()
      .all();
    const counts = tables.map(
      (name) => `${name} ${String(db.prepare(`SELECT count(*) FROM ${name}`).pluck().get())}`,
    );
    const oldest = db
      .prepare<[], number>("SELECT min(time_ms) FROM readings WHERE time_ms > 0")
      .pluck()
      .get();
    return `${counts.join(", ")}; oldest reading of ${PLANT_SITE} ${new Date(oldest ?? 0).toISOString()}`;
  });
}

const tell = (line: string) => void process.stdout.write(`${line}\n`);
runYears(JSON.parse(process.argv[2] ?? "") as YearsOrder, tell).then(
  (failures) => {
    for (const failure of failures.slice(0, 20)) tell(`  ${failure}`);
    process.exit(failures.length === 0 ? 0 : 1);
  },
  (error: unknown) => {
    process.stderr.write(`${error instanceof Error ? error.stack : String(error)}\n`);
    process.exit(2);
  },
);
