import { createHash } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { DayKey } from "../../src/core/day.ts";
import type { Lane, OutboxEntry, OutboxUplink } from "../../src/core/delivery/delivery.ts";
import type { Reading, Waveform } from "../../src/core/reading.ts";
import type { Kind } from "../../src/core/sensor.ts";
import { createSelector, SELECT_ALL, type Select } from "../../src/core/uplink.ts";
import { systemClock } from "../../src/lib/clock.ts";
import { silentLogger } from "../../src/lib/logger.ts";
import { openStore } from "../../src/pipeline/store/sqlite-store.ts";
import type { Store, StoreOptions } from "../../src/pipeline/store/store.ts";
import { COUNT } from "./count.ts";

/** The part of a test's context that cleans up. */
export interface Cleanup {
  after(fn: () => void | Promise<void>): void;
}

/** For files that must be on a disk: the runner puts temporary ones in memory, where `chattr +i` keeps nobody from writing. */
export const ON_DISK = process.env["GATESIDE_TEST_DISK"] ?? tmpdir();

/** A directory that is gone after the test. */
export function tempDirectory(t: Cleanup, under = tmpdir()): string {
  const directory = mkdtempSync(join(under, "gateside-store-"));
  t.after(() => {
    try {
      rmSync(directory, { recursive: true, force: true, maxRetries: 5 });
    } catch {
      // A program of a failed test may still write there. A hook that throws would leave out those after it, which end that program.
    }
  });
  return directory;
}

export function storeOptions(dataDir: string, options: Partial<StoreOptions> = {}): StoreOptions {
  return {
    dataDir,
    historyDays: 30,
    waveformDays: 7,
    bufferMaxMb: 64,
    diskFreeMinMb: 0,
    count: COUNT,
    uplinks: mainOf("json"),
    clock: systemClock,
    logger: silentLogger,
    commitWindowMs: 0,
    ...options,
  };
}

/** A store in its own directory, closed after the test. */
export function tempStore(t: Cleanup, options: Partial<StoreOptions> = {}): Store {
  const store = openStore(storeOptions(options.dataDir ?? tempDirectory(t), options));
  t.after(() => store.close());
  return store;
}

export const DAY_MS = 86_400_000;
export const START_MS = Date.parse("2026-11-20T00:00:00Z");

export function dayOf(timeMs: number): string {
  return new Date(timeMs).toISOString().slice(0, 10);
}

export function keyOf(sensor: string, kind: Kind = "rpm", day = "2026-11-20"): DayKey {
  return { sensor, kind, day };
}

/** A reading whose id follows from sensor, kind, time and salt. */
export function readingOf(
  sensor: string,
  timeMs: number,
  more: Partial<Reading> & { readonly salt?: string; readonly padding?: number } = {},
): Reading {
  const { salt = "", padding = 0, ...fields } = more;
  const kind = fields.kind ?? "rpm";
  return {
    id: createHash("sha256")
      .update(`${sensor}/${kind}/${timeMs}/${salt}`)
      .digest("hex")
      .slice(0, 32),
    sensor,
    kind,
    timeMs,
    offsetMinutes: -360,
    values: { rpm: 1480 },
    units: { rpm: "rpm" },
    quality: {},
    attributes: { version: 12 },
    raw: { rpm: 1480, ...(padding > 0 ? { padding: "x".repeat(padding) } : {}) },
    waveform: null,
    ...fields,
  };
}

export function waveformOf(samples: number, channels = 3): Waveform {
  const axes = ["H", "V", "A"] as const;
  return {
    sampleRateHz: 6400,
    calibration: 0.0005,
    recordingReason: 3,
    channels: axes.slice(0, channels).map((axis, index) => ({
      channel: index + 1,
      axis,
      samples: Int16Array.from(
        { length: samples },
        (_, i) => ((i * 7919 + index * 31) % 65536) - 32768,
      ),
    })),
  };
}

/** Stores readings as one answer; sensor and kind are the first reading's. */
export async function append(
  store: Store,
  readings: readonly Reading[],
  key?: DayKey,
  checkpoint: string | null = null,
  readAtMs?: number,
): Promise<number> {
  const [first] = readings;
  if (first === undefined) return 0;
  const own = key ?? keyOf(first.sensor, first.kind, dayOf(first.timeMs));
  const writer = store.readings.begin(own, readAtMs);
  for (const reading of readings) {
    if (!writer.isKnown(reading.timeMs, reading.id)) await writer.add(reading);
  }
  const { stored } = await writer.commit({ checkpoint, records: readings.length });
  return stored;
}

export const idsOf = (entries: readonly OutboxEntry[]) => entries.map(({ reading }) => reading.id);
export const timesOf = (entries: readonly OutboxEntry[]) =>
  entries.map(({ reading }) => reading.timeMs);

/** The uplink `main` with these lanes, over all readings and all samples. */
export function mainOf(...lanes: Lane[]): OutboxUplink[] {
  return [uplinkOf("main", lanes)];
}

export function uplinkOf(
  name: string,
  lanes: readonly Lane[],
  given: Partial<OutboxUplink> & { readonly select?: Partial<Select> } = {},
): OutboxUplink {
  const { select, ...rest } = given;
  return {
    name,
    lanes,
    selector: createSelector({ ...SELECT_ALL, ...select }, []),
    waveforms: "always",
    history: true,
    maxAgeHours: null,
    onChange: null,
    everyS: null,
    startFrom: "stored",
    ...rest,
  };
}
