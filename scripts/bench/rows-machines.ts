/** Row 24: what the conditions of machines cost the whole agent: two agents at the same time over one gateway, with and without them. */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type AgentProcess, siteOf } from "./agent-process.ts";
import type { CannedSensor } from "./canned-gateway.ts";
import { cpuMs, sleep, until, writtenBytes } from "./measure.ts";
import {
  type BenchOptions,
  dayPlan,
  type Outcome,
  small,
  type Watched,
  waveform,
  withPlant,
} from "./plant.ts";

const SENSORS = 6;
const CADENCE_S = 60;
/** Few samples, so that the readings do not hide what the machines cost. */
const SAMPLES = 512;
const WINDOW_MS = 60_000;
const WARM_UP_MS = 120_000;

/** One speed and five vibration sensors each, in turns: those of a machine report at different times. */
const machineSensors = (machines: number): readonly CannedSensor[] => [
  ...small(machines, 0, CADENCE_S),
  ...waveform(machines * (SENSORS - 1), 0, SAMPLES, CADENCE_S),
];

function machineSite(sensors: readonly CannedSensor[], machines: number) {
  const site = siteOf(sensors);
  return {
    ...site,
    sensors: site.sensors.map((sensor, n) => ({
      ...sensor,
      location: {
        company: 1,
        area: 1,
        machine: n % machines,
        point: Math.floor(n / machines) + 1,
      },
    })),
    machines: Array.from({ length: machines }, (_, id) => {
      const signal = { sensor: site.sensors[id]?.code, kind: "rpm", value: "rpm" };
      return {
        id,
        name: `Pump ${id}`,
        running: { ...signal, above: 300 },
        speed: { sensor: signal.sensor },
        bearings: [{ point: 2, bpfo: 3.58, bpfi: 5.42, bsf: 2.36, ftf: 0.4 }],
      };
    }),
  };
}

export async function machineRows(options: BenchOptions): Promise<Outcome> {
  const machines = options.isQuick ? 60 : 300;
  const sensors = machineSensors(machines);
  return withPlant(options, dayPlan(sensors, { clockMs: null, lagMs: 400 }), async (plant) => {
    const directory = join(options.directory, "machines");
    mkdirSync(directory, { recursive: true });
    const siteFile = join(directory, "site.json");
    writeFileSync(siteFile, JSON.stringify(machineSite(sensors, machines)));
    await plant.gateway.open();
    await plant.gateway.beginCadence();
    const start = (name: string, isOn: boolean): Promise<Watched<AgentProcess>> =>
      plant.agent(
        {
          SITE_FILE: siteFile,
          POLL_INTERVAL_S: String(CADENCE_S),
          PUBLISH_WAVEFORMS: "never",
          MQTT_CLIENT_ID: name,
          MQTT_TOPIC_PREFIX: name,
          PUBLISH_MACHINES: String(isOn),
        },
        join(directory, name),
      );
    const [without, beside] = await Promise.all([start("without", false), start("with", true)]);
    const told = () => beside.counter.machines;
    await until("each machine was told", () => told() >= machines, 400_000);
    // What each machine was a month ago is looked up once, and then rarely.
    await sleep(WARM_UP_MS);
    const cpu = () => [cpuMs(beside.program.pid), cpuMs(without.program.pid)] as const;
    const bytes = () =>
      [writtenBytes(beside.program.pid), writtenBytes(without.program.pid)] as const;
    const pairs: { ours: number; theirs: number }[] = [];
    const [writtenFrom, toldFrom] = [bytes(), told()];
    const windows = 2 * options.pairs;
    for (let n = 0; n < windows; n++) {
      const from = cpu();
      await sleep(WINDOW_MS);
      const to = cpu();
      pairs.push({ ours: to[0] - from[0], theirs: to[1] - from[1] });
    }
    const writtenTo = bytes();
    const written = writtenTo.map((end, at) => end - (writtenFrom[at] ?? 0));
    for (const { counter } of [beside, without]) counter.requireNoDoubles();
    const sum = (of: (pair: (typeof pairs)[number]) => number) =>
      pairs.map(of).reduce((a, b) => a + b);
    const [ours, theirs] = [sum((pair) => pair.ours), sum((pair) => pair.theirs)];
    const each = (ms: number) => (ms / windows / (WINDOW_MS / 1000)).toFixed(0);
    const row = { target: "24", sense: "<=", digits: 3 } as const;
    return {
      raw: { pairs, written, told: told() - toldFrom },
      rows: [
        {
          ...row,
          what: `CPU of the agent with ${machines} machines of six sensors, a reading a minute each / without`,
          measured: ours / theirs,
          limit: 1.02,
          note: `${each(ours)} : ${each(theirs)} ms a second; ${pairs.map((pair) => (pair.ours / pair.theirs).toFixed(3)).join(", ")} in each minute; ${told() - toldFrom} messages about machines`,
        },
        {
          ...row,
          what: "bytes written, with / without",
          measured: (written[0] ?? 0) / (written[1] ?? 1),
          limit: 1.02,
          note: `${written.map((total) => (total / 1e6).toFixed(1)).join(" : ")} MB in ${windows} minutes`,
        },
      ],
    };
  });
}
