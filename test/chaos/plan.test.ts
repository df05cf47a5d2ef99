import assert from "node:assert/strict";
import { test } from "node:test";
import { readCommandLine } from "../../scripts/chaos/command-line.ts";
import { type EventName, PART_OF, planCampaign } from "../../scripts/chaos/events.ts";
import { SeededRandom } from "../../scripts/chaos/random.ts";

const ALL = new Set(Object.keys(PART_OF) as EventName[]);
const SENSORS = ["1", "2", "3"];
const planOf = (seed: number, lengthMs: number, possible: ReadonlySet<EventName> = ALL) =>
  planCampaign(new SeededRandom(seed), lengthMs, SENSORS, possible);

test("campaign – a seed has one plan, and another seed another", () => {
  assert.deepEqual(planOf(7, 30_000), planOf(7, 30_000));
  assert.notDeepEqual(planOf(7, 30_000), planOf(8, 30_000));
});

test("campaign – a longer plan begins like a shorter one", () => {
  const short = planOf(7, 30_000);
  assert.deepEqual(planOf(7, 300_000).slice(0, short.length), short);
});

test("campaign – where something is not possible, only that is left out", () => {
  const without: ReadonlySet<EventName> = new Set(
    [...ALL].filter((name) => name !== "disk full" && name !== "host offline"),
  );
  assert.deepEqual(
    planOf(7, 300_000, without),
    planOf(7, 300_000).filter(({ event }) => without.has(event.name)),
  );
});

test("campaign – the seeds of CI let every event happen, with json alone and with Sparkplug", () => {
  const rounds = readCommandLine(["--ci"])?.rounds ?? [];
  assert.ok(rounds.length >= 4);
  for (const hasHost of [false, true]) {
    const names = rounds
      .filter(({ formats }) => formats.includes("sparkplug") === hasHost)
      .flatMap(({ seed, lengthMs }) => planOf(seed, lengthMs))
      .map(({ event }) => event.name);
    const missing = [...ALL].filter((name) => !names.includes(name));
    assert.deepEqual(missing, []);
  }
});

test("campaign – lengths and seeds are read as they are said, nonsense is refused", () => {
  const first = (...words: string[]) => readCommandLine(words)?.rounds[0];
  assert.deepEqual(first("--seed", "9", "--hours", "2"), {
    seed: 9,
    formats: ["json"],
    lengthMs: 7_200_000,
  });
  assert.deepEqual(
    readCommandLine(["--seeds", "3-5", "--seconds", "20"])?.rounds.map(({ seed }) => seed),
    [3, 4, 5],
  );
  assert.equal(readCommandLine(["--help"]), null);
  for (const words of [
    ["--seed", "x"],
    ["--seeds", "5-3"],
    ["--minutes", "0"],
    ["--formats", "sparkplug"],
    ["--formats", "json,xml"],
    ["--what"],
  ]) {
    assert.throws(() => readCommandLine(words), Error, words.join(" "));
  }
});
