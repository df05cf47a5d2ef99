import assert from "node:assert/strict";
import { test } from "node:test";
import type { FindingView } from "../../../src/core/diagnosis/shown.ts";
import type { StandingAlarm } from "../../../src/features/alarms/rules/view.ts";
import { OpenAlarms, staged } from "../../../src/features/condition/open-alarms.ts";

const standing = (change: Partial<StandingAlarm>): StandingAlarm => ({
  id: "1",
  sensor: "10234",
  value: "channel1_vel_rms",
  alarm: "zone",
  severity: "alarm",
  sinceMs: Date.parse("2026-11-20T10:00:00.000Z"),
  isAcknowledged: false,
  isShelved: false,
  text: "11 mm/s now",
  ...change,
});

/** Alarms of which each change says whose it is; `asked` is what was read of them. */
function alarmsOf(...all: StandingAlarm[]) {
  const asked: (readonly string[] | null)[] = [];
  const changes: (readonly string[] | null)[] = [];
  const source = {
    get revision() {
      return changes.length;
    },
    changedSince(revision: number) {
      const since = changes.slice(revision);
      return since.includes(null) ? null : new Set(since.flatMap((codes) => codes ?? []));
    },
    marks(codes: ReadonlySet<string> | null) {
      const own = all.filter(({ sensor }) => codes?.has(sensor) ?? true);
      return new Map(own.map(({ sensor, id, severity }) => [sensor, `${id} ${severity}`]));
    },
    standing(codes: ReadonlySet<string> | null) {
      asked.push(codes && [...codes]);
      return all.filter(({ sensor }) => codes?.has(sensor) ?? true);
    },
  };
  const open = new OpenAlarms(source);
  return { all, asked, changes, open };
}

test("open alarms – words are read when somebody asks, and again only of sensors that changed or were noted", () => {
  const { all, asked, changes, open } = alarmsOf(standing({}), standing({ id: "2", sensor: "7" }));
  assert.deepEqual(open.look(), ["10234", "7"]);
  assert.deepEqual(open.look(), []);
  assert.deepEqual(asked, []);
  const textOf = (code: string) => open.get(code)?.map(({ text }) => text);
  assert.deepEqual(
    [textOf("7"), textOf("7"), textOf("9")],
    [["11 mm/s now"], ["11 mm/s now"], undefined],
  );
  assert.deepEqual(asked, [["7"]]);
  all[1] = standing({ id: "2", sensor: "7", text: "12 mm/s now" });
  open.note("7");
  assert.deepEqual(open.look(), [], "only its words differ");
  assert.deepEqual(textOf("7"), ["12 mm/s now"]);
  all[1] = standing({ id: "2", sensor: "7", severity: "warning" });
  changes.push(["7"]);
  assert.deepEqual(open.look(), ["7"]);
});

test("open alarms – one that has ended is gone, also after a change of everything", () => {
  const { all, changes, open } = alarmsOf(standing({}), standing({ id: "2", sensor: "7" }));
  open.look();
  assert.equal(open.get("7")?.length, 1);
  changes.push(["7"]);
  all.pop();
  assert.deepEqual(open.look(), ["7"]);
  assert.equal(open.get("7"), undefined);
  changes.push(null);
  all.pop();
  assert.deepEqual(open.look(), ["10234"]);
  assert.equal(open.size, 0);
});

test("machine reason – is made from what its alarms and findings show now", () => {
  const finding = standing({ alarm: "finding", value: "looseness", id: "2", text: "5 in a row" });
  const { open } = alarmsOf(standing({}), finding);
  open.look();
  const found = {
    sensor: "10234",
    finding: "looseness",
    bearing: null,
    stage: 2,
    text: "125 in a row",
  } as unknown as FindingView;
  const texts = staged(open.get("10234") ?? [], [found]).map(({ text }) => text);
  assert.deepEqual(texts, ["11 mm/s now", "125 in a row"]);
});
