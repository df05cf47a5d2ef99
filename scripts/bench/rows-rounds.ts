/** Targets 1, 5, 6, 7 and 10: the whole agent compared with Node-RED, round by round, and what a round writes to the disk. */
import { DAY_MS } from "../../src/core/time-units.ts";
import type { AgentProcess } from "./agent-process.ts";
import { cpuMs, median, ratioOf, residentMb, sleep, writtenBytes } from "./measure.ts";
import type { NodeRedProcess } from "./node-red.ts";
import {
  type BenchOptions,
  DAY,
  dayPlan,
  MIDNIGHT_MS,
  type Outcome,
  type Plant,
  type Row,
  roundSensors,
  SETTLED_MS,
  type Watched,
  withPlant,
} from "./plant.ts";

interface Work {
  readonly cpuMs: number;
  readonly wallMs: number;
  readonly payloadBytes: number;
}

const SENSORS = 55;
/** Waveforms of a round: five sensors, three axes. */
const WAVEFORMS = 15;

const ROUNDS_MAX = 120;
/** A round that writes this many times as much as others contained a checkpoint. */
const CHECKPOINT_FACTOR = 3;

type Side = Watched<AgentProcess | NodeRedProcess>;

/** One read of all days, until the last message is at the subscriber and everything is on disk. */
async function round(
  plant: Plant,
  side: Side,
  readings: number,
  waveforms: number,
  day = DAY,
): Promise<Work> {
  const { counter, program } = side;
  const { answered } = await plant.gateway.report();
  const [cpu, bytes] = [cpuMs(program.pid), counter.bytes];
  const [readingsBefore, waveformsBefore] = [counter.readings, counter.waveforms];
  const startedAt = performance.now();
  await program.round(day);
  await counter.expect(readingsBefore + readings, waveformsBefore + waveforms);
  await plant.gateway.served(answered, plant.sensors.length);
  const wallMs = (readings > 0 ? counter.lastAt : performance.now()) - startedAt;
  await sleep(SETTLED_MS);
  counter.requireNoDoubles();
  return { cpuMs: cpuMs(program.pid) - cpu, wallMs, payloadBytes: counter.bytes - bytes };
}

interface Match {
  backlog: { ours: Work; theirs: Work | null }[];
  fresh: { ours: Work; theirs: Work | null }[];
  unchanged: { ours: Work; theirs: Work | null }[];
  /** Rounds of whole checkpoint cycles; empty if no cycle was completed. */
  freshWritten: { written: number; payload: number }[];
  unchangedWritten: number[];
  peakMb: { ours: number; theirs: number | null }[];
  idle: { ours: number; theirs: number | null; seconds: number }[];
  bytes: number;
}

async function play(options: BenchOptions, match: Match, isLast: boolean): Promise<void> {
  await withPlant(options, dayPlan(roundSensors(48, 2048)), async (plant) => {
    match.bytes = plant.bytes;
    const agent = await plant.agent();
    const red = options.noNodeRed === null ? await plant.nodeRed() : null;
    await sleep(2000);
    await plant.gateway.open();
    const [readings, waveforms] = [plant.records, 5 * 48 * 3];
    const both = async (readingsNew: number, waveformsNew: number) => ({
      ours: await round(plant, agent, readingsNew, waveformsNew),
      theirs: red === null ? null : await round(plant, red, readingsNew, waveformsNew),
    });
    match.backlog.push(await both(readings, waveforms));
    options.say("a day's backlog");
    if (isLast) await playRounds(options, plant, agent, red, match, both);
    match.peakMb.push({
      ours: residentMb(agent.program.pid).peak,
      theirs: red === null ? null : residentMb(red.program.pid).peak,
    });
  });
}

/**
 * Rounds from just after one checkpoint to just after a later one: about a dozen rounds go to the log before it is
 * written back to the database, so any other number of rounds would count too little or too much of that.
 */
