/**
 * Every fault of services 8 and of its reading rules that a gateway can show, each on its own sensor, all at once on one
 * agent: what is good arrives, what is bad is counted, the other sensors do not notice, and all of it heals.
 */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import type { FaultSpec } from "../../src/simulator/faults.ts";
import type { PlantSensor } from "../../src/simulator/plant.ts";
import { seriesLine } from "../support/agent-answers.ts";
import { deadlineMs } from "../support/deadline.ts";
import { expectedId } from "../support/expected-reading.ts";
import {
  type RecordingSubscriber,
  type SeenMessage,
  skipWithoutMosquitto,
} from "../support/mosquitto.ts";
import { type BuiltAgent, openPlant, type Plant, skipWithoutBuild } from "../support/plant.ts";
import { holdsWithin, OTHER_PAUSE_MS, waitUntil } from "../support/wait-until.ts";

/** The agent's own pauses are slept in real time: cadences are short instead of the plant fast. */
const SPEED = 10;
/** Three answers that fall silent, 30 s each: the third is taken as far as it goes, ms. A slow machine gets there. */
const SILENT_CALLS_MS = 85_000;
/** Nine o'clock today: within what the store keeps by the clock of this machine. */
const START_MS = Math.floor(Date.now() / 86_400_000) * 86_400_000 + 9 * 3_600_000;
const MINUTE_MS = 60_000;
/** More calls in flight than sensors that never answer: those hold theirs until the timeout. */
const CONCURRENCY = 16;

type Target = "scalar" | "accel" | "loop" | "rpm";

interface Case {
  readonly fault: FaultSpec;
  /** reads: whatever is shown arrives · waits: nothing can arrive until it ends · partial: complete records of a cut answer. */
  readonly expect: "reads" | "waits" | "partial";
  readonly target?: Target;
  /** Switched on once the records so far have been read. */
  readonly isLater?: boolean;
  /** A counter that must have moved: name and label. */
  readonly counts?: string;
  /** Flag that its readings carry. */
  readonly flag?: string;
}

const reads = (
  name: FaultSpec["name"],
  more: Partial<Case> & { options?: Partial<FaultSpec> } = {},
): Case => {
  const { options, ...rest } = more;
  return { fault: { name, ...options }, expect: "reads", ...rest };
};
const waits = (
  name: FaultSpec["name"],
  more: Partial<Case> & { options?: Partial<FaultSpec> } = {},
): Case => ({
  ...reads(name, more),
  expect: "waits",
});
const request = (outcome: string) => `gateside_gateway_requests_total{outcome="${outcome}"}`;
const oddity = (name: string) => `gateside_wire_oddities_total{oddity="${name}"}`;
const rejected = (reason: string) => `gateside_records_rejected_total{reason="${reason}"}`;
const field = (reason: string) => `gateside_field_faults_total{reason="${reason}"}`;

