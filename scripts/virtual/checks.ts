/** What must hold at every minute of a trial, looked up in the agent's database by a connection of our own. */
import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import type Sqlite from "better-sqlite3";
import { PLANT_SITE } from "../chaos/events.ts";
import type { Wanted } from "../chaos/expectation.ts";
import type { Received } from "../chaos/received.ts";
import type { Drawn } from "./draw.ts";
import { HOUR_MS } from "./happenings.ts";
import { SeenHours } from "./hours.ts";
import { wrongInMemory } from "./in-memory.ts";
import { PlainAlarms } from "./plain-alarms.ts";
import { PresentDay } from "./present-day.ts";
import { staleTopics, wrongAnswers } from "./queries.ts";
import type { Stage } from "./stage.ts";
import { storePath, withStore } from "./with-store.ts";

const MB = 1_048_576;
/** What is pending is compared one by one only up to this size of the backlog; beyond it less often. */
const BACKLOG_SMALL = 2000;
const RARELY_MINUTES = 15;
/** A buffer from this size on is never full within a trial. */
const ROOMY_MB = 64;
/** CONFIG_TRIAL_S is 300. */
const TRIAL_MINUTES_MAX = 7;
/** Before HISTORY_DAYS (30) nothing leaves by age. */
const YOUNG_MS = 20 * 24 * HOUR_MS;

/** A column that must hold whole numbers. */
interface WholeColumn {
  readonly table: string;
  readonly column: string;
  readonly sql: string;
}

export interface WrittenEvent {
  readonly sensor: string;
  readonly timeMs: number;
}

export class Checks {
  readonly failures = new Set<string>();
  /** Events of alarms, by id, noted when they were written. */
  readonly events = new Map<string, WrittenEvent>();
  readonly #stage: Stage;
  readonly #budgetBytes: number;
  /** Readings that the agent derives or asks nodes for, by id. */
  readonly derived = new Map<string, Wanted>();
  readonly #hours = new SeenHours();
  readonly #alarms: PlainAlarms;
  readonly #present: PresentDay;
  #minutes = 0;
  #seq = 0;
  #peakBytes = 0;
  /** Rows of the store when last looked at. */
  #rows = 0;
  #wasFull = false;
  /** The trial that was found at the last looks, and at how many. */
  #trial = { digest: "", looks: 0 };
  /** Readings that the lane of `main` had as pending when last looked at, with their ids. */
  #pending = new Map<number, string>();

  /** @param zone of the gateway's days */
  constructor(stage: Stage, env: Drawn["env"], zone: string) {
    this.#stage = stage;
    this.#alarms = new PlainAlarms(zone);
    this.#present = new PresentDay(stage, zone, Number(env["POLL_INTERVAL_S"]));
    this.#budgetBytes = Number(env["BUFFER_MAX_MB"]) * MB;
  }