async function wholeCycles(
  options: BenchOptions,
  plant: Plant,
  agent: Side,
  red: Side | null,
): Promise<Match["freshWritten"]> {
  const cycles = options.isFull ? 2 : 1;
  const seen: Match["freshWritten"] = [];
  const ends: number[] = [];
  while (ends.length <= cycles && seen.length < ROUNDS_MAX) {
    await plant.gateway.advance();
    const before = writtenBytes(agent.program.pid);
    const { payloadBytes } = await round(plant, agent, SENSORS, WAVEFORMS);
    const written = writtenBytes(agent.program.pid) - before;
    seen.push({ written, payload: payloadBytes });
    if (written > CHECKPOINT_FACTOR * median(seen.map((one) => one.written)))
      ends.push(seen.length);
  }
  const [from] = ends;
  const to = ends.at(-1);
  // The other side has missed these: it would publish them in a round with nothing new.
  if (red !== null) await round(plant, red, SENSORS * seen.length, WAVEFORMS * seen.length);
  options.say(`${ends.length - 1} checkpoint cycles in ${seen.length} rounds`);
  return from === undefined || to === undefined ? [] : seen.slice(from, to);
}

async function playRounds(
  options: BenchOptions,
  plant: Plant,
  agent: Watched<AgentProcess>,
  red: Watched<NodeRedProcess> | null,
  match: Match,
  both: (readings: number, waveforms: number) => Promise<{ ours: Work; theirs: Work | null }>,
): Promise<void> {
  const rounds = Math.max(5, 3 * options.pairs);
  const { pid } = agent.program;
  // By then both have compiled their code and grown their buffers, as after an hour of work.
  for (let n = 0; n < 5; n++) {
    await plant.gateway.advance();
    await both(SENSORS, WAVEFORMS);
  }
  for (let n = 0; n < rounds; n++) {
    await plant.gateway.advance();
    match.fresh.push(await both(SENSORS, WAVEFORMS));
  }
  options.say("rounds with one new record per sensor");
  match.freshWritten = await wholeCycles(options, plant, agent, red);
  for (let n = 0; n < Math.max(5, options.pairs); n++) {
    const written = writtenBytes(pid);
    match.unchanged.push(await both(0, 0));
    match.unchangedWritten.push(writtenBytes(pid) - written);
  }
  options.say("rounds with nothing new");
  const seconds = options.isQuick ? 20 : 60;
  const programs = [agent.program, ...(red === null ? [] : [red.program])];
  const before = programs.map((program) => cpuMs(program.pid));
  for (let n = 0; n < seconds / 10; n++) {
    for (const program of programs) await program.round(DAY);
    await sleep(10_000);
  }
  const used = programs.map((program, i) => cpuMs(program.pid) - (before[i] ?? 0));
  match.idle.push({ ours: used[0] ?? Number.NaN, theirs: used[1] ?? null, seconds });
  options.say("idle with a poll each ten seconds");
}

