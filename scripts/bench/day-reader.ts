import type { PolledKind } from "../../src/core/sensor.ts";
import { loadByteHashing } from "../../src/lib/xxhash.ts";
import { DayReader } from "../../src/pipeline/decode/day-reader.ts";
import { JsonText } from "../../src/pipeline/decode/json-text.ts";
import { RECORD_BOUNDS } from "../../src/pipeline/decode/record-bounds.ts";
import { SampleReader } from "../../src/pipeline/decode/samples.ts";
import { createWireNames } from "../../src/pipeline/wire/wire-names.ts";
import { median, ownCpuMs, sleep } from "./measure.ts";
import type { Outcome, Row } from "./plant.ts";

/*
 * Reading a day compared with JSON.parse of the same body, both sides in one run, medians of pairs: targets 2 and 8.
 */

const PAIRS = 15;
/** Channels read for one figure. */
const TURNS = 200;
/** The garbage collector's threads are done after this, ms. */
const SETTLED_MS = 30;
/** Size of the chunks in which a socket delivers a response. */
const PIECE_BYTES = 65_536;

const names = createWireNames({ word: "sensor", service: "SensorService.svc" });
const random = generator(7);

export async function dayReaderRows(): Promise<Outcome> {
  const raw: Record<string, Pairs> = {};
  const rows: Row[] = [];
  const hashing = await loadByteHashing();
  const read = (kind: PolledKind, body: Buffer, checkpoint: string | null, known?: Set<bigint>) => {
    const isKnownBytes = known ? (hash: bigint) => known.has(hash) : null;
    const reader = new DayReader({ kind, names, hashing, checkpoint, isKnownBytes });
    const hashes: bigint[] = [];
    for (let at = 0; at < body.length; at += PIECE_BYTES) {
      for (const item of reader.push(body.subarray(at, at + PIECE_BYTES))) {
        hashes.push(item.bytesHash);
      }
    }
    return { hashes, result: reader.end() };
  };
  const days: [string, PolledKind, Buffer][] = [
    ["8 MB waveforms (144 x 3x4096)", "accel", waveformDay(144, 4096)],
    ["3.7 MB small records (8640 of 12 currents)", "currentV2", smallDay(8640)],
  ];
  for (const [title, kind, body] of days) {
    const { hashes, result } = read(kind, body, null);
    if (result.outcome !== "complete") throw new Error(result.outcome);
    const known = new Set(hashes);
    const parse = () => JSON.parse(body.toString());
    const unchanged = await pairsOf(() => read(kind, body, result.checkpoint), parse, 10, 3);
    raw[`${title}: unchanged`] = unchanged;
    raw[`${title}: all new`] = await pairsOf(() => read(kind, body, null), parse);
    raw[`${title}: rewritten, records known`] = await pairsOf(
      () => read(kind, body, null, known),
      parse,
    );
    const again = read(kind, body, result.checkpoint).result;
    if (again.outcome !== "complete" || !again.unchanged || again.records !== hashes.length) {
      throw new Error("the unchanged day was not recognised");
    }
    rows.push({
      target: kind === "accel" ? "2" : "2b",
      what: `recognising an unchanged day / JSON.parse, ${title} (ms)`,
      measured: ratio(unchanged),
      limit: kind === "accel" ? 0.06 : 0.05,
      sense: "<=",
      digits: 3,
      note: `${of(unchanged, 0).toFixed(2)} : ${of(unchanged, 1).toFixed(2)}`,
    });
  }
  for (const samples of [1024, 4096, 16_384]) {
    const text = Buffer.from(channel(samples));
    const reader = new SampleReader(RECORD_BOUNDS.samplesMax);
    const json = text.toString("latin1");
    const pairs = await pairsOf(
      () => JSON.parse(json),
      () => reader.read(text, text.length, new JsonText(text, 0, text.length)),
      TURNS,
      TURNS,
    );
    raw[`channel of ${samples}`] = pairs;
    if (samples !== 4096) continue;
    const read = reader.read(text, text.length, new JsonText(text, 0, text.length));
    if (read.state !== "ok" || JSON.stringify([...read.samples]) !== json) {
      throw new Error("the samples are not those of the text");
    }
    rows.push({
      target: "8",
      what: "JSON.parse of a channel text / reading it into an Int16Array, n = 4096 (µs)",
      measured: ratio(pairs),
      limit: 3,
      sense: ">=",
      note: `${(1000 * of(pairs, 0)).toFixed(1)} : ${(1000 * of(pairs, 1)).toFixed(1)}`,
    });
  }
  return { rows, raw };
}

type Pairs = readonly (readonly [number, number])[];

const ratio = (pairs: Pairs) => median(pairs.map(([a, b]) => a / b));
const of = (pairs: Pairs, side: 0 | 1) => median(pairs.map((pair) => pair[side]));

/**
 * CPU of both for one turn, ms, next to each other so that a busy machine cancels out; the first three warm up. Several
 * turns make one figure, and each begins when the garbage collector's threads have finished with what the other side left behind:
 * all threads are counted, and the garbage of a parsed day would be charged to the next side.
 */
async function pairsOf(
  first: () => unknown,
  second: () => unknown,
  firstTurns = 1,
  secondTurns = 1,
): Promise<Pairs> {
  const turns = async (work: () => unknown, count: number) => {
    await sleep(SETTLED_MS);
    const cpu = ownCpuMs(() => {
      for (let turn = 0; turn < count; turn += 1) work();
    });
    return cpu / count;
  };
  const pairs: [number, number][] = [];
  for (let n = 0; n < PAIRS + 3; n++) {
    pairs.push([await turns(first, firstTurns), await turns(second, secondTurns)]);
  }
  return pairs.slice(3);
}

function channel(samples: number): string {
  const values = Array.from({ length: samples }, () => Math.round((random() - 0.5) * 20_000));
  return `[${values.join(",")}]`;
}

function waveformDay(records: number, samples: number): Buffer {
  const texts = Array.from({ length: records }, (_, index) => {
    const channels = [1, 2, 3].map((n) => `"channel${n}":${channel(samples)}`).join(",");
    return `{"battery_type":2,"calibration":0.000244,${channels},"device":"A","hasrealtime":true,"realnodetime":${at(index)},"recording_reason":2,"sample_rate":6400,"sensor_code":"10234","sensor_type":3,"sequence":${index},"temperature":31.5,"time_data":${at(index)},"trigger":0,"trigger_type":0}`;
  });
  return answer(texts);
}

function smallDay(records: number): Buffer {
  const current = () => (20 + 5 * random()).toFixed(3);
  const values = ["avg", "max", "min"].flatMap((part) =>
    [1, 2, 3, 4].map((n) => `${part}_current${n}`),
  );
  const texts = Array.from({ length: records }, (_, index) => {
    const currents = values.map((name) => `"${name}":${current()}`).join(",");
    return `{${currents},"battery":3.58,"battery_type":2,"module_temperature":${(24 + random()).toFixed(2)},"sensor_code":"100200300","time_data":${at(index)},"version":12}`;
  });
  return answer(texts);
}

const at = (index: number) => `"\\/Date(${1_763_600_000_000 + index * 10_000}+0200)\\/"`;
const answer = (records: string[]) =>
  Buffer.from(
    `[{"Configs":[],"Key":{"Description":"OK","StatusNumber":0},"Value":[${records.join(",")}]}]`,
  );

function generator(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}
