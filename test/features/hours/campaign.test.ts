/**
 * Hourly values against a recomputation from every reading that was ever taken, while readings come late, are read again,
 * leave by age, are given up by a full buffer, and are lost with damaged pages.
 */
import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import type { SeriesSum } from "../../../src/core/query/series-sum.ts";
import type { Reading, Value } from "../../../src/core/reading.ts";
import type { Kind } from "../../../src/core/sensor.ts";
import { DAY_MS, HOUR_MS } from "../../../src/core/time-units.ts";
import { openStore } from "../../../src/pipeline/store/sqlite-store.ts";
import type { Store } from "../../../src/pipeline/store/store.ts";
import { spoilPage } from "../../support/damage.ts";
import { ManualClock } from "../../support/manual-clock.ts";
import {
  append,
  dayOf,
  keyOf,
  readingOf,
  START_MS,
  storeOptions,
  tempDirectory,
} from "../../support/temp-database.ts";

const STREAMS: readonly (readonly [string, Kind])[] = [
  ["1", "loop"],
  ["2", "accel"],
  ["3", "dryContact"],
];
const SEEDS = Number(process.env["HOURS_SEEDS"] ?? 2);

class Chance {
  #state: number;
  constructor(seed: number) {
    this.#state = seed * 2_654_435_761;
  }
  /** 0 up to, without, `below`. */
  number(below: number): number {
    this.#state = (Math.imul(this.#state, 1_664_525) + 1_013_904_223) >>> 0;
    return (this.#state / 2 ** 32) * below;
  }
  isBelow(share: number): boolean {
    return this.number(1) < share;
  }
  of<T>(items: readonly T[]): T {
    return items[Math.floor(this.number(items.length))] as T;
  }
}

/** What the definition says, from whole readings, without the code under test. */
function recompute(readings: Iterable<Reading>, spanMs: number): Map<string, SeriesSum> {
  const numbers = new Map<string, { numbers: number[]; uncertain: number; bad: number }>();
  for (const { sensor, kind, timeMs, values, units, quality, attributes } of readings) {
    if (attributes["flags"] !== undefined) continue;
    for (const [value, content] of Object.entries(values)) {
      const isBad = quality[value]?.quality === "bad";
      const number = isBad ? null : toNumber(value, content);
      if (number === null && !isBad) continue;
      const start = Math.floor(timeMs / spanMs) * spanMs;
      const key = `${sensor} ${kind} ${new Date(start).toISOString()} ${value} ${units[value] ?? ""}`;
      const sum = numbers.get(key) ?? { numbers: [], uncertain: 0, bad: 0 };
      numbers.set(key, sum);
      if (number === null) sum.bad += 1;
      else {
        sum.numbers.push(number);
        if (quality[value] !== undefined) sum.uncertain += 1;
      }
    }
  }
  return new Map(
    [...numbers].map(([key, { numbers: all, uncertain, bad }]) => [
      key,
      {
        value: "",
        unit: null,
        count: all.length,
        min: Math.min(...all),
        mean: all.reduce((sum, number) => sum + number / all.length, 0),
        max: Math.max(...all),
        uncertain,
        bad,
      },
    ]),
  );
}

function toNumber(name: string, content: Value): number | null {
  if (typeof content === "boolean") return content ? 1 : 0;
  if (typeof content === "string" && name.endsWith("_zone")) return "-ABCD".indexOf(content);
  return typeof content === "number" ? content : null;
}

function answered(store: Store, span: "hours" | "days"): Map<string, SeriesSum> {
  const found = new Map<string, SeriesSum>();
  for (const [sensor, kind] of STREAMS) {
    const range = { sensor, kind, fromMs: -1e15, toMs: 1e15, span, values: null };
    for (const { startMs, series } of store.hours.points(range)) {
      for (const sum of series) {
        const key = `${sensor} ${kind} ${new Date(startMs).toISOString()} ${sum.value} ${sum.unit ?? ""}`;
        assert.ok(!found.has(key), `${key} twice`);
        found.set(key, sum);
      }
    }
  }
  return found;
}

function assertSame(store: Store, taken: ReadonlyMap<string, Reading>, when: string): void {
  for (const [span, spanMs] of [
    ["hours", HOUR_MS],
    ["days", DAY_MS],
  ] as const) {
    const wanted = recompute(taken.values(), spanMs);
    const found = answered(store, span);
    assert.deepEqual([...found.keys()].sort(), [...wanted.keys()].sort(), `${when}: ${span}`);
    for (const [key, sum] of wanted) {
      const { count, min, mean, max, uncertain, bad } = found.get(key) as SeriesSum;
      const text = `${when}: ${span} ${key}`;
      assert.deepEqual([count, uncertain, bad], [sum.count, sum.uncertain, sum.bad], text);
      if (count === 0) continue;
      assert.ok(Object.is(min, sum.min) && Object.is(max, sum.max), text);
      assert.ok(Math.abs(mean - sum.mean) <= 1e-9 * Math.max(1, Math.abs(sum.mean)), text);
    }
  }
}

/** One box with a gateway that keeps every record for ever. */
class Campaign {
  readonly #chance: Chance;
  readonly #clock: ManualClock;
  readonly #directory: string;
  #store: Store;
  readonly #taken = new Map<string, Reading>();
  #count = 0;
  /** Bytes that make a reading large, so that the buffer gets full. */
  readonly #padding: number;
  /** Readings that the full buffer gave up. */
  dropped = 0;

