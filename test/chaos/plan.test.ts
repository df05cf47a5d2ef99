import assert from "node:assert/strict";
import { test } from "node:test";
import { type Round, readCommandLine } from "../../scripts/chaos/command-line.ts";
import {
  type EventName,
  PART_OF,
  planCampaign,
  planUplinkEvents,
  UPLINK_EVENTS,
} from "../../scripts/chaos/events.ts";
import { SeededRandom } from "../../scripts/chaos/random.ts";

const ALL = new Set(Object.keys(PART_OF) as EventName[]);
const SENSORS = ["1", "2", "3"];
const planOf = (seed: number, lengthMs: number, possible: ReadonlySet<EventName> = ALL) =>
  planCampaign(new SeededRandom(seed), lengthMs, SENSORS, possible);

test("campaign – a seed always gives the same plan, and another seed another", () => {
  assert.deepEqual(planOf(7, 30_000), planOf(7, 30_000));
  assert.notDeepEqual(planOf(7, 30_000), planOf(8, 30_000));
});

test("campaign – a longer plan begins like a shorter one", () => {
  const short = planOf(7, 30_000);
  assert.deepEqual(planOf(7, 300_000).slice(0, short.length), short);
});

test("campaign – if something is not possible, only that is left out", () => {
  const without: ReadonlySet<EventName> = new Set(
    [...ALL].filter((name) => name !== "disk full" && name !== "host offline"),
  );
  assert.deepEqual(
    planOf(7, 300_000, without),
    planOf(7, 300_000).filter(({ event }) => without.has(event.name)),
  );
});

test("campaign – the seeds of CI include every event: with json alone, with Sparkplug, and with several uplinks", () => {
  const rounds = readCommandLine(["--ci"])?.rounds ?? [];
  assert.ok(rounds.length >= 4);
  const namesOf = (isSelected: (round: Round) => boolean) =>
    new Set(
      rounds.filter(isSelected).flatMap(({ seed, lengthMs, uplinks }) => {
        const plan = uplinks ? planUplinkEvents(seed, lengthMs) : planOf(seed, lengthMs);
        return plan.map(({ event }) => event.name);
      }),
    );
  const isFar = (name: EventName) => UPLINK_EVENTS.some((one) => one === name);
  const usual = [...ALL].filter((name) => !isFar(name));
  const hasHost = ({ formats }: Round) => formats.includes("sparkplug");
  const ofJson = namesOf((round) => !round.uplinks && !hasHost(round));
  assert.deepEqual(
    usual.filter((name) => !ofJson.has(name) && name !== "host offline"),
    [],
  );
  const ofHost = namesOf(hasHost);
  assert.deepEqual(
    usual.filter((name) => !ofHost.has(name)),
    [],
  );
  assert.deepEqual(
    namesOf(({ uplinks }) => uplinks),
    new Set<EventName>(UPLINK_EVENTS),
  );
});

test("campaign – lengths and seeds are parsed, and nonsense is rejected", () => {
  const first = (...words: string[]) => readCommandLine(words)?.rounds[0];
  assert.deepEqual(first("--seed", "9", "--hours", "2"), {
    seed: 9,
    formats: ["json"],
    uplinks: false,
    darkDays: 0,
    lengthMs: 7_200_000,
  });
  assert.deepEqual(
    readCommandLine(["--seeds", "3-5", "--seconds", "20"])?.rounds.map(({ seed }) => seed),
    [3, 4, 5],
  );
  assert.equal(readCommandLine(["--at-once", "3"])?.atOnce, 3);
  assert.equal(readCommandLine(["--help"]), null);
  for (const words of [
    ["--seed", "x"],
    ["--seeds", "5-3"],
    ["--minutes", "0"],
    ["--formats", "sparkplug"],
    ["--formats", "json,xml"],
    ["--dark", "4"],
    ["--at-once", "0"],
    ["--what"],
  ]) {
    assert.throws(() => readCommandLine(words), Error, words.join(" "));
  }
});
