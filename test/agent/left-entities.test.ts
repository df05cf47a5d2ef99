import assert from "node:assert/strict";
import { test } from "node:test";
import { announcedKey, LeftEntities } from "../../src/agent/left-entities.ts";
import type { PublishOutcome } from "../../src/core/message.ts";
import type { Site } from "../../src/core/site.ts";
import { machinesKey } from "../../src/core/site-machines.ts";
import { fixedSite } from "../../src/core/site-source.ts";
import type { Uplink } from "../../src/core/uplink.ts";
import { toldBeside } from "../../src/features/condition/boards.ts";
import type { Feature } from "../../src/features/feature.ts";
import { systemClock } from "../../src/lib/clock.ts";
import { silentLogger } from "../../src/lib/logger.ts";
import { ManualClock } from "../support/manual-clock.ts";
import { RecordingLogger } from "../support/recording-logger.ts";

const RECORDED: Readonly<Record<string, string>> = {
  announced_at: JSON.stringify({ hall: ["mqtt://broker.example:1883"] }),
  [announcedKey("hall")]: JSON.stringify({
    "10234": {
      state: [],
      descriptions: ["homeassistant/sensor/a/config"],
      readings: [],
      kinds: [],
    },
  }),
  [machinesKey("hall")]: JSON.stringify({ "40": ["homeassistant/sensor/b/config"] }),
};

const site = fixedSite({ site: "hall", sensors: [] } as unknown as Site);
const condition: Pick<Feature, "heldBeside"> = {
  heldBeside: (uplink, uplinks) => toldBeside(uplink, uplinks, site),
};

test("left entities – whatever one damaged byte makes of what was recorded, the agent starts", () => {
  const left = [{ uplink: "hall", urls: ["mqtt://broker.example:1883"], topics: ["a/machine/40"] }];
  const recorded: typeof RECORDED = { ...RECORDED, announced_left: JSON.stringify({ left }) };
  for (const name of Object.keys(recorded))
    for (let at = 0; at < Buffer.byteLength(recorded[name] ?? ""); at += 1)
      for (const bit of [1, 2, 4, 8, 16, 32, 64]) {
        const damaged = Buffer.from(recorded[name] ?? "");
        damaged[at] = (damaged[at] ?? 0) ^ bit;
        const rows = new Map(Object.entries({ ...recorded, [name]: damaged.toString() }));
        const meta = {
          get: (key: string) => rows.get(key) ?? null,
          keep: () => Promise.resolve(),
        };
        const parts = {
          clock: systemClock,
          logger: silentLogger,
          features: () => [condition],
          store: { meta },
        };
        assert.doesNotThrow(() => new LeftEntities(parts).open([]), damaged.toString());
      }
});

/** What becomes of the entities where the uplinks are these, and a session takes a message only when asked for the `n`th time. */
async function clearing(
  formats: readonly string[],
  n: number,
  result: "delivered" | "refused" = "delivered",
  version: 4 | 5 = 5,
) {
  const rows = new Map(Object.entries(RECORDED));
  const meta = {
    get: (key: string) => rows.get(key) ?? null,
    keep: async (key: string, value: string) => void rows.set(key, value),
  };
  const clock = new ManualClock();
  const logger = new RecordingLogger();
  const left = new LeftEntities({ clock, logger, features: () => [condition], store: { meta } });
  const urls = ["mqtt://broker.example:1883"];
  const heir = { name: "heir", urls, formats, profile: "gateside", version };
  const uplinks = () => [heir as unknown as Uplink];
  const cleared: string[] = [];
  let asked = 0;
  const publish = (_uplink: string, { topic }: { topic: string }) => {
    asked += 1;
    if (asked < n) return null;
    cleared.push(topic);
    return Promise.resolve({ result } as PublishOutcome);
  };
  left.open(uplinks());
  let isOver = false;
  const running = left.run(uplinks, publish, new AbortController().signal).then(() => {
    isOver = true;
  });
  for (let s = 0; s < 60 && !isOver; s += 5) await clock.advance(5_000);
  await running;
  return { cleared, text: logger.text };
}

