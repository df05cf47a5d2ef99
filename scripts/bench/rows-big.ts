/** Target 3 and the second half of 7: the big round, 144 waveform records of 3 x 4096 for each of five sensors. */
import { cpuMs, median, ownCpuMs, ratioOf, residentMb, sleep } from "./measure.ts";
import {
  type BenchOptions,
  DAY,
  dayPlan,
  type Outcome,
  roundSensors,
  SETTLED_MS,
  withPlant,
} from "./plant.ts";

/** Rounds in one figure, so that the fixed cost of asking for them is spread. */
const ROUNDS = 4;

async function bodies(url: string, sensors: ReturnType<typeof roundSensors>): Promise<Buffer[]> {
  const answers: Buffer[] = [];
  for (const { code, kind } of sensors) {
    const operation = kind === "accel" ? "getAccelData" : "getRPMData";
    const body = JSON.stringify({ sensorType: 3, sensorCode: code, date: DAY });
    const answer = await fetch(`${url}/SensorService.svc/${operation}`, { method: "POST", body });
    answers.push(Buffer.from(await answer.arrayBuffer()));
  }
  return answers;
}

export async function bigRows(options: BenchOptions): Promise<Outcome> {
  const pairs: { ours: number; theirs: number }[] = [];
  const peaks = { big: [] as number[], round: [] as number[] };
  let bytes = 0;
  const peakTimes = options.isQuick ? 1 : 3;
  for (let n = 0; n < peakTimes; n++) {
    await withPlant(options, dayPlan(roundSensors(48, 2048)), async (plant) => {
      const { program, counter } = await plant.agent();
      await plant.gateway.open();
      await program.round(DAY);
      await counter.expect(plant.records, 720);
      for (let i = 0; i < 3; i++) {
        await sleep(SETTLED_MS);
        await program.round(DAY);
      }
      await sleep(SETTLED_MS);
      peaks.round.push(residentMb(program.pid).peak);
    });
    const sensors = roundSensors(144, 4096);
    await withPlant(options, dayPlan(sensors), async (plant) => {
      bytes = plant.bytes;
      const { program, counter } = await plant.agent();
      await plant.gateway.open();
      await program.round(DAY);
      await counter.expect(plant.records, 5 * 144 * 3);
      await sleep(SETTLED_MS);
      counter.requireNoDoubles();
      options.say("big round stored");
      const known = n === 0 ? await bodies(plant.gateway.url, sensors) : [];
      for (let pair = 0; known.length > 0 && pair < Math.max(5, options.pairs); pair++) {
        const { answered } = await plant.gateway.report();
        const cpu = cpuMs(program.pid);
        for (let i = 0; i < ROUNDS; i++) {
          await program.round(DAY);
          await plant.gateway.served(answered, (i + 1) * sensors.length);
          await sleep(50);
        }
        const ours = (cpuMs(program.pid) - cpu) / ROUNDS;
        const theirs = ownCpuMs(() => {
          for (const body of known) JSON.parse(body.toString());
        });
        pairs.push({ ours, theirs });
      }
      peaks.big.push(residentMb(program.pid).peak);
    });
  }
  return {
    raw: { pairs, peaks, bytes },
    rows: [
      {
        target: "3",
        what: "re-poll of an unchanged big round with HTTP / JSON.parse of its bodies (CPU ms)",
        measured: ratioOf(pairs),
        limit: 0.36,
        sense: "<=",
        note: `${median(pairs.map((p) => p.ours)).toFixed(0)} : ${median(pairs.map((p) => p.theirs)).toFixed(0)}, ${(bytes / 1e6).toFixed(1)} MB`,
      },
      {
        target: "7b",
        what: "peak resident memory, big round / round (MB)",
        measured: median(peaks.big) / median(peaks.round),
        limit: 1.2,
        sense: "<=",
        note: `${median(peaks.big).toFixed(0)} : ${median(peaks.round).toFixed(0)}`,
      },
    ],
  };
}
