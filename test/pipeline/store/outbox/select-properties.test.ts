/** Any choice of an uplink against readings of any plant: what is owed is what a plain reading of plant 10 says. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { SeededRandom } from "../../../../scripts/chaos/random.ts";
import type { OutboxEntry } from "../../../../src/core/delivery/delivery.ts";
import type { Reading } from "../../../../src/core/reading.ts";
import type { Kind, Sensor } from "../../../../src/core/sensor.ts";
import { fixedSite } from "../../../../src/core/site-source.ts";
import {
  createSelector,
  type Profile,
  type Select,
  type Uplink,
} from "../../../../src/core/uplink.ts";
import { createProfile } from "../../../../src/pipeline/publish/formats/create-profile.ts";
import type { Store } from "../../../../src/pipeline/store/store.ts";
import {
  append,
  idsOf,
  readingOf,
  START_MS,
  tempStore,
  uplinkOf,
} from "../../../support/temp-database.ts";

const KINDS: readonly Kind[] = ["rpm", "loop", "accel", "dryContact"];
const CODES = ["1", "10", "0101", "20", "2077", "30007"];
const NAMES = ["rpm", "channel1", "channel2", "channel1_ma", "channel1_vel_rms", "input1"];
const PATTERNS = [
  "*",
  "1*",
  "*7",
  "?0",
  "10?",
  "2*7",
  "channel*",
  "*_rms",
  "channel?",
  "rpm",
  "20",
  "101",
];

const PROFILES: readonly Profile[] = [
  "gateside",
  "homeassistant",
  "thingsboard",
  "aws-iot",
  "azure-iot",
];
const UPLINK: Omit<Uplink, "profile" | "select"> = {
  name: "cloud",
  urls: [],
  version: 5,
  clientId: "cloud",
  username: null,
  password: null,
  tls: { caFile: null, certFile: null, keyFile: null },
  proxy: null,
  alpn: [],
  sasKey: null,
  formats: ["json"],
  topicPrefix: "gateside",
  topics: {},
  history: true,
  waveforms: "never",
  maxAgeHours: null,
  onChange: null,
  everyS: null,
  compact: false,
  machines: false,
  startFrom: "stored",
  inflight: 100,
  backlogRatePerS: 0,
  requireSubscriber: false,
  retain: true,
  withRaw: false,
  commands: false,
  sparkplug: null,
};

/** Patterns written out step by step, without expressions. */
function matches(pattern: string, text: string): boolean {
  const [head] = pattern;
  if (head === undefined) return text === "";
  const rest = pattern.slice(1);
  if (head === "*") {
    return Array.from({ length: text.length + 1 }, (_, i) => text.slice(i)).some((tail) =>
      matches(rest, tail),
    );
  }
  return text !== "" && (head === "?" || head === text[0]) && matches(rest, text.slice(1));
}

const anyOf = (patterns: readonly string[], text: string) =>
  patterns.length === 0 || patterns.some((pattern) => matches(pattern, text));

/** A serial is found with and without the zeros in front of it. */
const isSensor = (patterns: readonly string[], code: string) =>
  anyOf(patterns, code) || anyOf(patterns, code.replace(/^0+(?=\d)/, ""));

function expectedValues(select: Select, site: readonly Sensor[], reading: Reading) {
  const location = site.find(({ code }) => code === reading.sensor)?.location;
  const isIn = (ids: readonly number[], id: number | undefined) =>
    ids.length === 0 || ids.some((one) => one === id);
  const isChosen =
    (select.kinds.length === 0 || select.kinds.includes(reading.kind)) &&
    isSensor(select.sensors, reading.sensor) &&
    isIn(select.areas, location?.area) &&
    isIn(select.machines, location?.machine);
  if (!isChosen) return null;
  const left = Object.entries(reading.values).filter(([name]) => anyOf(select.values, name));
  return left.length === 0 ? null : Object.fromEntries(left);
}

const some = <T>(random: SeededRandom, list: readonly T[], chance: number): T[] =>
  random.next() < chance ? list.filter(() => random.next() < 0.4) : [];

function drawSelect(random: SeededRandom): Select {
  return {
    kinds: some(random, KINDS, 0.5),
    sensors: some(random, PATTERNS, 0.5),
    areas: some(random, [1, 2, 3], 0.3),
    machines: some(random, [40, 41], 0.3),
    values: some(random, PATTERNS, 0.6),
  };
}

