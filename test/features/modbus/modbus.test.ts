/** The agent's registers as a PLC reads them: by mbpoll, another program on another library, with the map that the command prints. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { resolve } from "node:path";
import { describe, it } from "node:test";
import { deadlineMs } from "../../support/deadline.ts";
import { programEnvironment } from "../../support/fake-time.ts";
import { skipWithoutMosquitto } from "../../support/mosquitto.ts";
import { type BuiltAgent, type Plant, skipWithoutBuild, startPlant } from "../../support/plant.ts";
import { until } from "../../support/wait-until.ts";

const hasMbpoll = spawnSync("mbpoll", ["-V"]).error === undefined;
const skip = skipWithoutBuild || skipWithoutMosquitto || (!hasMbpoll && "mbpoll is not installed");
/** mbpoll asks for at most so many values of two registers at once. */
const FLOATS_MAX = 62;
const SENSORS = 50;

interface MapRow {
  readonly address: number;
  readonly type: string;
  readonly sensor: string;
  readonly kind: string;
  readonly value: string;
}

function mapOf(plant: Plant): MapRow[] {
  const { stdout, stderr, status } = spawnSync(
    process.execPath,
    [resolve("dist/gateside.js"), "modbus-map", "--format", "csv"],
    { env: { ...programEnvironment(), ...plant.env }, encoding: "utf8" },
  );
  assert.equal(status, 0, stderr);
  return stdout
    .trim()
    .split("\n")
    .slice(1)
    .map((line) => {
      const [address, , , , type = "", sensor = "", , kind = "", value = ""] = line.split(",");
      return { address: Number(address), type, sensor, kind, value };
    });
}

/** Values by address, as mbpoll prints them: `[12]: \t1480.5`. */
function poll(
  port: number,
  type: "4" | "4:float" | "3",
  address: number,
  count: number,
): Map<number, string> {
  const args = [
    "-m",
    "tcp",
    "-p",
    String(port),
    "-0",
    "-B",
    "-1",
    "-r",
    String(address),
    "-c",
    String(count),
    "-t",
    type,
    // A second is not enough on a busy machine.
    "-o",
    "10",
    "127.0.0.1",
  ];
  const { stdout, stderr } = spawnSync("mbpoll", args, { encoding: "utf8" });
  const found = [...stdout.matchAll(/^\[(\d+)\]:\s+(\S+)/gm)];
  assert.equal(found.length, count, `${stdout}${stderr}`);
  return new Map(found.map(([, place, value]) => [Number(place), value ?? ""]));
}

/** Every register of the map as unsigned words. */
function pollAll(port: number, end: number, type: "4" | "3"): Map<number, number> {
  const words = new Map<number, number>();
  for (let from = 0; from < end; from += 2 * FLOATS_MAX) {
    const count = Math.min(2 * FLOATS_MAX, end - from);
    for (const [address, value] of poll(port, type, from, count))
      words.set(address, Number(value) & 0xffff);
  }
  return words;
}

const floatAt = (words: ReadonlyMap<number, number>, address: number) => {
  const view = new DataView(new ArrayBuffer(4));
  view.setUint16(0, words.get(address) ?? 0);
  view.setUint16(2, words.get(address + 1) ?? 0);
  return view.getFloat32(0);
};
const asNumber = (value: unknown): number => {
  if (typeof value === "number") return Math.fround(value);
  if (typeof value === "boolean") return value ? 1 : 0;
  if (typeof value === "string") return "ABCD".indexOf(value) + 1;
  return Number.NaN;
};

interface Newest {
  readonly timeMs: number;
  readonly values: Readonly<Record<string, unknown>>;
  readonly quality: Readonly<Record<string, { readonly quality: string }>>;
}

async function newestOf(
  agent: BuiltAgent,
  sensor: string,
  kind: string,
): Promise<Newest | undefined> {
  const url = `${await agent.address}/api/v1/readings?sensor=${sensor}&kind=${kind}&limit=1`;
  const answer = (await (await fetch(url)).json()) as { readings: Newest[] };
  return answer.readings.at(-1);
}

async function modbusPort(agent: BuiltAgent): Promise<number> {
  const line = await until("the Modbus server", () =>
    agent.log.find(({ msg }) => msg === "modbus listening"),
  );
  return Number(String(line["address"]).split(":").at(-1));
}

