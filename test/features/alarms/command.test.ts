/** `gateside alarms` against the agent's own HTTP side, with real alarms over a real store behind it. */
import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import type { Site } from "../../../src/core/site.ts";
import { createHttpServer } from "../../../src/http/server.ts";
import { alarmParts } from "../../support/alarm-parts.ts";
import { OPTIONS, testParts } from "../../support/http-parts.ts";
import { openAlarms } from "../../support/open-alarms.ts";
import { runCommand } from "../../support/run-command.ts";
import { append, readingOf, START_MS } from "../../support/temp-database.ts";

const SITE: Site = {
  site: "plant-7",
  sensors: [
    { code: "1", type: 6, kinds: ["rpm"], channels: {}, name: "Fan 2" },
    { code: "2", type: 6, kinds: ["rpm"], channels: {} },
  ],
  alarms: [
    { name: "speed", select: { sensors: ["1"] }, high: 3000, highHigh: 3500, hysteresis: 100 },
    { name: "change", select: { sensors: ["2"] }, baseline: { readings: 10, deviations: 4 } },
  ],
};

async function startAlarms(t: TestContext, skewMs = 0, timezone = "UTC") {
  const opened = openAlarms(t, SITE, START_MS + 3_600_000 - skewMs, skewMs);
  const { alarms, clock, gatewayNow } = opened;
  const shown = { alarms: alarms.actions, findings: alarms.findingViews };
  const parts = testParts({ ...alarmParts(shown, gatewayNow), gatewayNow });
  parts.setStatus({ ...parts.status.status(), timezone });
  const server = createHttpServer({ ...parts, clock }, OPTIONS);
  const url = await server.listen();
  t.after(() => server.close());
  let minute = 0;
  const rpm = async (sensor: string, ...values: number[]) => {
    const from = minute;
    minute += values.length;
    const readings = values.map((value, i) =>
      readingOf(sensor, START_MS + (from + i) * 60_000, { values: { rpm: value } }),
    );
    await append(opened.store, readings);
  };
  const gateside = (...words: string[]) => runCommand(["alarms", "--url", url, ...words]);
  return { ...opened, rpm, gateside, url };
}

const idIn = (text: string) => /[0-9a-f]{32}/.exec(text)?.[0] ?? "";

test("gateside alarms – lists active alarms, and its exit code says whether there are any", async (t) => {
  const { gateside, rpm } = await startAlarms(t);
  const wrong = await gateside("--ack", "zone");
  assert.equal(wrong.code, 2);
  assert.match(wrong.stderr, /"zone" is not an alarm id: .*first column of `gateside alarms`/);
  const none = await gateside();
  assert.deepEqual([none.code, none.stdout], [0, "no alarm is active or shelved\n"]);
  await rpm("1", 1480, 3100);
  const listed = await gateside();
  assert.equal(listed.code, 1);
  assert.match(listed.stdout, /^[0-9a-f]{32} +active +warning .*Fan 2 is 3100/);
  const { code, stdout } = await gateside("--json", "--history", "5");
  assert.equal(code, 1);
  const lists = JSON.parse(stdout) as { active: { id: string }[]; history: { id: string }[] };
  assert.equal(lists.active[0]?.id, idIn(listed.stdout));
  assert.equal(lists.history.length, 1);
  await rpm("1", 2000);
  assert.equal((await gateside()).code, 0);
  assert.match((await gateside("--history", "5")).stdout, /Cleared: Speed at Fan 2/);
});

test("gateside alarms – acknowledges, notes, shelves and unshelves, and the audit log records who did it", async (t) => {
  const { alarms, clock, gateside, rpm, metrics } = await startAlarms(t);
  await rpm("1", 3100);
  const id = idIn((await gateside()).stdout);
  const did = async (...words: string[]) => {
    const { code, stdout, stderr } = await gateside("--by", "anna", ...words);
    assert.deepEqual([code, stderr], [0, ""], words.join(" "));
    assert.match(
      stdout,
      words[0] === "--shelve" ? /^done, shelved until 20\S+ \S+ UTC\n$/ : /^done\n$/,
    );
  };
  const active = async () =>
    /gateside_alarms_active\{[^}]*severity="warning"[^}]*\} (\d)/.exec(
      await metrics.registry.metrics(),
    )?.[1];
  await did("--ack", id, "--note", "belt is being changed");
  assert.match((await gateside()).stdout, /acknowledged by anna/);
  assert.equal((await gateside()).code, 0);
  await did("--id", id, "--note", "spare part on Monday");
  assert.equal(await active(), "1");
  await did("--shelve", id, "--minutes", "60");
  assert.equal(await active(), "0");
  assert.match((await gateside()).stdout, /shelved until 20/);
  await did("--unshelve", id);
  assert.equal(await active(), "1");
  await did("--shelve", id, "--minutes", "60");
  await clock.advance(3_600_001);
  await alarms.upkeep.tick();
  assert.equal(await active(), "1", "a shelf ends by itself");
  assert.deepEqual(
    alarms.actions
      .actions(10)
      .map(({ who, what, subject, outcome }) => [who, what, subject, outcome]),
    ["shelve", "unshelve", "shelve", "note", "acknowledge"].map((what) => [
      "anna",
      what,
      "1/speed/rpm",
      "done",
    ]),
  );
  const [newest] = alarms.actions.lists({ limit: 1, before: null }).history;
  assert.match(JSON.stringify(newest), /"by":"anna".*spare part on Monday/);
});

