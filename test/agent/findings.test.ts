/** Findings over the whole house: the built program, a real broker, and a simulated machine whose bearing goes. */
import assert from "node:assert/strict";
import { readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { deadlineMs } from "../support/deadline.ts";
import { failingBearing } from "../support/failing-bearing.ts";
import { skipWithoutMosquitto } from "../support/mosquitto.ts";
import { skipWithoutBuild } from "../support/plant.ts";
import { runCommand } from "../support/run-command.ts";

interface Answer {
  readonly findings: readonly {
    readonly finding: string;
    readonly evidence: readonly { readonly name: string; readonly order: number }[];
    readonly text: string;
  }[];
  readonly checked: readonly { readonly cannotTell: readonly { readonly text: string }[] }[];
}

test("findings – a developing bearing fault is reported once and shown with its evidence; a machine without speed says that it needs one", {
  skip: skipWithoutBuild || skipWithoutMosquitto,
  timeout: deadlineMs(120_000),
}, async (t) => {
  const { plant, id, accel, bearing, write } = await failingBearing(t, {
    historyDays: 0.1,
    speed: 20,
    accelS: 120,
  });
  const all = await plant.subscribe();
  const agent = plant.startAgent();
  const address = await agent.address;
  const findingEvents = () =>
    all.messages
      .filter(({ topic }) => topic.endsWith("/agent/event"))
      .map(({ text }) => JSON.parse(text) as Record<string, unknown>)
      .filter(({ alarm }) => alarm === "finding");
  await all.waitUntil(() => findingEvents().length > 0, 60_000);
  const [event] = findingEvents();
  assert.equal(event?.["value"], "bearing_outer_race/6205");
  assert.equal(event?.["sensor"], accel.code);
  assert.equal(event?.["state"], "active");
  // Not what the list says now: a machine that has just stopped has readings without its lines.
  assert.match(String(event["text"]), /5 readings in a row/);
  const ask = async (): Promise<Answer> =>
    (await fetch(`${address}/api/v1/machines/${id}/findings`)).json() as Promise<Answer>;
  const [finding] = (await ask()).findings;
  assert.equal(finding?.finding, "bearing_outer_race");
  assert.ok(
    finding.evidence.some(({ name, order }) => name === "BPFO" && Math.abs(order - 3.585) < 0.08),
  );
  assert.match(finding.text, /Outer-race damage of bearing 6205 on Pump 1/);
  const list = await (await fetch(`${address}/api/v1/machines`)).text();
  assert.match(list, /"name":"Pump 1"/);
  assert.equal((await fetch(`${address}/api/v1/machines/999/findings`)).status, 404);
  assert.equal(
    findingEvents().filter(({ value }) => value === event["value"]).length,
    1,
    "reported once",
  );

  const report = async () => {
    const words = ["report", "--machine", "Pump 1", "--from", "2020-01-01", "--to", "2038-01-01"];
    const misspelt = { ...plant.env, HTTP_PROT: "8080" };
    const { code, stdout, stderr } = await runCommand(words, { env: misspelt });
    assert.equal(code, 0, stderr);
    assert.match(stderr, /^warning: HTTP_PROT: .*\n$/, "each warning once");
    return stdout;
  };
  const running = await report();
  await agent.stop();
  const held = filesIn(plant.dataDir);
  const stopped = await report();
  assert.deepEqual(filesIn(plant.dataDir), held, "it only reads");
  for (const what of [
    /<h3>Outer-race damage, bearing 6205, .*stage \d of 3/,
    /Spectrum of /,
    /velocity<\/figcaption>/,
    /Outer-race damage of bearing 6205 on Pump 1/,
  ]) {
    assert.match(running, what);
    assert.match(stopped, what);
  }
  const unknown = await runCommand(["report", "--machine", "Pump 99"], { env: plant.env });
  assert.equal(unknown.code, 1);
  assert.match(
    unknown.stderr,
    /no machine "Pump 99"; there are\n(?: {2}\d+ {2}.+\n)* {2}\d+ {2}Pump 1\n/,
  );

  write({ name: "Pump 1", bearings: [bearing] });
  const again = plant.startAgent();
  const other = await again.address;
  const answer = (await (await fetch(`${other}/api/v1/machines/${id}/findings`)).json()) as Answer;
  assert.match(answer.checked[0]?.cannotTell[0]?.text ?? "", /need the shaft speed/);
});

/** Name, size and content's time of each file. */
function filesIn(directory: string): string[] {
  return readdirSync(directory)
    .filter((name) => !/-(?:wal|shm)$/.test(name))
    .map((name) => {
      const { size, mtimeMs, ino } = statSync(join(directory, name));
      return `${name} ${size} ${mtimeMs} ${ino}`;
    });
}
