import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import type { SensorState } from "../../src/core/agent-status.ts";
import { sensorBands } from "../../src/core/bands/definition.ts";
import type { MachineFindings } from "../../src/core/diagnosis/shown.ts";
import type { Kind, Sensor } from "../../src/core/sensor.ts";
import type { Site } from "../../src/core/site.ts";
import { fixedSite } from "../../src/core/site-source.ts";
import { DAY_MS } from "../../src/core/time-units.ts";
import { valueMount } from "../../src/core/value-mount.ts";
import { MachineConditions } from "../../src/features/condition/machine-conditions.ts";
import type { HttpParts } from "../../src/http/parts.ts";
import { createApp } from "../../src/http/server.ts";
import { historyPages } from "../../src/pipeline/store/readings/history-pages.ts";
import { alarmParts } from "../support/alarm-parts.ts";
import { hasFeature, partsWithFeatures } from "../support/features.ts";
import { agentStatus, NOW, OPTIONS, testParts } from "../support/http-parts.ts";
import { openAlarms } from "../support/open-alarms.ts";
import { append, readingOf } from "../support/temp-database.ts";

const at = (machine: number, name?: string): Pick<Sensor, "location"> => ({
  location: {
    company: 1,
    area: 2,
    machine,
    point: 1,
    names: { area: "Boiler house", ...(name !== undefined && { machine: name }) },
  },
});
const SITE: Site = {
  site: "plant-7",
  sensors: [
    {
      code: "1",
      type: 3,
      kinds: ["accel"],
      channels: {},
      machineClass: "group2-rigid",
      ...at(40, "Old name"),
    },
    {
      code: "2",
      type: 3,
      kinds: ["accel"],
      channels: {},
      machineClass: "group2-rigid",
      ...at(41, "Fan 2"),
    },
    { code: "3", type: 6, kinds: ["rpm"], channels: {} },
    { code: "4", type: 6, kinds: ["rpm"], channels: {}, name: "Tank" },
  ],
  machines: [
    {
      id: 40,
      name: "Pump 10",
      running: { sensor: "3", kind: "rpm", value: "rpm", above: 300 },
    },
    { id: 99, name: "Planned" },
  ],
  alarms: [{ name: "speed", select: { sensors: ["4"] }, high: 3000 }],
};
const MINUTE = 60_000;

interface Entry {
  readonly id: number | null;
  readonly sensor: string | null;
  readonly name: string | null;
  readonly condition: string;
  readonly order: number;
  readonly reason: string;
  readonly unknown: string | null;
  readonly state: string | null;
  readonly since: string | null;
  readonly sinceAtLeast: boolean;
  readonly acknowledged: boolean;
  readonly zone: string | null;
  readonly changed: {
    readonly now: number;
    readonly before: number;
    readonly against: string;
  } | null;
  readonly zoneSince: string | null;
  readonly marks: readonly { readonly mark: string }[];
  readonly alarms: readonly { readonly id: string }[];
  readonly running: boolean | null;
  readonly alarmCount: { readonly alarm: number; readonly warning: number };
  readonly activeFindings: readonly object[];
}