test("gateside alarms – times are in the gateway's zone, which is named once", async (t) => {
  const { gateside, rpm } = await startAlarms(t, 0, "Asia/Tokyo");
  await rpm("1", 3100);
  const at = new Date(START_MS + 9 * 3_600_000).toISOString().slice(0, 19).replace("T", " ");
  const raised = await gateside("--history", "5");
  assert.match(raised.stdout, new RegExp(`^[0-9a-f]{32} +active +warning +${at} `));
  assert.match(raised.stdout, new RegExp(`\\n\\n${at} +\\S.*\\n\\ntimes in Asia/Tokyo\\n$`));
  const shelf = await gateside("--shelve", idIn(raised.stdout));
  assert.match(shelf.stdout, /^done, shelved until 20\S+ \d\d:\d\d:\d\d Asia\/Tokyo\n$/);
  const shelved = await gateside("--history", "5");
  assert.match(shelved.stdout, /shelved until 20\S+ \d\d:\d\d:\d\d +warning/);
  assert.doesNotMatch(shelved.stdout, /\dZ/);
  assert.match((await gateside("--json")).stdout, /"until": "20\S+Z"/);
  await gateside("--by", "anna", "--ack", idIn(raised.stdout));
  const refused = await gateside("--by", "ben", "--ack", idIn(raised.stdout));
  assert.match(refused.stderr, /409: anna .* at 20\S+ \d\d:\d\d:\d\d Asia\/Tokyo; add a note/);
  const json = await gateside("--by", "ben", "--json", "--ack", idIn(raised.stdout));
  assert.match(json.stdout, /409: anna .* at 20\S+Z; add a note/);
});

test("gateside alarms – a flag that belongs to another action is refused, not ignored", async (t) => {
  const { gateside } = await startAlarms(t);
  const id = "0".repeat(32);
  for (const [words, message] of [
    [["--ack", id, "--minutes", "5"], "--minutes belongs to --shelve"],
    [["--minutes", "5"], "--minutes belongs to --shelve"],
    [["--id", id], "--id belongs to --note"],
    [["--unshelve", id, "--id", id], "--id belongs to --note"],
  ] as const) {
    const { code, stderr } = await gateside(...words);
    assert.deepEqual([code, stderr.includes(message)], [2, true], stderr);
  }
});

test("gateside alarms – a warning that becomes an alarm is no longer acknowledged; one that becomes less severe still is", async (t) => {
  const { alarms, gateside, rpm } = await startAlarms(t);
  await rpm("1", 3100);
  const id = idIn((await gateside()).stdout);
  await gateside("--by", "anna", "--ack", id);
  await rpm("1", 3200);
  assert.match((await gateside()).stdout, / acknowledged by anna +warning /);
  await rpm("1", 3600);
  assert.match((await gateside()).stdout, / active +alarm /);
  const [event] = alarms.actions.lists({ limit: 1, before: null }).history as object[];
  assert.match(JSON.stringify(event), /"severity":"alarm".*"acknowledged":null/);
  assert.equal((await gateside("--by", "ben", "--ack", id)).stderr, "");
  await rpm("1", 3100);
  assert.match((await gateside()).stdout, / acknowledged by ben +warning /);
});

for (const [hours, where] of [
  [3, "ahead of ours"],
  [-3, "behind ours"],
] as const) {
  test(`gateside alarms – a shelf lasts as long as requested with the gateway's clock ${where}`, async (t) => {
    const { alarms, clock, gateside, gatewayNow, rpm } = await startAlarms(t, hours * 3_600_000);
    await rpm("1", 3100);
    const id = idIn((await gateside()).stdout);
    await gateside("--by", "anna", "--ack", id);
    assert.equal((await gateside("--shelve", id, "--minutes", "60")).stderr, "");
    const [shown] = alarms.actions.lists({ limit: 0, before: null }).shelved;
    const time = new Date(gatewayNow()).toISOString();
    assert.deepEqual(shown?.acknowledged, { by: "anna", time, note: null });
    const shelved = async () => {
      await alarms.upkeep.tick();
      return alarms.actions.counts().shelved;
    };
    await clock.advance(3_540_000);
    assert.equal(await shelved(), 1);
    await clock.advance(120_000);
    assert.equal(await shelved(), 0);
  });
}