const CASES: Readonly<Record<string, readonly Case[]>> = {
  "connections and pages": [
    waits("never-answer", { counts: request("transient") }),
    waits("close-without-answer"),
    waits("reset-without-answer"),
    reads("stale-keep-alive"),
    reads("slow-first-byte", { options: { ms: 700 } }),
    waits("html-500"),
    waits("html-400", { counts: request("request") }),
    waits("html-404"),
    waits("html-login"),
    waits("empty-body"),
    waits("redirect", { counts: request("configuration") }),
    waits("unauthorized"),
    waits("forbidden"),
    waits("proxy-auth"),
    waits("http-status", { options: { status: 502 } }),
    reads("no-date"),
    reads("head-in-pieces", { options: { ms: 1 } }),
  ],
  envelopes: [
    waits("non-zero-status", { counts: request("service_status") }),
    waits("non-zero-status-with-records"),
    reads("string-status"),
    waits("value-null"),
    waits("value-missing"),
    waits("value-empty-list"),
    waits("empty-array"),
    reads("configs-missing"),
    reads("configs-null"),
    reads("key-missing", { counts: oddity("key_missing") }),
    reads("bare-envelope"),
    reads("wrapped"),
    reads("value-first"),
    reads("two-elements"),
  ],
  records: [
    reads("duplicates"),
    reads("same-time-other-content"),
    reads("out-of-order"),
    reads("newest-first"),
    reads("late", { options: { ms: MINUTE_MS / 2, fraction: 0.4 } }),
    reads("vanished", {
      isLater: true,
      options: { fraction: 0.5 },
      counts: "gateside_vanished_records_total",
    }),
    reads("shrunk", { isLater: true }),
    reads("changed-field", { isLater: true }),
    reads("restored-from-backup", { isLater: true }),
    reads("foreign", { counts: rejected("foreign_record"), target: "rpm" }),
    reads("other-day"),
    waits("time-unset", { counts: rejected("no_time"), target: "loop" }),
    waits("time-epoch", { counts: field("time_implausible"), target: "loop" }),
    waits("time-text", { counts: field("bad_time"), target: "loop" }),
    reads("time-2106", { flag: "time_in_future", target: "loop" }),
    reads("nan-tokens", { counts: field("not_a_number"), target: "loop" }),
    reads("null-fields", { target: "loop" }),
    reads("missing-fields", { target: "rpm" }),
    reads("unknown-members", { counts: oddity("unknown_member") }),
    reads("unknown-values", { target: "accel", flag: "recording_reason_unknown" }),
    waits("type-changed", { options: { status: 99 } }),
    waits("sensor-swapped", { isLater: true, options: { text: "555000111" } }),
  ],
  waveforms: [
    reads("channels-cut", { target: "accel" }),
    reads("channels-unequal", { target: "accel", flag: "channel_length_mismatch" }),
    reads("channels-empty", { target: "accel" }),
    reads("samples-out-of-range", { target: "accel", flag: "sample_out_of_range" }),
    reads("samples-float", { target: "accel", flag: "sample_not_integer" }),
    reads("calibration-zero", { target: "accel" }),
    reads("calibration-negative", { target: "accel" }),
    reads("gzip", { target: "accel" }),
    reads("out-of-order", { target: "accel" }),
  ],
  spellings: [
    reads("numbers-as-strings", { target: "rpm" }),
    reads("decimal-commas", { target: "loop" }),
    reads("quoted-tokens"),
    reads("iso-times", { counts: oddity("iso_time") }),
    reads("odd-case", { counts: oddity("name_letter_case") }),
    reads("white-space"),
    reads("plain-slashes"),
    reads("bom"),
    waits("utf16"),
    reads("content-type"),
    reads("gzip"),
  ],
  bodies: [
    { fault: { name: "cut", fraction: 0.6 }, expect: "partial", flag: "partial_answer" },
    { fault: { name: "reset", fraction: 0.6 }, expect: "partial", flag: "partial_answer" },
    { fault: { name: "length-larger" }, expect: "partial" },
    { fault: { name: "length-smaller" }, expect: "partial" },
    waits("drip"),
    waits("silence", { options: { fraction: 0.5 } }),
  ],
};

const isAccel = ({ kinds }: PlantSensor) => kinds.includes("accel");
const SUITS: Readonly<Record<Target, (sensor: PlantSensor) => boolean>> = {
  scalar: (sensor) => !isAccel(sensor),
  accel: isAccel,
  loop: ({ kinds }) => kinds.includes("loop"),
  rpm: ({ kinds }) => kinds.includes("rpm"),
};

const TELLS = {
  reads: "its readings arrive",
  waits: "nothing arrives while it lasts",
  partial: "complete records arrive in the end",
} as const;

const skip = skipWithoutBuild || skipWithoutMosquitto;