function drawSite(random: SeededRandom): Sensor[] {
  return CODES.filter(() => random.next() < 0.8).map((code) => {
    const place = {
      company: 1,
      area: random.between(1, 4),
      machine: random.between(40, 43),
      point: 1,
    };
    const location = random.next() < 0.7 ? { location: place } : {};
    return {
      code,
      type: 1,
      kinds: ["rpm", "loop", "accel", "dryContact"],
      channels: {},
      ...location,
    };
  });
}

function drawReadings(random: SeededRandom): Reading[] {
  return CODES.flatMap((sensor) =>
    KINDS.map((kind, i) => {
      const names = NAMES.filter(() => random.next() < 0.5);
      const values = Object.fromEntries(names.map((name) => [name, random.between(0, 100)]));
      return readingOf(sensor, START_MS + i, {
        kind,
        values: { battery: 3, ...values },
        units: {},
      });
    }),
  );
}

function owed(store: Store, uplink: string): OutboxEntry[] {
  const outbox = store.outboxOf(uplink);
  const entries = [...outbox.lease("json", "live", 1e4), ...outbox.lease("json", "backlog", 1e4)];
  outbox.release("json");
  return entries.toSorted((a, b) => (a.reading.id < b.reading.id ? -1 : 1));
}

test("select – each uplink gets exactly the readings that all its lists allow, with the selected values", async (t) => {
  for (const seed of [1, 2, 3]) {
    const random = new SeededRandom(seed);
    const site = drawSite(random);
    const choices = Array.from({ length: 24 }, () => drawSelect(random));
    const uplinks = choices.map((select, i) =>
      uplinkOf(`u${i}`, ["json"], { selector: createSelector(select, site) }),
    );
    const store = tempStore(t, { uplinks });
    const readings = drawReadings(random);
    for (const reading of readings) await append(store, [reading]);
    let pendingCount = 0;
    for (const [i, select] of choices.entries()) {
      const expected = readings.flatMap((reading) => {
        const values = expectedValues(select, site, reading);
        return values === null ? [] : [{ id: reading.id, values }];
      });
      const what = `seed ${seed}: ${JSON.stringify(select)}`;
      const found = owed(store, `u${i}`);
      assert.deepEqual(
        found.map(({ reading }) => ({ id: reading.id, values: JSON.parse(reading.values) })),
        expected.toSorted((a, b) => (a.id < b.id ? -1 : 1)),
        what,
      );
      pendingCount += found.length;
    }
    const all = choices.length * readings.length;
    assert.ok(
      pendingCount > all / 20 && pendingCount < all / 1.5,
      `${pendingCount} of ${all} owed`,
    );
  }
});

test("select – what was pending before a change stays pending, with the values selected now; a reading without any is settled without a message", async (t) => {
  const random = new SeededRandom(4);
  const site = drawSite(random);
  const before = Array.from({ length: 12 }, () => drawSelect(random));
  const after = before.map(() => drawSelect(random));
  const uplinksOf = (choices: readonly Select[]) =>
    choices.map((select, i) =>
      uplinkOf(`u${i}`, ["json"], { selector: createSelector(select, site) }),
    );
  const store = tempStore(t, { uplinks: uplinksOf(before) });
  const readings = drawReadings(random);
  for (const reading of readings) await append(store, [reading]);
  const ids = before.map((_, i) => idsOf(owed(store, `u${i}`)));
  store.setUplinks(uplinksOf(after));
  let emptied = 0;
  for (const [i, select] of after.entries()) {
    const now = owed(store, `u${i}`);
    assert.deepEqual(idsOf(now), ids[i], "nothing of it is given up, and nothing comes to it");
    for (const entry of now) {
      const { reading } = entry;
      const whole = readings.find(({ id }) => id === reading.id);
      const left = Object.entries(whole?.values ?? {}).filter(([name]) =>
        anyOf(select.values, name),
      );
      assert.deepEqual(JSON.parse(reading.values), Object.fromEntries(left));
      if (left.length > 0) continue;
      emptied += 1;
      for (const profile of PROFILES) assert.deepEqual(encoded(profile, select, site, entry), []);
    }
  }
  assert.ok(emptied > 3, `${emptied} without any chosen value`);
  assert.deepEqual(store.gaps.pendingGaps(9), []);
});

function encoded(profile: Profile, select: Select, sensors: Sensor[], entry: OutboxEntry) {
  const { encode } = createProfile(
    { ...UPLINK, profile, select },
    { waveforms: { read: () => null } },
    { site: fixedSite({ site: "s", sensors }), version: "1", clearRemoved: false },
  );
  return encode.json(entry);
}
