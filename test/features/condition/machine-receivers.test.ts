/** Machines as others read them: RabbitMQ and what a collector makes of it, and mbpoll. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { resolve } from "node:path";
import { test } from "node:test";
import { readUntil, startCollect } from "../../support/collecting.ts";
import { deadlineMs } from "../../support/deadline.ts";
import { programEnvironment } from "../../support/fake-time.ts";
import { skipWithoutMosquitto } from "../../support/mosquitto.ts";
import { type BuiltAgent, type Plant, skipWithoutBuild, startPlant } from "../../support/plant.ts";
import { openPostgres, skipWithoutPostgres } from "../../support/postgres.ts";
import { openRabbitmq, skipWithoutRabbitmq } from "../../support/rabbitmq.ts";
import { until } from "../../support/wait-until.ts";

const CONDITIONS = ["alarm", "warning", "watch", "unknown", "standing", "ok"];

interface Machine {
  readonly id: number | null;
  readonly name: string | null;
  readonly condition: string;
  readonly zone: string | null;
  readonly stage: number | null;
  readonly running: boolean | null;
  readonly alarmCount: { readonly alarm: number; readonly warning: number };
}

async function machinesOf(agent: BuiltAgent): Promise<readonly Machine[]> {
  const response = await fetch(`${await agent.address}/api/v1/machines?sort=worst`);
  const { machines } = (await response.json()) as { machines: readonly Machine[] };
  return machines.filter(({ id }) => id !== null);
}

test("machine receivers – over RabbitMQ each machine stands in the fleet's database as the box says it", {
  skip: skipWithoutBuild || skipWithoutMosquitto || skipWithoutRabbitmq || skipWithoutPostgres,
  timeout: deadlineMs(240_000),
}, async (t) => {
  const [postgres, rabbit] = await Promise.all([openPostgres(), openRabbitmq()]);
  t.after(async () => {
    postgres.close();
    await rabbit.close();
  });
  const url = await postgres.createDatabase("machines");
  const collect = startCollect(rabbit.amqpUrl, url);
  t.after(() => void collect.child.kill("SIGKILL"));
  await collect.logged("connected", 60_000);
  const plant = await startPlant(t, { simulator: { sensors: 14 }, site: "plant-1" });
  const agent = plant.startAgent({
    MQTT_URL: rabbit.mqttUrl,
    MQTT_VERSION: "4",
    PUBLISH_MACHINES: "true",
  });
  const shown = await machinesOf(agent);
  assert.ok(shown.length > 1);
  const now = () =>
    postgres.query<Machine & { machine: number }>(
      url,
      "SELECT site, machine::integer, name, condition, zone, stage, running FROM machine_now ORDER BY machine",
    );
  // What was last said agrees with the page, within the pace of the topic.
  await readUntil(
    async () => {
      const [rows, machines] = [await now(), await machinesOf(agent)];
      return machines.every(({ id, name, condition, zone, stage }) =>
        rows.some(
          (row) =>
            row.machine === id &&
            row.name === name &&
            row.condition === condition &&
            row.zone === zone &&
            row.stage === stage,
        ),
      );
    },
    (isSame) => isSame,
    90_000,
  );
  await agent.stop();
  // Of a box that is offline nothing is known.
  await readUntil(now, (rows) => rows.every(({ condition }) => condition === "unknown"), 60_000);
  assert.equal(await collect.end(), 0);
});

const hasMbpoll = spawnSync("mbpoll", ["-V"]).error === undefined;

test("machine receivers – mbpoll reads condition, zone, stage, running and open alarms where the map says they are", {
  skip: skipWithoutBuild || skipWithoutMosquitto || (!hasMbpoll && "mbpoll is not installed"),
  timeout: deadlineMs(120_000),
}, async (t) => {
  const plant = await startPlant(t, {
    simulator: { sensors: 14 },
    env: { MODBUS_PORT: "0", PUBLISH_MACHINES: "true" },
  });
  const agent = plant.startAgent();
  const line = await until("the Modbus server", () =>
    agent.log.find(({ msg }) => msg === "modbus listening"),
  );
  const port = String(line["address"]).split(":").at(-1) ?? "";
  const addresses = conditionAddresses(plant);
  for (const { id } of await machinesOf(agent)) {
    const address = addresses.get(`${id}`) ?? "";
    assert.match(address, /^\d+$/);
    const words = await until(`machine ${id}`, async () => {
      const [read, shown] = [
        registers(port, address),
        (await machinesOf(agent)).find((machine) => machine.id === id),
      ];
      const { condition = "", zone, stage, running = null, alarmCount } = shown ?? {};
      const expected = [
        CONDITIONS.indexOf(condition) + 1,
        zone ? "ABCD".indexOf(zone) + 1 : 0,
        stage ?? 0,
        running === null ? 2 : Number(running),
        (alarmCount?.alarm ?? 0) + (alarmCount?.warning ?? 0),
      ];
      return expected.every((word, at) => read[at] === word) ? read : undefined;
    });
    assert.deepEqual(words.slice(6), [0, 0]);
  }
  await agent.stop();
});

/** Of each machine's first register, by its id. */
function conditionAddresses(plant: Plant): Map<string, string> {
  const { stdout, stderr } = spawnSync(
    process.execPath,
    [resolve("dist/gateside.js"), "modbus-map", "--format", "csv"],
    { env: { ...programEnvironment(), ...plant.env }, encoding: "utf8" },
  );
  const [head = "", ...rows] = stdout.trim().split("\n");
  assert.equal(head.split(",").at(-1), "machine", stderr);
  return new Map(
    rows.flatMap((row) => {
      const cells = row.split(",");
      return cells.includes("condition") ? [[cells.at(-1) ?? "", cells[0] ?? ""] as const] : [];
    }),
  );
}

/** The eight of a machine. */
function registers(port: string, address: string): number[] {
  const options = ["-m", "tcp", "-p", port, "-0", "-B", "-1", "-r", address, "-c", "8", "-t", "4"];
  const { stdout, stderr } = spawnSync("mbpoll", [...options, "127.0.0.1"], { encoding: "utf8" });
  const words = [...stdout.matchAll(/^\[\d+\]:\s+(\d+)/gm)].map(([, word]) => Number(word));
  assert.equal(words.length, 8, `${stdout}${stderr}`);
  return words;
}