  constructor(seed: number, directory: string, padding: number) {
    this.#chance = new Chance(seed);
    this.#clock = new ManualClock(START_MS);
    this.#directory = directory;
    this.#padding = padding;
    this.#store = this.#open();
  }

  #open(): Store {
    return openStore(
      storeOptions(this.#directory, { clock: this.#clock, bufferMaxMb: 8, historyDays: 1 }),
    );
  }

  #reading(sensor: string, kind: Kind, timeMs: number): Reading {
    const chance = this.#chance;
    this.#count += 1;
    const isBad = chance.isBelow(0.1);
    const unit = timeMs % DAY_MS < DAY_MS / 2 ? "bar" : "mbar";
    const doubt = {
      quality: chance.isBelow(0.5) ? "uncertain" : "bad",
      reason: "clipped",
    } as const;
    const number = (chance.number(2) - 1) * 10 ** Math.floor(chance.number(12) - 4);
    const isNull = isBad && doubt.quality === "bad";
    return readingOf(sensor, timeMs, {
      kind,
      salt: String(this.#count),
      values: {
        channel1: isNull ? null : number,
        channel1_zone: chance.of(["A", "B", "C", "D"]),
        input1: chance.isBelow(0.5),
        firmware: "D",
        [`only${Math.floor(chance.number(3))}`]: Math.round(number) + 0,
      },
      units: { channel1: unit },
      quality: isBad ? { channel1: doubt } : {},
      attributes: chance.isBelow(0.03) ? { flags: ["time_in_future"] } : {},
      padding: this.#padding,
    });
  }

  async run(steps: number): Promise<void> {
    for (let step = 0; step < steps; step += 1) {
      await this.#step();
      if (step % 20 === 19) assertSame(this.#store, this.#taken, `step ${step}`);
    }
    this.dropped = this.#store.state().dropped["buffer_full"] ?? 0;
    await this.#store.close();
  }

  async #step(): Promise<void> {
    const chance = this.#chance;
    await this.#clock.advance(Math.floor(chance.number(2 * HOUR_MS)));
    const nowMs = this.#clock.now();
    for (const [sensor, kind] of STREAMS) {
      if (chance.isBelow(0.2)) continue;
      const count = 1 + Math.floor(chance.number(6));
      const isLate = chance.isBelow(0.25);
      const backMs = isLate ? chance.number(4 * DAY_MS) : 0;
      const readings = Array.from({ length: count }, () =>
        this.#reading(sensor, kind, Math.floor(nowMs - backMs - chance.number(HOUR_MS))),
      );
      await this.#take(readings);
    }
    if (this.#padding === 0 && chance.isBelow(0.5)) this.#deliver();
    if (chance.isBelow(0.4)) await this.#readAgain();
    if (chance.isBelow(0.5)) await this.#store.retain();
    if (chance.isBelow(0.1)) await this.#restart(null);
    if (chance.isBelow(0.04)) await this.#restart(chance.of(["readings", "forgotten", "outbox"]));
  }

  async #take(readings: readonly Reading[]): Promise<void> {
    await append(this.#store, readings);
    for (const reading of readings) this.#taken.set(reading.id, reading);
  }

  #deliver(): void {
    const entries = this.#store.outbox.lease("json", "backlog", 100);
    void this.#store.outbox.settle(
      "json",
      entries.map((entry) => ({ entry, outcome: "sent" as const })),
    );
  }

  /** The gateway answers with all records of some days, or of all. */
  async #readAgain(share = 0.3): Promise<void> {
    const days = new Map<string, Reading[]>();
    for (const reading of this.#taken.values()) {
      const key = `${reading.sensor} ${dayOf(reading.timeMs)}`;
      const day = days.get(key) ?? [];
      days.set(key, day);
      day.push(reading);
    }
    for (const readings of days.values()) {
      const [first] = readings;
      if (first === undefined || !this.#chance.isBelow(share)) continue;
      await append(this.#store, readings, keyOf(first.sensor, first.kind, dayOf(first.timeMs)));
    }
  }

  /** @param damaged a table of which a page is overwritten meanwhile */
  async #restart(damaged: string | null): Promise<void> {
    await this.#store.close();
    const path = join(this.#directory, "gateside.db");
    if (damaged !== null) {
      spoilPage(path, damaged);
      // As after a power cut: everything is checked.
      writeFileSync(`${path}-wal`, "x");
    }
    this.#store = this.#open();
    if (damaged === null) return;
    assert.match(this.#store.state().alarm ?? "", /was damaged/);
    await this.#readAgain(1);
  }
}

for (let seed = 1; seed <= SEEDS; seed += 1) {
  test(`hourly values – equal a recomputation of everything that was ever taken, seed ${seed}`, async (t) => {
    await new Campaign(seed, tempDirectory(t), 0).run(100);
  });
}

test("hourly values – also count what a full buffer gave up or refused", async (t) => {
  const campaign = new Campaign(77, tempDirectory(t), 20_000);
  await campaign.run(60);
  assert.ok(campaign.dropped > 50, `${campaign.dropped}`);
});