test("left entities – while a reload builds the session of the heir anew, they wait", async () => {
  const { cleared, text } = await clearing(["json"], 3);
  assert.deepEqual(cleared, ["homeassistant/sensor/a/config", "homeassistant/sensor/b/config"]);
  assert.doesNotMatch(text, /stay in Home Assistant/);
  assert.match(text, /is cleared"/);
  assert.match((await clearing(["json"], 1, "delivered", 4)).text, /MQTT 3\.1\.1 does not say/);
});

test("left entities – an uplink that has only Sparkplug's session clears none, and that is said", async () => {
  const { cleared, text } = await clearing(["sparkplug"], 1);
  assert.deepEqual(cleared, []);
  assert.match(text, /stay in Home Assistant/);
});

test("left entities – what the broker refuses to clear stays, and that is said", async () => {
  const { text } = await clearing(["json"], 1, "refused");
  assert.match(text, /entities of a former uplink stay in Home Assistant/);
  assert.doesNotMatch(text, /is cleared/);
});

test("left entities – what an uplink that moved twice left behind is known until it is cleared, over restarts too", async () => {
  const rows = new Map<string, string>();
  const meta = {
    get: (key: string) => rows.get(key) ?? null,
    keep: async (key: string, value: string) => void rows.set(key, value),
  };
  const parts = {
    clock: new ManualClock(),
    logger: new RecordingLogger(),
    features: () => [condition],
    store: { meta },
  };
  const uplink = (name: string, at: string) =>
    ({
      name,
      urls: [`mqtt://${at}.example:1883`],
      formats: ["json"],
      profile: "gateside",
      machines: name === "hall",
    }) as unknown as Uplink;
  const heirs = ["first", "second"].map((at) => uplink(at, at));
  for (const at of ["first", "second", "third", "third"]) {
    new LeftEntities(parts).open([uplink("hall", at), ...heirs]);
    // Its session at the new broker records what it retains there.
    rows.set(machinesKey("hall"), JSON.stringify({ "40": [`${at}/machine/40`] }));
  }
  const uplinks = () => [uplink("hall", "third"), ...heirs];
  const left = new LeftEntities(parts);
  left.open(uplinks());
  const cleared: string[] = [];
  await left.run(
    uplinks,
    (name, { topic }) => {
      cleared.push(`${name}: ${topic}`);
      return Promise.resolve({ result: "delivered" } as PublishOutcome);
    },
    new AbortController().signal,
  );
  assert.deepEqual(cleared, ["first: first/machine/40", "second: second/machine/40"]);
  const after: string[] = [];
  const again = new LeftEntities(parts);
  again.open(uplinks());
  await again.run(
    uplinks,
    (_, { topic }) => {
      after.push(topic);
      return null;
    },
    new AbortController().signal,
  );
  assert.deepEqual(after, []);
});

test("left entities – told beside is what another uplink tells at that broker, not all below its prefix", () => {
  const sensors = [{ code: "1", kinds: ["accel"], location: { area: 1, machine: 40, point: 1 } }];
  const source = fixedSite({ site: "hall", sensors } as unknown as Site);
  const uplink = (name: string, topicPrefix: string, areas: number[] = []) =>
    ({
      name,
      topicPrefix,
      urls: ["mqtt://broker.example:1883"],
      formats: ["json"],
      profile: "gateside",
      machines: true,
      retain: true,
      topics: {},
      select: { areas, machines: [], kinds: [], sensors: [], values: [] },
    }) as unknown as Uplink;
  const left = uplink("left", "cloud/hall");
  const told = (...beside: readonly Uplink[]) => [...toldBeside(left, [left, ...beside], source)];
  assert.deepEqual(told(uplink("above", "cloud")), ["cloud/hall/machine/40"]);
  assert.deepEqual(told(uplink("twin", "cloud/hall")), ["cloud/hall/hall/machine/40"]);
  assert.deepEqual(told(uplink("other", "cloud/hall", [2])), []);
});