/** A box whose sensors were all read a minute ago. */
async function box(
  t: TestContext,
  hasAlarms = true,
  dayMedians: HttpParts["dayMedians"] = { changes: 0, of: () => [] },
  site = SITE,
) {
  const opened = openAlarms(t, site, NOW);
  const { alarms, store } = opened;
  const parts = testParts({
    site: fixedSite(site),
    gatewayNow: () => NOW,
    dayMedians,
  });
  const states = new Map(site.sensors.map(({ code, kinds }) => [code, stateOf(code, kinds[0])]));
  const setState = (code: string, change: Partial<SensorState>) => {
    const known = states.get(code);
    assert.ok(known);
    states.set(code, { ...known, ...change });
    parts.setStatus(agentStatus({ sensors: [...states.values()] }));
  };
  setState("1", {});
  const shown = await partsWithFeatures(
    { ...parts, history: historyPages(store.history) },
    { ALARMS_ENABLED: `${hasAlarms}` },
    store,
  );
  const judged = hasAlarms
    ? { alarms: alarms.actions, findings: alarms.findingViews }
    : { alarms: null, findings: null };
  const conditions = new MachineConditions({
    ...shown,
    ...judged,
    timezone: "UTC",
    machineSignals: alarms.wait,
    sensors: () => parts.status.status().sensors,
    outlook: (id) => shown.outlooks?.valuesOf(id) ?? [],
  });
  const app = createApp(
    { ...shown, ...alarmParts({ ...judged, conditions, site: shown.site }, () => NOW) },
    OPTIONS,
  );
  t.after(() => app.close());
  const read = async (
    sensor: string,
    kind: Kind,
    minutesAgo: number,
    values: Record<string, unknown>,
  ) => {
    const reading = readingOf(sensor, NOW - minutesAgo * MINUTE, {
      kind,
      values: values as never,
      units: kind === "accel" ? { channel1_vel_rms: "mm/s" } : {},
    });
    await append(store, [reading]);
    conditions.stored(reading);
  };
  const headers = { host: "localhost" };
  const list = async () => {
    const answer = await app.inject({ url: "/api/v1/machines?sort=worst", headers });
    assert.equal(answer.statusCode, 200, answer.body);
    return (answer.json() as { machines: Entry[] }).machines;
  };
  const findings = (id: number) => app.inject({ url: `/api/v1/machines/${id}/findings`, headers });
  const act = async (id: string, word: string, payload: object) => {
    const url = `/api/v1/alarms/${id}/${word}`;
    const answer = await app.inject({ method: "POST", url, headers, payload });
    assert.equal(answer.statusCode, 200, answer.body);
  };
  return { read, list, findings, setState, act };
}

const stateOf = (code: string, kind: Kind | undefined): SensorState => ({
  code,
  state: "online",
  lastReadingMs: NOW - MINUTE,
  batteryV: null,
  kinds: [
    {
      kind: kind ?? "rpm",
      lastReadingMs: NOW - MINUTE,
      cadenceS: 60,
      lastReadAtMs: NOW,
      lastError: null,
      isSilent: false,
    },
  ],
});
const zone = (letter: string, mmS: number) => ({
  channel1_vel_rms: mmS,
  channel1_zone: letter,
});
const short = (entries: readonly Entry[]) =>
  entries.map(({ id, sensor, condition, order }) => [order, id ?? sensor, condition]);

test("machines – worst first: machines of the site file and of locations, and sensors without one that have an open alarm", async (t) => {
  const { read, list, act } = await box(t);
  await read("1", "accel", 1, zone("A", 0.5));
  await read("2", "accel", 1, zone("D", 9));
  await read("3", "rpm", 1, { rpm: 1480 });
  await read("4", "rpm", 1, { rpm: 1480 });
  assert.deepEqual(short(await list()), [
    [1, 41, "alarm"],
    [2, 99, "unknown"],
    [3, 40, "ok"],
  ]);
  await read("4", "rpm", 0, { rpm: 3100 });
  const entries = await list();
  assert.deepEqual(short(entries).slice(0, 2), [
    [1, 41, "alarm"],
    [2, "4", "warning"],
  ]);
  const [fan, tank, planned, pump] = entries;
  assert.equal(fan?.name, "Fan 2");
  assert.match(fan.reason, /zone D/);
  assert.equal(fan.since, new Date(NOW - MINUTE).toISOString());
  assert.deepEqual([tank?.id, tank?.name], [null, "Tank"]);
  assert.equal(planned?.unknown, "no_sensor");
  assert.deepEqual([pump?.name, pump?.state, pump?.zone], ["Pump 10", "running", "A"]);

  const id = fan.alarms[0]?.id ?? "";
  await act(id, "acknowledge", { by: "anna", note: "bearing ordered" });
  const [known] = await list();
  assert.deepEqual([known?.condition, known?.acknowledged], ["alarm", true]);
  assert.deepEqual([known?.alarmCount, known?.running], [{ alarm: 1, warning: 0 }, null]);
  assert.deepEqual([pump?.running, pump?.activeFindings], [true, []]);
  await act(id, "shelve", { by: "anna", minutes: 60 });
  const shelved = (await list()).find((entry) => entry.id === 41);
  assert.equal(shelved?.condition, "ok");
  assert.deepEqual(
    shelved.marks.map(({ mark }) => mark),
    ["shelved"],
  );
  assert.deepEqual(shelved.alarmCount, { alarm: 0, warning: 0 });
});