export async function roundRows(options: BenchOptions): Promise<Outcome> {
  const match: Match = {
    backlog: [],
    fresh: [],
    unchanged: [],
    freshWritten: [],
    unchangedWritten: [],
    peakMb: [],
    idle: [],
    bytes: 0,
  };
  for (let pair = 1; pair <= options.pairs; pair++)
    await play(options, match, pair === options.pairs);
  const against = (
    target: string,
    what: string,
    limit: number,
    pairs: readonly { readonly ours: number; readonly theirs: number | null }[],
  ): Row[] => {
    const whole = pairs.flatMap(({ ours, theirs }) => (theirs === null ? [] : [{ ours, theirs }]));
    if (whole.length === 0) return [];
    const note = `${median(whole.map((p) => p.ours)).toFixed(0)} : ${median(whole.map((p) => p.theirs)).toFixed(0)}, ${whole.length} pairs`;
    return [{ target, what, measured: ratioOf(whole), limit, sense: "<=", note }];
  };
  const by = (field: "cpuMs" | "wallMs", works: Match["fresh"]) =>
    works.map(({ ours, theirs }) => ({ ours: ours[field], theirs: theirs?.[field] ?? null }));
  const sum = (values: readonly number[]) => values.reduce((a, b) => a + b, 0);
  const written = sum(match.freshWritten.map((round) => round.written));
  const payload = sum(match.freshWritten.map((round) => round.payload));
  const rows: Row[] = [
    ...against(
      "1",
      "CPU of a round with one new reading per sensor / Node-RED (ms)",
      0.35,
      by("cpuMs", match.fresh),
    ),
    ...against(
      "1b",
      "CPU of a round with nothing new / Node-RED (ms)",
      0.2,
      by("cpuMs", match.unchanged),
    ),
    {
      target: "5",
      what: "bytes written / payload byte, steady round, FULL",
      measured: written / payload,
      limit: 1.15,
      sense: "<=",
      note: `${(written / match.freshWritten.length / 1000).toFixed(0)} kB : ${(payload / match.freshWritten.length / 1000).toFixed(0)} kB a round, over ${match.freshWritten.length} rounds of whole checkpoint cycles`,
    },
    {
      target: "5b",
      what: "bytes written in a round with nothing new",
      measured: median(match.unchangedWritten),
      limit: 0,
      sense: "<=",
      digits: 0,
      unit: "B",
    },
    ...against("6", "a day's backlog: CPU / Node-RED (ms)", 0.5, by("cpuMs", match.backlog)),
    ...against("6b", "a day's backlog: wall / Node-RED (ms)", 0.5, by("wallMs", match.backlog)),
    ...against("7", "peak resident memory / Node-RED (MB)", 0.45, match.peakMb),
    ...against("10", "idle with a poll each 10 s: CPU / Node-RED (ms)", 0.15, match.idle),
  ];
  return { rows, raw: match };
}

/** Days read before the measured ones: by then both have compiled their code and grown their buffers. */
const WARM_DAYS = 3;

/** What a backfill of a month feels: whole days, one after the other, in processes that have read such days before. */
export async function steadyRows(options: BenchOptions): Promise<Outcome> {
  const days = WARM_DAYS + options.pairs;
  const plan = dayPlan(roundSensors(48, 2048), { pastDays: days });
  const pairs = await withPlant(options, plan, async (plant) => {
    const [readings, waveforms] = [plant.records / (days + 1), 5 * 48 * 3];
    const agent = await plant.agent();
    const red = options.noNodeRed === null ? await plant.nodeRed() : null;
    await sleep(2000);
    await plant.gateway.open();
    // The agent reads today by itself; Node-RED's flow takes days in order only.
    await round(plant, agent, readings, waveforms);
    const seen: { ours: number; theirs: number | null; cpu: number; bytes: number }[] = [];
    for (let back = days; back > 0; back--) {
      const day = new Date(MIDNIGHT_MS - back * DAY_MS).toISOString().slice(0, 10);
      const ours = await round(plant, agent, readings, waveforms, day);
      const theirs = red === null ? null : await round(plant, red, readings, waveforms, day);
      if (back > options.pairs) continue;
      const mb = ours.payloadBytes / 1e6;
      seen.push({
        ours: (readings / ours.wallMs) * 1000,
        theirs: theirs === null ? null : (readings / theirs.wallMs) * 1000,
        cpu: theirs === null ? Number.NaN : ours.cpuMs / theirs.cpuMs,
        bytes: (mb / ours.wallMs) * 1000,
      });
    }
    return seen;
  });
  const whole = pairs.flatMap(({ ours, theirs }) => (theirs === null ? [] : [{ ours, theirs }]));
  const note = `${median(whole.map((p) => p.ours)).toFixed(0)} : ${median(whole.map((p) => p.theirs)).toFixed(0)}, ${whole.length} days after ${WARM_DAYS}; ${median(pairs.map((p) => p.bytes)).toFixed(1)} MB of messages a second; CPU ${median(pairs.map((p) => p.cpu)).toFixed(2)} of Node-RED's`;
  return {
    raw: pairs,
    rows: [
      {
        target: "6s",
        what: "days read one after the other: readings a second / Node-RED's",
        measured: ratioOf(whole),
        limit: 3,
        sense: ">=",
        note,
      },
    ],
  };
}