describe("an agent and a gateway with every fault", {
  skip,
  concurrency: false,
  timeout: deadlineMs(240_000),
}, () => {
  let plant: Plant;
  let close: () => Promise<void>;
  let all: RecordingSubscriber;
  let agent: BuiltAgent;
  let metrics = "";
  const sensorOf = new Map<Case, string>();
  const healthy: string[] = [];
  /** What had come when the faults ended. */
  let during: ReadonlyMap<string, { readonly sensor: string; readonly flags: readonly string[] }>;

  const found = new Map<string, { sensor: string; flags: readonly string[] }>();
  let parsed = 0;
  const received = () => {
    for (; parsed < all.messages.length; parsed++) {
      const { topic, text } = all.messages[parsed] as SeenMessage;
      if (
        !/^[^/]+\/[^/]+\/[^/]+\/(accel|current|currentV2|accCurrent|loop|dryContact|rpm)(\/history)?$/.test(
          topic,
        )
      )
        continue;
      const { id, sensor, attributes } = JSON.parse(text);
      found.set(id, { sensor, flags: attributes.flags ?? [] });
    }
    return found;
  };
  /** Ids of all records shown so far, by the requested sensor; `isDue` selects those that must arrive. */
  const shown = () => {
    const ids = new Map<
      string,
      { readonly id: string; readonly timeMs: number; readonly isDue: boolean }[]
    >();
    for (const { sensor, kind, state, expect, timeMs, record } of plant.simulator.served()) {
      const id = expectedId(sensor, kind, record);
      if (id === null) continue;
      const list = ids.get(sensor) ?? [];
      list.push({ id, timeMs, isDue: state === "complete" && expect === "reading" });
      ids.set(sensor, list);
    }
    return ids;
  };
  let shownBefore: ReturnType<typeof shown>;
  const shownHealthy = new Map<string, readonly string[]>();
  /** Plant time of that look. */
  let shownUntilMs: number;
  let shownAfter: ReturnType<typeof shown>;
  let isEarly = false;
  const trueIds = (sensor: string, untilMs: number): string[] =>
    (plant.simulator.plant.byCode.get(sensor)?.kinds ?? []).flatMap((kind) =>
      plant.simulator
        .truth(sensor, kind, START_MS - 3_600_000, untilMs)
        .map(({ record }) => expectedId(sensor, kind, record) as string),
    );
  const readAll = async (
    codes: readonly string[],
    ids: (code: string) => readonly string[],
    timeoutMs: number,
  ) => {
    const wanted = codes.map((code) => [code, ids(code)] as const);
    let missing: readonly string[] = [];
    const isComplete = () => {
      const have = received();
      missing = wanted.flatMap(([code, list]) => (list.some((id) => !have.has(id)) ? [code] : []));
      return missing.length === 0;
    };
    await holdsWithin(timeoutMs, isComplete, OTHER_PAUSE_MS);
    return new Set(missing);
  };

  before(async () => {
    ({ plant, close } = await openPlant({
      simulator: {
        sensors: 16 * 7,
        startMs: START_MS,
        speed: SPEED,
        historyDays: 0.004,
        cadenceS: {
          accel: 10,
          accCurrent: 20,
          current: 20,
          currentV2: 20,
          loop: 20,
          dryContact: 20,
          rpm: 20,
        },
        waveform: { sampleRateHz: 6400, samples: 256 },
      },
      env: {
        GATEWAY_CONCURRENCY: String(CONCURRENCY),
        GATEWAY_TIMEOUT_MS: "1500",
        POLL_INTERVAL_S: "2",
      },
    }));
    all = await plant.subscribe();
    const free = [...plant.simulator.plant.sensors];
    const cases = Object.values(CASES).flat();
    // The choosy ones first.
    for (const one of [
      ...cases.filter(({ target }) => target),
      ...cases.filter(({ target }) => !target),
    ]) {
      const at = free.findIndex(SUITS[one.target ?? "scalar"]);
      const [sensor] = at < 0 ? [] : free.splice(at, 1);
      assert.ok(sensor, `no sensor is left for ${one.fault.name}`);
      sensorOf.set(one, sensor.code);
    }
    healthy.push(...free.map(({ code }) => code));
    const switchOn = (isLater: boolean) => {
      for (const [one, sensor] of sensorOf) {
        if ((one.isLater ?? false) === isLater)
          plant.simulator.faults.add({ ...one.fault, sensor });
      }
    };
    switchOn(false);
    const startedAt = performance.now();
    agent = plant.startAgent();
    const later = [...sensorOf].filter(([one]) => one.isLater).map(([, code]) => code);
    await readAll(later, (code) => trueIds(code, START_MS), 20_000);
    switchOn(true);
    const readers = [...sensorOf].filter(([one]) => one.expect === "reads").map(([, code]) => code);
    // The third attempt at an answer that is cut each time.
    const partial = [...sensorOf]
      .filter(([one]) => one.expect === "partial")
      .map(([, code]) => code);
    const hasCome = (code: string) =>
      [...received().values()].some(({ sensor }) => sensor === code);
    await holdsWithin(25_000, () => partial.every(hasCome), OTHER_PAUSE_MS);
    shownBefore = shown();
    shownUntilMs = plant.simulator.clock.now();
    const due = (code: string) =>
      (shownBefore.get(code) ?? []).filter(({ isDue }) => isDue).map(({ id }) => id);
    await readAll(readers, due, 60_000);
    // At one moment: a record of before may be shown later, and nothing waits for it.
    for (const code of healthy) shownHealthy.set(code, trueIds(code, shownUntilMs));
    await readAll(healthy, (code) => shownHealthy.get(code) ?? [], 60_000);
    during = new Map(received());
    isEarly = performance.now() - startedAt < SILENT_CALLS_MS;
    shownAfter = shown();
    metrics = await (await fetch(`${await agent.address}/metrics`)).text();
  });
  after(() => close?.());

  const counted = (series: string) => Number(seriesLine(metrics, series)?.split(" ").at(-1)) > 0;

  it("keeps reading the healthy sensors", () => {
    assert.ok(healthy.length >= 10);
    for (const code of healthy) {
      const ids = shownHealthy.get(code) ?? [];
      assert.ok(ids.length > 0, code);
      const missing = ids.filter((id) => !during.has(id));
      assert.equal(missing.length, 0, `${code} misses ${missing.length}`);
    }
  });

  for (const [group, cases] of Object.entries(CASES)) {
    describe(group, () => {
      for (const one of cases) {
        const { fault, expect, target = "scalar", counts, flag } = one;
        it(`${fault.name} (${target}): ${TELLS[expect]}`, () => {
          const code = sensorOf.get(one) as string;
          const ofSensor = [...during].filter(([, { sensor }]) => sensor === code);
          const ids = new Set(ofSensor.map(([id]) => id));
          if (expect === "reads") {
            const shown = (shownBefore.get(code) ?? []).filter(({ isDue }) => isDue);
            assert.ok(shown.length > 2, `${shown.length} shown`);
            assert.equal(shown.filter(({ id }) => !ids.has(id)).length, 0, "some did not come");
          } else if (expect === "waits" && !one.isLater && (fault.name !== "silence" || isEarly))
            assert.equal(ids.size, 0, "something came");
          const allowed = new Set((shownAfter.get(code) ?? []).map(({ id }) => id));
          for (const id of ids) assert.ok(allowed.has(id), `${id} was never shown`);
          if (counts !== undefined) assert.ok(counted(counts), `${counts} did not move`);
          if (flag !== undefined) {
            assert.ok(
              ofSensor.some(([, { flags }]) => flags.includes(flag)),
              `no ${flag}`,
            );
          }
        });
      }
    });
  }

  it("heals when the faults end; pauses after a refusal are cut short by a restart", async () => {
    plant.simulator.faults.clear();
    await agent.stop();
    agent = plant.startAgent();
    const untilMs = plant.simulator.clock.now();
    const codes = plant.simulator.plant.sensors.map(({ code }) => code);
    const missing = await readAll(codes, (code) => trueIds(code, untilMs), 30_000);
    const names = [...sensorOf]
      .filter(([, code]) => missing.has(code))
      .map(([one]) => one.fault.name);
    assert.deepEqual([...missing], [], names.join(", "));
  });

  const AWAY: readonly FaultSpec[] = [
    { name: "refused", forMs: 1500 },
    { name: "overloaded", ms: 30, forMs: 2500 },
    { name: "too-many-requests", seconds: 1, forMs: 1200 },
    { name: "unavailable", seconds: 1, forMs: 1200 },
    { name: "clock-jump", ms: -900_000, forMs: 1500 },
    { name: "clock-jump", ms: 900_000, forMs: 1500 },
    { name: "html-500", forMs: 1500 },
  ];
  for (const fault of AWAY) {
    it(`continues by itself after the whole gateway shows ${fault.name} ${fault.ms ?? ""}`, async () => {
      plant.simulator.faults.add(fault);
      await waitUntil("the end of the fault", () => plant.simulator.faults.list().length === 0);
      const untilMs = plant.simulator.clock.now();
      const codes = plant.simulator.plant.sensors.map(({ code }) => code);
      const missing = await readAll(codes, (code) => trueIds(code, untilMs), 25_000);
      assert.deepEqual([...missing], []);
      assert.equal(agent.process.exitCode, null);
    });
  }
});
