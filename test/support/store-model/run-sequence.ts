/** One sequence on a real store in a temporary directory, beside the plain model. Throws AssertionError where they differ. */
import assert from "node:assert/strict";
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setImmediate as turn } from "node:timers/promises";
import Sqlite from "better-sqlite3";
import type { AlarmEvent } from "../../../src/core/alarm/event.ts";
import type { Reading } from "../../../src/core/reading.ts";
import { openStore } from "../../../src/pipeline/store/sqlite-store.ts";
import type { Store } from "../../../src/pipeline/store/store.ts";
import { alarmLogOf } from "../alarm-log.ts";
import { KEEP } from "../keep.ts";
import { ManualClock } from "../manual-clock.ts";
import { append, readingOf, storeOptions } from "../temp-database.ts";
import { type Item, Ledger } from "./ledger.ts";
import {
  AFTER_ALL_MS,
  configured,
  type Sequence,
  type Step,
  timeOf,
  UPLINKS,
  type Variant,
} from "./steps.ts";

const BUFFER_MB = 8;
/** Turns of the loop after which a pass of retention is taken for endless. */
const TURNS_MAX = 3_000;
const ROUNDS_MAX = 60;
const MINUTE_MS = 60_000;
/** In memory where possible: every commit is a sync. */
const ROOT = existsSync("/dev/shm") ? "/dev/shm" : tmpdir();

const ROWS_SQL = `SELECT lower(hex(r.id)) AS id FROM outbox o JOIN lanes l ON l.lane = o.lane
  JOIN readings r ON r.seq = o.seq WHERE l.uplink = ? AND l.format = ? AND l.leaving IS NULL`;

class Run {
  readonly #root = mkdtempSync(join(ROOT, "gateside-model-"));
  readonly #clock = new ManualClock(AFTER_ALL_MS);
  readonly #padding: number;
  readonly #ledgers: readonly Ledger[];
  /** Everything that was stored, by id. */
  readonly #stored = new Map<string, Item>();
  /** Brought, and not stored after that step. */
  readonly #gone = new Set<string>();
  #openings = 0;
  #events = 0;
  #directory = "";
  #store!: Store;
  #disk!: Sqlite.Database;
  #pass: Promise<void> | null = null;

  constructor({ variants, padding }: Sequence) {
    this.#padding = padding;
    this.#ledgers = UPLINKS.map((name) => new Ledger(name, variants[name]));
    for (const ledger of this.#ledgers) ledger.mayShed = padding > 0;
    this.#open();
  }

  #open(): void {
    this.#openings += 1;
    const opening = this.#openings;
    const from = this.#directory;
    this.#directory = join(this.#root, String(opening));
    mkdirSync(this.#directory);
    if (from !== "")
      for (const name of ["gateside.db", "gateside.db-wal"])
        if (existsSync(join(from, name)))
          copyFileSync(join(from, name), join(this.#directory, name));
    this.#store = openStore(
      storeOptions(this.#directory, {
        keep: KEEP,
        bufferMaxMb: BUFFER_MB,
        uplinks: this.#uplinks,
        clock: this.#clock,
        gatewayNow: () => this.#clock.now(),
        onNotSelected: (uplink, count) => {
          const ledger = this.#ledgers.find(({ name }) => name === uplink);
          if (ledger !== undefined && this.#openings === opening) ledger.notSelected += count;
        },
      }),
    );
    this.#disk = new Sqlite(join(this.#directory, "gateside.db"), { readonly: true });
  }

  get #uplinks() {
    return this.#ledgers.flatMap(({ name, variant }) => configured(name, variant));
  }

  #ledger(name: string): Ledger {
    const ledger = this.#ledgers.find((one) => one.name === name);
    assert.ok(ledger);
    return ledger;
  }

  async take(step: Step): Promise<void> {
    switch (step.do) {
      case "store":
        return this.#append(
          [step.k, ...step.more].map((k) => this.#reading({ ...step, k })),
          step.isFuture,
        );
      case "alarm":
        return this.#alarm(this.#reading(step));
      case "lease":
        return this.#lease(this.#ledger(step.uplink), step.which, step.max);
      case "settle":
        return this.#settle(this.#ledger(step.uplink), step);
      case "session":
        return this.#session(this.#ledger(step.uplink));
      case "configure":
        return this.#configure(this.#ledger(step.uplink), step.variant);
      case "retain":
        return this.#retain(step.isAwaited);
      case "pass":
        return this.#clock.advance(step.minutes * MINUTE_MS);
      case "reopen":
        return this.#reopen(step.isKilled);
    }
  }

