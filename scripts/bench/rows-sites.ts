/** Targets 13c and 13d: what a large site costs at its first start, and with its history stored. */
import { join } from "node:path";
import { append, readingOf } from "../../test/support/temp-database.ts";
import type { AgentProcess } from "./agent-process.ts";
import { fillDeliveredStore } from "./filled-store.ts";
import { cpuMs, median, sleep } from "./measure.ts";
import {
  type BenchOptions,
  dayPlan,
  MIDNIGHT_MS,
  type Outcome,
  type Row,
  small,
  withPlant,
} from "./plant.ts";

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
/** UTC under another name: the canned gateway's days, but offsets have to be looked up as in any zone. */
const ZONE = "Atlantic/Reykjavik";

/** CPU from listening until a subscriber has every sensor's readings of yesterday and today, ms. */
async function firstStart(options: BenchOptions, sensors: number): Promise<number> {
  // Half past midnight: the newest records are minutes old, so that no sensor counts as silent.
  const plan = dayPlan(small(sensors, 4), { pastDays: 1, clockMs: HOUR_MS / 2 });
  return withPlant(options, plan, async (plant) => {
    await plant.gateway.open();
    const env = { BACKFILL_DAYS: "1", GATEWAY_TIMEZONE: ZONE, BUFFER_MAX_MB: "8192" };
    const { program, counter } = await plant.agent(env);
    await counter.expect(plant.records, 0);
    counter.requireNoDoubles();
    return cpuMs(program.pid) - program.listeningCpuMs;
  });
}

/** Ten times as many sensors: quadratic work would be a hundred times as much. */
export async function firstStartRows(options: BenchOptions): Promise<Outcome> {
  const pairs: { few: number; many: number }[] = [];
  for (let pair = 0; pair < (options.isFull ? 3 : 1); pair++) {
    pairs.push({ few: await firstStart(options, 200), many: await firstStart(options, 2000) });
    options.say("first starts with 200 and 2,000 sensors");
  }
  const [few, many] = [median(pairs.map((pair) => pair.few)), median(pairs.map((p) => p.many))];
  return {
    raw: pairs,
    rows: [
      {
        target: "13c",
        what: "first start, 2,000 sensors / 200 sensors (CPU ms)",
        measured: median(pairs.map((pair) => pair.many / pair.few)),
        limit: 12,
        sense: "<=",
        note: `${many.toFixed(0)} : ${few.toFixed(0)}, from listening to the last of two days, ${pairs.length} pairs`,
      },
    ],
  };
}

const SENSORS = 2000;
/** The last of them have never sent anything; as many before these have been silent for days. */
const NEVER_SEEN = 500;
const SILENT = 500;
const READINGS_EACH = 481;
const SILENT_DAYS = 5;

/** A store of 721,500 delivered readings; returns how many. */
async function fillSite(dataDir: string): Promise<number> {
  const codes = small(SENSORS - NEVER_SEEN, 0).map(({ code }) => code);
  let count = 0;
  await fillDeliveredStore(dataDir, ["json"], async (store) => {
    for (let first = 0; first < READINGS_EACH; first += 24) {
      const hours = Array.from(
        { length: Math.min(24, READINGS_EACH - first) },
        (_, n) => READINGS_EACH - first - n,
      );
      for (let from = 0; from < codes.length; from += 250) {
        const answers = codes.slice(from, from + 250).map((code, index) => {
          const silentMs = from + index >= SENSORS - NEVER_SEEN - SILENT ? SILENT_DAYS * DAY_MS : 0;
          const readings = hours.map((hour) =>
            readingOf(code, MIDNIGHT_MS - silentMs - hour * HOUR_MS, {
              values: { rpm: 1480 + (hour % 7), battery: 3.58, module_temperature: 24.5 },
              units: { rpm: "rpm", battery: "V", module_temperature: "degC" },
            }),
          );
          return append(store, readings);
        });
        for (const stored of await Promise.all(answers)) count += stored;
      }
    }
  });
  return count;
}

async function cpuOf(agent: AgentProcess, work: () => Promise<unknown>): Promise<number> {
  const before = cpuMs(agent.pid);
  await work();
  return cpuMs(agent.pid) - before;
}

const text = async (answer: Promise<Response>) => (await answer).text();

/** Ten lists of all sensors at once, and the longest response time of /healthz in the meantime, ms. */
async function tenAtOnce(
  agent: AgentProcess,
  url: string,
): Promise<{ cpu: number; health: number }> {
  let health = 0;
  const cpu = await cpuOf(agent, async () => {
    let isOver = false;
    const lists = Promise.all(Array.from({ length: 10 }, () => text(fetch(url)))).finally(() => {
      isOver = true;
    });
    while (!isOver) {
      const askedAt = performance.now();
      const answer = await fetch(`${agent.address}/healthz`);
      await answer.text();
      if (answer.status !== 200) throw new Error(`/healthz answers ${answer.status}`);
      health = Math.max(health, performance.now() - askedAt);
      await sleep(20);
    }
    for (const list of await lists) {
      const { length } = (JSON.parse(list) as { sensors: unknown[] }).sensors;
      if (length !== SENSORS) throw new Error(`${length} sensors in the list`);
    }
  });
  return { cpu, health };
}