test("machines – one that only a location names has no findings and says why; an unknown one is 404", async (t) => {
  const { findings } = await box(t);
  const answer = await findings(41);
  assert.equal(answer.statusCode, 200, answer.body);
  const found = answer.json() as MachineFindings;
  assert.deepEqual([found.machine.id, found.machine.name], [41, "Fan 2"]);
  assert.deepEqual([found.machine.sensors, found.findings], [["2"], []]);
  const [checked] = found.checked;
  assert.deepEqual(
    [checked?.sensor, checked?.cannotTell.map(({ reason }) => reason)],
    ["2", ["speed_unknown"]],
  );
  assert.equal((await findings(42)).statusCode, 404);
});

test("machines – standing says since when; what storage no longer knows is at least since", async (t) => {
  const { read, list } = await box(t);
  const pump = async () => (await list()).find(({ id }) => id === 40);
  await read("3", "rpm", 5, { rpm: 0 });
  await read("3", "rpm", 4, { rpm: 0 });
  await read("1", "accel", 5, zone("B", 2));
  const since = (minutes: number) => new Date(NOW - minutes * MINUTE).toISOString();
  const first = await pump();
  assert.deepEqual([first?.condition, first?.state], ["standing", "standing"]);
  assert.deepEqual([first?.since, first?.sinceAtLeast], [since(5), true]);
  await read("3", "rpm", 3, { rpm: 1480 });
  await read("3", "rpm", 2, { rpm: 0 });
  await read("3", "rpm", 1, { rpm: 0 });
  const second = await pump();
  assert.deepEqual([second?.since, second?.sinceAtLeast], [since(2), false]);
  const third = await pump();
  assert.deepEqual([third?.since, third?.sinceAtLeast], [since(2), false], "kept");
});

test("machines – since when a machine stands goes on over a replaced sensor of its running signal", async (t) => {
  const sensors = SITE.sensors.filter(({ code }) => code !== "3");
  const fitted: Sensor = { code: "33", type: 6, kinds: ["rpm"], channels: {}, replaces: ["3"] };
  const { read, list } = await box(t, true, undefined, { ...SITE, sensors: [...sensors, fitted] });
  const standing = async () => {
    const pump = (await list()).find(({ id }) => id === 40);
    return [pump?.state, pump?.since, pump?.sinceAtLeast];
  };
  const since = (minutes: number) => new Date(NOW - minutes * MINUTE).toISOString();
  await read("3", "rpm", 9, { rpm: 1480 });
  await read("3", "rpm", 8, { rpm: 0 });
  await read("33", "rpm", 5, { rpm: 0 });
  assert.deepEqual(await standing(), ["standing", since(8), false]);
  await read("33", "rpm", 3, { rpm: 1480 });
  await read("33", "rpm", 1, { rpm: 0 });
  assert.deepEqual(await standing(), ["standing", since(1), false]);
});

test("machines – what changed is told of the band whose alarm is the worst", async (t) => {
  const location = at(41, "Fan 2");
  const machine = {
    id: 41,
    bands: { custom: [{ name: "hf", from: 900, to: 1100, unit: "Hz", of: "accel" }] },
  } as const;
  const fan: Sensor = { code: "1", type: 3, kinds: ["accel"], channels: {}, ...location };
  const bands = sensorBands(fan, [machine]);
  assert.ok(bands !== null);
  const site: Site = {
    site: "plant-7",
    sensors: [{ ...fan, bands }],
    machines: [machine],
    alarms: [{ name: "hf", select: { kinds: ["bands"], values: ["*_band_hf"] }, high: 0.5 }],
  };
  const { read, list } = await box(t, true, undefined, site);
  await read("1", "accel", 1, { channel1_vel_rms: 1 });
  await read("1", "bands", 1, { channel1_band_hf: 0.7 });
  const [first] = await list();
  assert.deepEqual([first?.condition, first?.changed?.now], ["warning", 0.7]);
});