  #reading({ sensor, k, salt }: { sensor: string; k: number; salt: string }): Reading {
    return readingOf(sensor, timeOf(k), {
      salt,
      padding: this.#padding,
      values: { rpm: 1000 + (k % 5) },
    });
  }

  async #append(readings: readonly Reading[], isFuture: boolean): Promise<void> {
    const attributes = isFuture ? { flags: ["time_in_future"] } : {};
    let isAccepted = true;
    try {
      await append(
        this.#store,
        readings.map((reading) => ({ ...reading, attributes })),
      );
    } catch (error) {
      if (this.#padding === 0) throw error;
      isAccepted = false;
    }
    for (const reading of readings) {
      if (this.#stored.has(reading.id)) continue;
      const item = { ...itemOf(reading), isFuture };
      if (this.#isStored(reading.id)) this.#note(item);
      else this.#noteGone(item, isAccepted);
    }
  }

  /** Whoever is added later is owed nothing of it, though it is brought again. */
  #noteGone(item: Item, isAccepted: boolean): void {
    const isFirst = !this.#gone.has(item.id);
    this.#gone.add(item.id);
    for (const ledger of this.#ledgers) ledger.passed(item, isAccepted && isFirst);
  }

  #note(item: Item): void {
    for (const ledger of this.#ledgers) {
      ledger.stored(item, this.#stored);
      // They shared its commit.
      ledger.waiting.clear();
    }
    this.#stored.set(item.id, item);
  }

  async #alarm(reading: Reading): Promise<void> {
    this.#events += 1;
    const id = this.#events.toString(16).padStart(32, "0");
    const event = eventOf(id, reading);
    try {
      await alarmLogOf(this.#store).apply(
        "judge",
        () => ({ events: [event], states: [], samples: [], forgotten: [] }),
        true,
      );
    } catch (error) {
      if (this.#padding === 0) throw error;
      return;
    }
    const item = this.#stored.get(reading.id);
    const isThere = item !== undefined && !item.isFuture && this.#isStored(reading.id);
    for (const ledger of this.#ledgers) {
      if (!isThere || !ledger.mustSend(item.id)) continue;
      ledger.owe(item);
      ledger.alarms += 1;
    }
    this.#note({
      id,
      stream: `${reading.sensor} event`,
      timeMs: this.#clock.now(),
      isFuture: true,
    });
  }

  #isStored(id: string): boolean {
    return (
      this.#disk.prepare("SELECT 1 FROM readings WHERE id = ?").get(Buffer.from(id, "hex")) !==
      undefined
    );
  }

  #outbox(ledger: Ledger) {
    return this.#store.outboxOf(ledger.name);
  }

  #lease(ledger: Ledger, which: "live" | "backlog", max: number): void {
    if (ledger.lane !== null) ledger.leased(this.#outbox(ledger).lease(ledger.lane, which, max));
  }

  async #settle(
    ledger: Ledger,
    { picks, outcome, isFlushed }: Extract<Step, { do: "settle" }>,
  ): Promise<void> {
    const { inFlight, lane } = ledger;
    if (lane === null || inFlight.length === 0 || outcome === "skipped") return;
    const places = new Set(picks.map((pick) => pick % inFlight.length));
    const entries = [...places].flatMap((place) => inFlight[place] ?? []);
    void this.#outbox(ledger)
      .settle(
        lane,
        entries.map((entry) => ({ entry, outcome })),
      )
      .catch(() => {});
    for (const entry of entries) ledger.settled(entry, outcome);
    if (isFlushed) await this.#flush();
  }

  async #flush(): Promise<void> {
    await this.#store.outbox.flush();
    for (const ledger of this.#ledgers) ledger.waiting.clear();
  }

  /** The broker session ends, and another one begins. */
  #session(ledger: Ledger): void {
    if (ledger.lane === null) return;
    this.#outbox(ledger).release(ledger.lane);
    ledger.inFlight = [];
    this.#outbox(ledger).unpark(ledger.lane);
  }

  async #configure(ledger: Ledger, variant: Variant): Promise<void> {
    const former = ledger.lane;
    const isQueued = this.#rows(ledger);
    if (former !== null && configured(ledger.name, variant)[0]?.lanes[0] !== former) {
      if (ledger.waiting.size > 0) await this.#flush();
      this.#session(ledger);
    }
    ledger.change(variant, this.#stored, (id) => isQueued.includes(id));
    this.#store.setUplinks(this.#uplinks);
  }

  #rows({ name, lane }: Ledger): readonly string[] {
    return this.#disk
      .prepare<unknown[], { id: string }>(ROWS_SQL)
      .all(name, lane)
      .map(({ id }) => id);
  }

  async #retain(isAwaited: boolean): Promise<void> {
    await this.#passOver();
    const pass = this.#store.retain();
    this.#pass = pass;
    const over = () => {
      if (this.#pass === pass) this.#pass = null;
    };
    pass.then(over, over);
    if (isAwaited) await this.#passOver();
  }

  async #passOver(): Promise<void> {
    for (let n = 0; this.#pass !== null; n++) {
      assert.ok(n < TURNS_MAX, "a pass of retention never ends");
      await turn();
    }
  }

  async #reopen(isKilled: boolean): Promise<void> {
    await this.#passOver();
    const former = this.#store;
    if (isKilled) {
      for (const ledger of this.#ledgers) ledger.killed();
      this.#disk.close();
      this.#open();
      await former.close();
      return;
    }
    await this.#flush();
    for (const ledger of this.#ledgers) ledger.inFlight = [];
    this.#disk.close();
    await former.close();
    this.#open();
  }

  /** Between two steps: memory agrees with the disk. */
  check(): void {
    if (this.#pass !== null) return;
    for (const ledger of this.#ledgers) {
      if (ledger.lane === null) continue;
      const rows = this.#rows(ledger).filter((id) => !ledger.waiting.has(id)).length;
      assert.equal(this.#outbox(ledger).depth(ledger.lane).readings, rows, `${ledger.name}: depth`);
    }
  }

  /** Everything that is pending goes; then nothing may be missing. */
  async conclude(): Promise<void> {
    await this.#drain();
    await this.#clock.advance(3 * 60 * MINUTE_MS);
    await this.#drain();
    for (const ledger of this.#ledgers) {
      const gaps = this.#store.gaps
        .pendingGaps(10_000)
        .filter(({ uplink }) =>
          uplink === undefined
            ? this.#uplinks.length === 1 && ledger.variant !== "absent"
            : uplink === ledger.name,
        );
      ledger.conclude(
        gaps.map((gap) => ({ ...gap, stream: `${gap.sensor} ${gap.kind}` })),
        (id) => this.#isStored(id),
        this.#stored,
      );
    }
  }

  async #drain(): Promise<void> {
    await this.#retain(true);
    for (const ledger of this.#ledgers) this.#session(ledger);
    for (let round = 0; ; round++) {
      assert.ok(round < ROUNDS_MAX, "what is pending never ends");
      for (const ledger of this.#ledgers) {
        this.#lease(ledger, "live", 100);
        this.#lease(ledger, "backlog", 100);
        const picks = ledger.inFlight.map((_, n) => n);
        await this.#settle(ledger, {
          do: "settle",
          uplink: ledger.name,
          picks,
          outcome: "sent",
          isFlushed: true,
        });
      }
      await this.#retain(true);
      const isOver = this.#ledgers.every(
        (ledger) => ledger.lane === null || this.#rows(ledger).length === 0,
      );
      if (isOver) return;
      await this.#clock.advance(10 * MINUTE_MS);
    }
  }

  async close(): Promise<void> {
    this.#disk.close();
    const isStuck = this.#pass !== null;
    const closing = this.#store.close().catch(() => {});
    if (!isStuck) await closing;
    rmSync(this.#root, { recursive: true, force: true });
  }
}

const itemOf = ({ id, sensor, kind, timeMs }: Reading) => ({
  id,
  stream: `${sensor} ${kind}`,
  timeMs,
});

function eventOf(id: string, { sensor, kind, timeMs, id: readingId }: Reading): AlarmEvent {
  return {
    id,
    alarm: "x",
    sensor,
    kind,
    value: "rpm",
    unit: "rpm",
    text: "t",
    severity: "alarm",
    state: "active",
    timeMs,
    limit: 1,
    hysteresis: 0,
    measured: 2,
    readingId,
    raisedMs: timeMs,
    sinceMs: timeMs,
    worst: { measured: 2, timeMs },
    historical: false,
    reason: null,
    acknowledged: null,
    shelved: null,
    note: null,
  };
}

export async function runSequence(sequence: Sequence): Promise<void> {
  const run = new Run(sequence);
  try {
    for (const step of sequence.steps) {
      await run.take(step);
      run.check();
    }
    await run.conclude();
  } finally {
    await run.close();
  }
}
