/**
 * Boxes without a gateway, a store or a process of their own: records of a simulated plant, made into readings and encoded with the agent's own
 * encoder. What reaches the broker is what an agent would have sent.
 */
import { createHash } from "node:crypto";
import type { Message } from "../../src/core/message.ts";
import type { Site } from "../../src/core/site.ts";
import { fixedSite } from "../../src/core/site-source.ts";
import type { StoredReading } from "../../src/core/stored-reading.ts";
import { createJsonEncoder } from "../../src/pipeline/publish/formats/json.ts";
import { startSimulator } from "../../src/simulator/server.ts";
import { expectedReading } from "../../test/support/expected-reading.ts";

type Template = Omit<StoredReading, "id" | "timeMs" | "seq" | "storedAtMs">;

/** Readings of one plant as the store keeps them. Every box repeats them with its own times, ids and site. */
export interface PlantTemplates {
  readonly siteFile: Site;
  /** By sensor and kind, several records of each. */
  readonly streams: readonly (readonly Template[])[];
}

const DAY_MS = 86_400_000;
/** Records of a type of sensor: its values change from reading to reading. Sensors of one type share them, because computing one takes long. */
const RECORDS_MAX = 4;

export async function plantTemplates(sensors: number): Promise<PlantTemplates> {
  const simulator = await startSimulator({ sensors, seed: 7, zone: "UTC", historyDays: 2 });
  try {
    const siteFile = simulator.siteFile("plant");
    const nowMs = simulator.clock.now();
    const byType = new Map<string, Template[]>();
    const streams: Template[][] = [];
    for (const { code, kinds, type } of simulator.plant.sensors) {
      const sensor = siteFile.sensors.find((entry) => entry.code === code);
      if (sensor === undefined) continue;
      for (const kind of kinds) {
        const key = `${type} ${kind}`;
        const known = byType.get(key);
        if (known !== undefined) {
          streams.push(known.map((template) => ({ ...template, sensor: code })));
          continue;
        }
        const records = simulator.truth(code, kind, nowMs - DAY_MS, nowMs).slice(-RECORDS_MAX);
        const templates = records.map(({ record }): Template => {
          const { values, units, quality, attributes } = expectedReading(sensor, kind, record);
          return {
            sensor: code,
            kind,
            offsetMinutes: 0,
            values: JSON.stringify(values),
            units: JSON.stringify(units),
            quality: JSON.stringify(quality),
            attributes: JSON.stringify(attributes),
            raw: "{}",
            waveforms: [],
          };
        });
        if (templates.length === 0) continue;
        byType.set(key, templates);
        streams.push(templates);
      }
    }
    return { siteFile, streams };
  } finally {
    await simulator.close();
  }
}

export interface ThinBox {
  readonly site: string;
  /** The next reading, taking the streams in turn. */
  next(timeMs: number): { readonly id: string; readonly message: Message };
}

/** `run` makes the ids of each run different. */
export function createThinBox(plant: PlantTemplates, site: string, run: string): ThinBox {
  const encode = createJsonEncoder({
    prefix: "gateside",
    site,
    source: fixedSite(plant.siteFile),
    withRaw: false,
  });
  let count = 0;
  return {
    site,
    next(timeMs) {
      const stream = plant.streams[count % plant.streams.length] ?? [];
      const template = stream[Math.floor(count / plant.streams.length) % stream.length];
      if (template === undefined) throw new Error("the plant has no readings");
      const id = createHash("md5").update(`${run} ${site} ${count}`).digest("hex");
      count += 1;
      const reading = { ...template, id, timeMs, seq: count, storedAtMs: timeMs };
      const [message] = encode({ reading, live: true });
      if (message === undefined) throw new Error("the encoder has made no message");
      return { id, message };
    },
  };
}