test("gateside alarms – the first acknowledgement stays: a second one is refused, and a repetition changes nothing", async (t) => {
  const { alarms, gateside, rpm } = await startAlarms(t);
  await rpm("1", 3100);
  const id = idIn((await gateside()).stdout);
  assert.equal((await gateside("--by", "anna", "--ack", id)).code, 0);
  const second = await gateside("--by", "ben", "--ack", id);
  assert.equal(second.code, 1);
  assert.match(
    second.stderr,
    /409: anna already acknowledged the alarm at 20\S+ \S+ UTC; add a note/,
  );
  const withNote = await gateside("--by", "anna", "--ack", id, "--note", "belt slips");
  assert.match(withNote.stderr, /409/, "its note would be lost");
  assert.equal((await gateside("--by", "anna", "--ack", id)).code, 0);
  const { acknowledged, history } = alarms.actions.lists({ limit: 10, before: null });
  assert.deepEqual(
    acknowledged.map((alarm) => (alarm["acknowledged"] as { by: string }).by),
    ["anna"],
  );
  assert.equal(history.length, 2, "raised and acknowledged once");
  const outcomes = alarms.actions.actions(10).map(({ who, outcome }) => `${who}: ${outcome}`);
  assert.match(outcomes.join("\n"), /^anna: done\nanna: .*\nben: anna already .*\nanna: done$/);
});

test("gateside alarms – errors are one line with exit code 1", async (t) => {
  const { gateside, rpm } = await startAlarms(t);
  await rpm("1", 3100);
  const id = idIn((await gateside()).stdout);
  const unknown = await gateside("--ack", "0".repeat(32));
  assert.equal(unknown.code, 1);
  assert.match(unknown.stderr, /^error: .* 404: 0+ is not an active or shelved alarm\n$/);
  assert.match((await gateside("--unshelve", id)).stderr, /400: the alarm is not shelved/);
  assert.match((await gateside("--ack", id, "--shelve", id)).stderr, /cannot be combined/);
  const json = await gateside("--json", "--ack", "0".repeat(32));
  assert.match(json.stdout, /^\{"error":".*404/);
});

test("HTTP alarm actions – an end that is given twice, or not at all, is refused with the reason", async (t) => {
  const { alarms, gateside, rpm, url } = await startAlarms(t);
  await rpm("1", 3100);
  const id = idIn((await gateside()).stdout);
  const shelve = async (body: object) => {
    const headers = { "content-type": "application/json" };
    const path = `${url}/api/v1/alarms/${id}/shelve`;
    const response = await fetch(path, { method: "POST", headers, body: JSON.stringify(body) });
    return `${response.status} ${await response.text()}`;
  };
  const until = new Date(START_MS + 7_200_000).toISOString();
  assert.match(
    await shelve({ minutes: 5, until }),
    /^400 .*minutes and until cannot be combined: give one/,
  );
  assert.match(await shelve({}), /^400 .*minutes or until is missing/);
  assert.equal(alarms.actions.counts().shelved, 0);
});

test("gateside alarms – baselines are shown while they learn, and relearned on request", async (t) => {
  const { alarms, gateside, rpm } = await startAlarms(t);
  assert.equal((await gateside("--baselines")).stdout, "no baseline is learned or being learned\n");
  await rpm("2", 1480, 1490, 1485, 1482);
  assert.match((await gateside("--baselines")).stdout, /^2\/change\/rpm +any +learning 4 of 10 +/);
  await rpm("2", 1480, 1490, 1485, 1482, 1484, 1486);
  assert.match(
    (await gateside("--baselines")).stdout,
    /any +learned +median 148\d rpm +limits 13\d\d rpm and 16\d\d rpm/,
  );
  const done = await gateside("--by", "ben", "--relearn", "2/change/rpm");
  assert.deepEqual([done.code, done.stdout], [0, "the baseline is being learned again\n"]);
  assert.match((await gateside("--baselines")).stdout, /learning 0 of 10/);
  assert.equal((await gateside("--relearn", "2/none/rpm")).code, 1);
  assert.match((await gateside("--relearn", "2/finding")).stderr, /2\/finding\/normal has no/);
  assert.equal((await gateside("--relearn", "change")).code, 2);
  assert.deepEqual(
    alarms.actions.actions(3).map(({ what, outcome }) => [what, outcome]),
    [
      ["relearn", "2/finding/normal has no baseline"],
      ["relearn", "2/none/rpm has no baseline"],
      ["relearn", "done"],
    ],
  );
  assert.equal(alarms.actions.actions(3)[2]?.who, "ben");
});