test("machines – what changed of a machine without vibration is told of the value nearest to its limit", async (t) => {
  const channel = { unit: "bar", low: 0, high: 100 };
  const channels = { channel1: channel, channel2: channel, channel3: channel };
  const tank: Sensor = { code: "1", type: 6, kinds: ["loop"], channels, ...at(41, "Tank 2") };
  const rule = (name: string, value: string, high: number) => ({
    name,
    select: { sensors: ["1"], values: [value] },
    high,
  });
  const site: Site = {
    site: "plant-7",
    sensors: [tank],
    alarms: [rule("one", "channel1", 10), rule("two", "channel2", 100)],
  };
  const { read, list } = await box(t, true, undefined, site);
  await read("1", "loop", 1, { channel1: 4, channel2: 70, channel3: 1000 });
  const [first] = await list();
  assert.deepEqual([first?.condition, first?.changed?.now], ["ok", 70]);
});

test("machines – a silent machine is unknown, whatever it was; values that nothing could judge are not ok", async (t) => {
  const { read, list, setState } = await box(t);
  const fan = async () => {
    const found = (await list()).find(({ id }) => id === 41);
    return [found?.condition, found?.unknown];
  };
  setState("2", { state: "unknown", lastReadingMs: null, kinds: [] });
  assert.deepEqual(await fan(), ["unknown", "never_read"]);
  setState("2", stateOf("2", "accel"));
  await read("2", "accel", 2, { channel1_vel_rms: null });
  assert.deepEqual(await fan(), ["unknown", "no_recent_judgement"]);
  await read("2", "accel", 1, zone("A", 0.5));
  assert.deepEqual(await fan(), ["ok", null]);
  setState("2", { state: "silent" });
  assert.deepEqual(await fan(), ["unknown", "no_recent_reading"]);
});

test("machines – a velocity that grows towards its limit is watched, with what changed in a month and since when the zone", {
  skip: !hasFeature("outlook"),
}, async (t) => {
  const today = Math.floor(NOW / DAY_MS);
  const sensor = SITE.sensors.find(({ code }) => code === "2");
  assert.ok(sensor);
  // Doubles in ten weeks, 2.2 today: zone C begins at 2.8.
  const levelOn = (day: number) => 2.2 * 2 ** ((day - today) / 70);
  const of = (code: string, kind: Kind, fromDay: number, toDay: number) =>
    code !== "2" || kind !== "accel"
      ? []
      : Array.from({ length: toDay - fromDay }, (_, n) => fromDay + n)
          .filter((day) => day >= today - 120 && day < today)
          .map((day) => {
            const mount = valueMount(sensor, "channel1_vel_rms");
            const one = { median: levelOn(day), count: 24, unit: "mm/s", mount };
            return { day, readings: 24, values: { channel1_vel_rms: one } };
          });
  const dayMedians = { changes: 0, of: () => [] as ReturnType<typeof of> };
  const { read, list } = await box(t, true, dayMedians);
  await read("2", "accel", 1, zone("B", 2.2));
  assert.equal((await list()).find(({ id }) => id === 41)?.condition, "ok");
  // Made after a first start has read its days.
  Object.assign(dayMedians, { changes: 1, of });
  const [fan] = await list();
  assert.deepEqual([fan?.id, fan?.condition], [41, "watch"]);
  assert.match(
    fan?.reason ?? "",
    /^Vibration velocity \(RMS\) of axis H: Reaches 2\.8 mm\/s between/,
  );
  assert.equal(fan?.changed?.against, "month");
  assert.equal(fan.changed.now, 2.2);
  assert.ok(Math.abs(fan.changed.before - levelOn(today - 30)) < 1e-9);
  // Zone A ended at 1.4 mm/s.
  const firstOfB = Array.from({ length: 90 }, (_, n) => today - 90 + n).find(
    (day) => levelOn(day) > 1.4,
  );
  assert.equal(fan.zoneSince, new Date((firstOfB ?? 0) * DAY_MS).toISOString());
});

test("machines – without alarms the list still responds, by zones", async (t) => {
  const { read, list } = await box(t, false);
  await read("1", "accel", 1, zone("C", 5));
  await read("2", "accel", 1, zone("A", 0.5));
  assert.deepEqual(short(await list()), [
    [1, 40, "warning"],
    [2, 99, "unknown"],
    [3, 41, "ok"],
  ]);
});