/** Twenty years of one unit, of every sensor. */
function askYears(agent: AgentProcess, signal: AbortSignal): Promise<Response> {
  return fetch(`${agent.address}/ApiWeb.svc/GetExtraValues`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({
      Token: "x",
      machinecode: -1,
      pointindex: -1,
      // rpm
      unit: 106,
      StartDate: "2007-01-01 00:00:00",
      EndDate: new Date(MIDNIGHT_MS).toISOString().slice(0, 19).replace("T", " "),
    }),
    signal,
  });
}

/** Duration and cost of the query, and what it still costs, beyond an idle agent, after its client has disconnected. */
async function years(agent: AgentProcess) {
  let outcome = "";
  const idle = await cpuOf(agent, () => sleep(5000));
  const askedAt = performance.now();
  const cpu = await cpuOf(agent, async () => {
    const answer = await text(askYears(agent, AbortSignal.timeout(300_000)));
    const status = /"StatusNumber":"?(\d+)/.exec(answer)?.[1] ?? "?";
    outcome = `status ${status}, ${(answer.length / 1e6).toFixed(0)} MB`;
  });
  const seconds = (performance.now() - askedAt) / 1000;
  const leaving = new AbortController();
  const left = askYears(agent, leaving.signal).then((answer) => answer.text());
  await Promise.race([left, sleep(1000)]);
  leaving.abort();
  await left.catch(() => {});
  await sleep(500);
  return { outcome, cpu, seconds, idle, after: await cpuOf(agent, () => sleep(5000)) };
}

export async function largeSiteRows(options: BenchOptions): Promise<Outcome> {
  const directory = join(options.directory, "large");
  const readings = await fillSite(join(directory, "data"));
  options.say(`a store of ${readings} readings`);
  // Days without records, so that reading them is not part of the measurement.
  const env = { BUFFER_MAX_MB: "8192", HISTORY_DAYS: "60", GATEWAY_TIMEZONE: ZONE };
  const start = async (sensors: number, dataOf?: string) =>
    withPlant(options, dayPlan(small(sensors, 0)), async (plant) => {
      const { program } = await plant.agent(env, dataOf);
      return program.listeningCpuMs;
    });
  const small10 = await start(10);
  const large = await withPlant(options, dayPlan(small(SENSORS, 0)), async (plant) => {
    const { program } = await plant.agent(env, directory);
    const first = cpuMs(program.pid);
    await plant.gateway.quiet();
    const url = `${program.address}/api/v1/sensors?limit=${SENSORS}`;
    const cold = await cpuOf(program, () => text(fetch(url)));
    const one = await cpuOf(program, () => text(fetch(url)));
    const ten = await tenAtOnce(program, url);
    return {
      listening: program.listeningCpuMs,
      first,
      cold,
      one,
      ten,
      years: options.isFull ? await years(program) : null,
    };
  });
  const { listening, cold, one, ten } = large;
  const row = { target: "13d", sense: "<=" } as const;
  const yearRows: Row[] =
    large.years === null
      ? []
      : [
          {
            ...row,
            what: "GetExtraValues over 20 years",
            measured: large.years.seconds,
            limit: 5,
            unit: "s",
            digits: 1,
            note: `${large.years.outcome}, CPU ${(large.years.cpu / 1000).toFixed(1)} s`,
          },
          {
            ...row,
            what: "CPU in the 5 s after the asker of that left, beyond that of 5 idle seconds",
            measured: large.years.after - large.years.idle,
            limit: 500,
            unit: "ms",
            digits: 0,
            note: `${large.years.after.toFixed(0)} - ${large.years.idle.toFixed(0)}`,
          },
        ];
  return {
    raw: { readings, small10, large },
    rows: [
      {
        ...row,
        what: `CPU until HTTP answers, 2,000 sensors and ${readings} readings / 10 and none (ms)`,
        measured: listening / small10,
        limit: 3,
        note: `${listening.toFixed(0)} : ${small10.toFixed(0)}`,
      },
      {
        ...row,
        what: "the list of 2,000 sensors, CPU",
        measured: one,
        limit: 1000,
        unit: "ms",
        digits: 0,
        note: `the first one ${cold.toFixed(0)} ms, ten at once ${ten.cpu.toFixed(0)} ms`,
      },
      {
        ...row,
        what: "/healthz while ten ask for that list, longest",
        measured: ten.health,
        limit: 1000,
        unit: "ms",
        digits: 0,
      },
      ...yearRows,
    ],
  };
}
