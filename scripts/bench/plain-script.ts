/**
 * What somebody writes instead of an agent, in a process of its own: polls each sensor's day at a fixed pace, publishes each record that it has not
 * seen at QoS 1, and remembers it once it is acknowledged. No file, no units, no quality, no backlog; a restart sends the day again. Rows 1s and 10s.
 */
import mqtt from "mqtt";
import { Pool } from "undici";

const [, , url = "", broker = "", codes = "", day = "", periodMs = "10000"] = process.argv;
const CONCURRENCY = 2;
const pool = new Pool(url, { connections: CONCURRENCY });
const client = await mqtt.connectAsync(broker);
const seen = new Map<string, Set<string>>();

type DayResponse = readonly { readonly Value?: readonly Readonly<Record<string, unknown>>[] }[];

async function poll(code: string): Promise<void> {
  const { body } = await pool.request({
    path: "/SensorService/getRPMData",
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ sensorCode: code, date: day }),
  });
  const known = seen.get(code) ?? new Set();
  seen.set(code, known);
  const [{ Value: records = [] } = {}] = (await body.json()) as DayResponse;
  await Promise.all(
    records.map(async (record) => {
      const id = `${code} ${String(record["time_data"])}`;
      if (known.has(id)) return;
      const payload = JSON.stringify({ id, ...record });
      await client.publishAsync(`script/plant/${code}/rpm`, payload, { qos: 1 });
      known.add(id);
    }),
  );
}

async function round(): Promise<void> {
  const waiting = codes.split(",");
  const worker = async (): Promise<void> => {
    for (let code = waiting.shift(); code !== undefined; code = waiting.shift())
      await poll(code).catch((error: unknown) => console.error(code, error));
  };
  await Promise.all(Array.from({ length: CONCURRENCY }, worker));
}

let underWay: Promise<void> | null = null;
/** A round that takes longer than the period is not joined by another. */
const begin = () => {
  underWay ??= round().finally(() => {
    underWay = null;
  });
};
begin();
setInterval(begin, Number(periodMs));