  /** Only with the agent running: a process that ended may have left half a file behind. */
  look(): void {
    const { agent, main } = this.#stage;
    this.#minutes += 1;
    const path = storePath(agent.dataDir);
    if (!agent.isRunning || !existsSync(path)) return;
    this.#space(agent.dataDir);
    this.#uptime();
    this.#trialEnds(agent.dataDir);
    withStore(path, (db) => {
      this.#wholeNumbers(db);
      this.#owned(db);
      this.#once(db);
      this.#stays(db);
      this.#noteWritten(db, "s.kind IN ('event', 'bands', 'node')");
      this.#deliveries(db, main);
      this.#lostCount(db);
      this.#hours.note(db, this.#seq);
      this.#alarms.note(db, this.#seq);
      const inside = agent.inside();
      if (inside !== null) {
        for (const wrong of wrongInMemory(db, inside, agent)) this.#fail(wrong);
        for (const wrong of this.#present.wrong(inside.status)) this.#fail(wrong);
      }
      if (this.#minutes % RARELY_MINUTES === 0) this.#answers(db);
      this.#seq = Number(db.prepare("SELECT coalesce(max(seq), 0) FROM readings").pluck().get());
    });
  }

  /** Whether readings were stored and left the store between two looks. */
  get hasUnseen(): boolean {
    return this.#hours.hasUnseen;
  }

  #answers(db: Sqlite.Database): void {
    const store = this.#stage.agent.inspect();
    if (store === null) return;
    const turn = this.#minutes / RARELY_MINUTES;
    for (const wrong of wrongAnswers(this.#stage.agent.dataDir, store, turn)) this.#fail(wrong);
    for (const wrong of this.#hours.wrong(db, store, turn)) this.#fail(wrong);
    const broker = this.#stage.brokers.get("main");
    if (broker !== undefined)
      for (const wrong of staleTopics(this.#stage.agent.dataDir, broker, turn)) this.#fail(wrong);
    store.close();
  }

  /** At the end. What a full buffer gave up between two looks was followed unseen. */
  finish(): string[] {
    const { siteFile } = this.#stage;
    return this.hasUnseen ? [] : this.#alarms.wrong(siteFile.changed);
  }

  #fail(what: string): void {
    if (this.failures.size < 50) this.failures.add(what);
  }

  /** Whatever the box's clock shows, it has been running since its start and not longer than the world. */
  #uptime(): void {
    const { brokers, world } = this.#stage;
    const stats = brokers.get("main")?.retained.get(`gateside/${PLANT_SITE}/agent/stats`);
    if (stats === undefined) return;
    const { uptimeS }: { uptimeS: number } = JSON.parse(stats.payload.toString());
    if (uptimeS < 0 || uptimeS > world.nowMs / 1000 + 1) this.#fail(`uptimeS is ${uptimeS}`);
  }

  /** What a trial left behind is not there for longer than one lasts: an agent that was killed in it ends it at its next start. */
  #trialEnds(directory: string): void {
    const path = join(directory, "configuration", "trial.json");
    const text = existsSync(path) ? readFileSync(path, "utf8") : "";
    const digest = text === "" ? "" : String((JSON.parse(text) as { digest: string }).digest);
    this.#trial = { digest, looks: digest === this.#trial.digest ? this.#trial.looks + 1 : 0 };
    if (digest !== "" && this.#trial.looks > TRIAL_MINUTES_MAX)
      this.#fail("the trial of a document does not end");
  }

  #space(directory: string): void {
    let bytes = 0;
    for (const name of readdirSync(directory)) {
      if (name.includes(".corrupt")) this.#fail(`${name}: a store was set aside`);
      if (name.startsWith("gateside")) bytes += statSync(join(directory, name)).size;
    }
    if (bytes > Math.max(this.#peakBytes, this.#budgetBytes))
      this.#fail(`the files take ${bytes} bytes of ${this.#budgetBytes}`);
    this.#peakBytes = Math.max(this.#peakBytes, bytes);
  }

  #wholeNumbers(db: Sqlite.Database): void {
    for (const { table, column, sql } of wholeColumns(db)) {
      const wrong = db.prepare<[number], { value: unknown; n: number }>(sql).get(this.#seq);
      if (wrong && wrong.n > 0)
        this.#fail(
          `${table}.${column}: ${wrong.n} values that are no whole numbers, e.g. ${String(wrong.value)}`,
        );
    }
  }

  /** Each row of the outbox has its reading, under the same hour, stream and time. */
  #owned(db: Sqlite.Database): void {
    const isThorough = this.#minutes % RARELY_MINUTES === 0;
    const sql = `SELECT count(*) FROM outbox o LEFT JOIN readings r ON r.seq = o.seq
      WHERE o.seq > ? AND (r.seq IS NULL OR r.hour IS NOT o.hour OR r.stream <> o.stream OR r.time_ms <> o.time_ms)`;
    const alone = Number(
      db
        .prepare(sql)
        .pluck()
        .get(isThorough ? 0 : this.#seq),
    );
    if (alone > 0) this.#fail(`${alone} rows of the outbox have no reading of their hour and time`);
  }

  /** A record that is read again is recognised: its reading is stored once. */
  #once(db: Sqlite.Database): void {
    const sql = `SELECT lower(hex(r.id)) FROM readings r JOIN readings o
      ON o.hour = r.hour AND o.stream = r.stream AND o.time_ms = r.time_ms AND o.id = r.id AND o.seq < r.seq
      WHERE r.seq > ?`;
    const twice = db.prepare<[number], string>(sql).pluck().all(this.#seq);
    if (twice.length > 0) this.#fail(`${twice.length} readings are stored twice, e.g. ${twice[0]}`);
  }

  /** Within a trial nothing gets old, whatever the box's clock shows: without want of space every row stays. */
  #stays(db: Sqlite.Database): void {
    if (this.#budgetBytes < ROOMY_MB * MB || this.#stage.world.nowMs > YOUNG_MS) return;
    const rows = Number(db.prepare("SELECT count(*) FROM readings").pluck().get());
    // What others leave of the disk may be less.
    const { disk } = this.#stage.agent;
    const isFull = disk?.wasFull === true;
    if (disk !== null) disk.wasFull = disk.fault === "full";
    if (rows < this.#rows && !isFull && !this.#wasFull)
      this.#fail(`${this.#rows - rows} readings left a store that has room`);
    this.#rows = rows;
    this.#wasFull = isFull;
  }

  /** After the end: what is derived may be stored while the agent stops. Events of that moment may stay pending. */
  noteLastDerived(): void {
    withStore(storePath(this.#stage.agent.dataDir), (db) =>
      this.#noteWritten(db, "s.kind IN ('bands', 'node')"),
    );
  }

  #noteWritten(db: Sqlite.Database, isOurs: string): void {
    const sql = `SELECT lower(hex(r.id)) AS id, s.sensor AS sensor, s.kind AS kind, r.time_ms AS timeMs
      FROM readings r JOIN streams s ON s.stream = r.stream WHERE r.seq > ? AND ${isOurs}`;
    for (const { id, ...row } of db
      .prepare<[number], WrittenEvent & { id: string; kind: string }>(sql)
      .all(this.#seq)) {
      if (row.kind === "event") this.events.set(id, row);
      else this.derived.set(id, { ...row, channels: [] });
    }
  }

  /** The metric of what an uplink lost says what its gaps say, as long as all of these are still in the store. */
  #lostCount(db: Sqlite.Database): void {
    const { agent, main } = this.#stage;
    if (agent.starts > 1 || [...main.gaps].length > 0) return;
    const sql = "SELECT coalesce(sum(count), 0) FROM gaps WHERE uplink = 'main'";
    const told = Number(db.prepare(sql).pluck().get());
    void agent.lostBy("main").then((counted) => {
      if (counted !== told) this.#fail(`main lost ${told}, and its metric says ${counted}`);
    });
  }

  /** What is no longer pending has arrived, unless its reading was given up (the end of the trial looks for its gap). */
  #deliveries(db: Sqlite.Database, main: Received): void {
    if (this.#pending.size > BACKLOG_SMALL && this.#minutes % RARELY_MINUTES !== 0) return;
    const lane = db
      .prepare<[], number>(
        "SELECT lane FROM lanes WHERE uplink = 'main' AND format = 'json' AND leaving IS NULL",
      )
      .pluck()
      .get();
    if (lane === undefined) return;
    const still = new Set(
      db.prepare<[number], number>("SELECT seq FROM outbox WHERE lane = ?").pluck().all(lane),
    );
    const find = db
      .prepare<[number], string>("SELECT lower(hex(id)) FROM readings WHERE seq = ?")
      .pluck();
    const hasArrived = (id: string) => main.ids.has(id) || main.events.has(id);
    for (const [seq, id] of this.#pending) {
      if (still.has(seq) || hasArrived(id)) continue;
      if (find.get(seq) === id)
        this.#fail(`${id} is stored and no longer pending, and did not arrive`);
    }
    const added = db
      .prepare<[number], { seq: number; id: string }>(
        "SELECT seq, lower(hex(r.id)) AS id FROM readings r JOIN streams s USING (stream) WHERE seq > ? AND s.kind <> 'node'",
      )
      .all(this.#seq);
    for (const { seq, id } of added)
      if (!still.has(seq) && !hasArrived(id))
        this.#fail(`${id} was stored and is not pending, and did not arrive`);
    this.#pending = new Map(
      [...this.#pending, ...added.map(({ seq, id }) => [seq, id] as const)].filter(([seq]) =>
        still.has(seq),
      ),
    );
  }
}

/** Times, hours and counts of every table; of readings only those that are new. */
function wholeColumns(db: Sqlite.Database): WholeColumn[] {
  const tables = db
    .prepare<[], string>(
      "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'",
    )
    .pluck()
    .all();
  return tables.flatMap((table) =>
    (db.pragma(`table_xinfo(${table})`) as { name: string }[])
      .map(({ name }) => name)
      .filter((name) => /(_ms|hour|seq|count)$/.test(name))
      .map((column) => {
        const isLong = table === "readings" || table === "outbox";
        const since = isLong ? "seq > ?" : "? >= 0";
        const sql = `SELECT ${column} AS value, count(*) AS n FROM ${table}
          WHERE ${since} AND typeof(${column}) NOT IN ('integer', 'null')`;
        return { table, column, sql };
      }),
  );
}