describe("the agent's Modbus server", { skip, timeout: deadlineMs(120_000) }, () => {
  it("holds every value, quality and age of 50 sensors, the same by functions 3 and 4", async (t) => {
    const plant = await startPlant(t, {
      simulator: { sensors: SENSORS, historyDays: 0.2 },
      env: { MODBUS_PORT: "0", POLL_INTERVAL_S: "3600" },
    });
    const agent = plant.startAgent();
    const port = await modbusPort(agent);
    const map = mapOf(plant);
    const end = Math.max(...map.map(({ address }) => address)) + 2;
    const sensors = new Set(map.map(({ sensor }) => sensor).filter((code) => code !== ""));
    assert.equal(sensors.size, SENSORS);
    const values = map.filter(({ type, kind }) => type === "float32" && kind !== "");
    // Every stream has been read once its float, or the store's answer, is there.
    await until("all readings", async () => {
      const answer = await (await fetch(`${await agent.address}/api/v1/status`)).json();
      const { buffer, sensors: states } = answer as {
        buffer: { readings: number };
        sensors: { kinds: { lastReadAtMs: number | null }[] }[];
      };
      const isRead = states.every(({ kinds }) =>
        kinds.every(({ lastReadAtMs }) => lastReadAtMs !== null),
      );
      return (isRead && buffer.readings > 0) || undefined;
    });
    // From here on nothing new comes, so that the registers and the stored readings can be compared one by one.
    await plant.simulator.close();
    const holding = pollAll(port, end, "4");
    const askedAt = Date.now();
    const input = pollAll(port, end, "3");
    for (const { address, sensor, kind, value } of values) {
      const newest = await newestOf(agent, sensor, kind);
      const place = `${sensor} ${kind} ${value} at ${address}`;
      const number = floatAt(holding, address);
      assert.equal(Object.is(number, floatAt(input, address)), true, place);
      const status = holding.get(address + 2) ?? 0;
      const expected = asNumber(newest?.values[value]);
      if (Number.isNaN(expected)) {
        assert.ok(Number.isNaN(number), place);
        assert.equal(status >> 14, 2, place);
      } else {
        assert.equal(number, expected, place);
        const doubt = newest?.quality[value]?.quality;
        const isStale = status >> 14 === 3;
        if (!isStale) assert.equal(status >> 14, doubt === "uncertain" ? 1 : 0, place);
        const ageS = Math.min(16_383, Math.floor((askedAt - (newest?.timeMs ?? 0)) / 1000));
        assert.ok(
          Math.abs((status & 16_383) - ageS) <= 20,
          `${place}: ${status & 16_383} s, not ${ageS} s`,
        );
      }
    }
    const [row] = values;
    assert.ok(row);
    const [printed] = poll(port, "4:float", row.address, 1).values();
    // mbpoll prints six significant digits, however they round to fewer.
    assert.equal(Number(printed), Number(floatAt(holding, row.address).toPrecision(6)));
  });

  it("reports stale once a sensor has missed three intervals, and keeps addresses when the site file changes", async (t) => {
    const plant = await startPlant(t, {
      simulator: { sensors: 3, historyDays: 0.01, cadenceS: { rpm: 3, loop: 3, currentV2: 3 } },
      env: { MODBUS_PORT: "0" },
    });
    const before = mapOf(plant);
    const agent = plant.startAgent();
    const port = await modbusPort(agent);
    const row = before.find(
      ({ kind, type }) => kind !== "" && kind !== "accel" && type === "float32",
    );
    assert.ok(row);
    const quality = () =>
      (Number(poll(port, "4", row.address + 2, 1).get(row.address + 2)) & 0xffff) >> 14;
    await until("a live value", () => quality() < 2 || undefined);
    await plant.simulator.close();
    await until("a stale one", () => quality() === 3 || undefined, 90_000);
    await agent.stop();

    const site = JSON.parse(readFileSync(plant.siteFile, "utf8")) as { sensors: object[] };
    const [first, ...others] = site.sensors;
    writeFileSync(
      plant.siteFile,
      JSON.stringify({ ...site, sensors: [...others, { ...first, code: "999" }] }),
    );
    const after = mapOf(plant);
    for (const { address, sensor, kind, value } of before) {
      const now = after.find((one) => one.address === address);
      assert.deepEqual([now?.sensor, now?.kind, now?.value], [sensor, kind, value]);
    }
    assert.ok(after.some(({ sensor }) => sensor === "999"));
  });
});
