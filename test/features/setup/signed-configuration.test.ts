/** Signed configurations over MQTT with the built program: taken, tried, kept or taken back, over a kill in the trial, too. */
import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { get } from "node:http";
import { dirname, join } from "node:path";
import { type TestContext, test } from "node:test";
import { deadlineMs } from "../../support/deadline.ts";
import { skipWithoutMosquitto } from "../../support/mosquitto.ts";
import { type Plant, skipWithoutBuild, startPlant } from "../../support/plant.ts";
import { runCommand } from "../../support/run-command.ts";

const options = { skip: skipWithoutMosquitto || skipWithoutBuild, timeout: deadlineMs(90_000) };
const TOPIC = "gateside/plant/agent/cmd/site";

interface Answer {
  readonly ok: boolean;
  readonly outcome: string;
  readonly version: number | null;
  readonly reason: string | null;
  readonly detail: string;
  readonly configuration: string;
}

async function setUp(t: TestContext, trialS = 5) {
  const plant = await startPlant(t, { simulator: { sensors: 3 } });
  const directory = dirname(plant.siteFile);
  const keys = await runCommand(["sign", "--new-key", "fleet"], { cwd: directory });
  assert.equal(keys.code, 0, keys.stderr);
  const env = {
    CONFIG_PUBLIC_KEY_FILE: join(directory, "fleet.pub.pem"),
    CONFIG_TRIAL_S: String(trialS),
    HTTP_PORT: "off",
  };
  const seen = await plant.subscribe();
  const sign = async (site: unknown, ...more: string[]) => {
    writeFileSync(join(directory, "next.json"), JSON.stringify(site));
    const flags = ["--key", "fleet.key.pem", "--site-file", "next.json", ...more];
    const signed = await runCommand(["sign", ...flags], { cwd: directory });
    assert.equal(signed.code, 0, signed.stderr);
    return signed.stdout.trim();
  };
  const answers = (topic = `${TOPIC}/result`) =>
    seen.onTopic(topic).map(({ text }) => JSON.parse(text) as Answer);
  const answer = async (outcome: string) => {
    await seen.waitUntil(() => answers().some((one) => one.outcome === outcome), 30_000);
    return answers().find((one) => one.outcome === outcome) as Answer;
  };
  const online = (count: number) =>
    seen.waitUntil(
      () =>
        seen
          .onTopic("gateside/plant/agent/state")
          .filter(({ text }) => /"(started|reconnected)"/.test(text)).length >= count,
      30_000,
    );
  const site = () => JSON.parse(readFileSync(plant.siteFile, "utf8"));
  return { plant, env, seen, sign, answers, answer, online, site };
}

/** Entries of signed documents in the audit log, newest first. */
async function audited(
  plant: Plant,
): Promise<{ what: string; detail: string; outcome: string; times: number }[]> {
  const text = await new Promise<string>((resolve, reject) => {
    const socketPath = join(plant.dataDir, "gateside.sock");
    get({ socketPath, path: "/api/v1/audit" }, (answer) => {
      let body = "";
      answer.setEncoding("utf8").on("data", (part: string) => {
        body += part;
      });
      answer.once("end", () => resolve(body));
    }).once("error", reject);
  });
  const { entries } = JSON.parse(text);
  return entries.filter(({ who }: { who: string }) => who === "signed document");
}

test(
  "signed configuration – a good one is applied and kept; a repeat is reported, an older, unsigned or truncated one and one for another box refused, and no response goes outside COMMAND_RESPONSE_PREFIX",
  options,
  async (t) => {
    const { plant, env, seen, sign, answers, answer, online, site } = await setUp(t);
    const agent = plant.startAgent({ ...env, COMMAND_RESPONSE_PREFIX: "fleet" });
    await online(1);
    const before = site();
    const next = { ...before, sensors: before.sensors.slice(1) };
    const document = await sign(next, "--version", "7");
    await seen.publish(TOPIC, document);
    const kept = await answer("applied");
    assert.equal(kept.version, 7);
    assert.deepEqual(site(), next);
    assert.equal(answers()[0]?.outcome, "trial");

    await seen.publish(TOPIC, await sign(before, "--version", "7"));
    const refused = await answer("refused");
    assert.equal(refused.reason, "version");
    await seen.publish(TOPIC, document, { responseTopic: "fleet/answers" });
    await seen.waitFor(
      ({ topic, text }) => topic === "fleet/answers" && text.includes("already received"),
    );
    for (let i = 0; i < 3; i++)
      await seen.publish(TOPIC, '{"payload":"AAAA","signature":"AAAA"}', {
        responseTopic: "elsewhere/answers",
      });
    await seen.waitUntil(
      () => answers().filter(({ reason }) => reason === "signature").length === 3,
    );
    const newer = await sign({ ...next, site: "plant-8" }, "--version", "9");
    for (const [text, reason] of [
      [newer, "site"],
      [(await sign(next, "--version", "9")).slice(0, -2), "not_a_document"],
    ] as const) {
      await seen.publish(TOPIC, text);
      await seen.waitUntil(() => answers().some((one) => one.reason === reason));
    }
    await seen.publish(TOPIC, await sign({ ...next, sensors: [{ code: "" }] }, "--version", "8"));
    await seen.waitUntil(() => answers().some(({ reason }) => reason === "content"));
    assert.deepEqual(site(), next);
    assert.equal(agent.process.exitCode, null);
    const entries = await audited(plant);
    assert.ok(entries.every(({ what }) => what === "configuration"));
    assert.deepEqual(
      entries.map(({ detail, outcome, times }) => [detail, outcome, times]),
      [
        ["version 8: content", "refused", 1],
        ["no version: not_a_document", "refused", 1],
        ["no version: site", "refused", 1],
        // What anybody can send without the key cannot fill the log: one entry a minute.
        ["no version: signature", "refused", 3],
        ["version 7", "replayed", 1],
        ["version 7: version", "refused", 1],
        ["version 7", "applied", 1],
        ["version 7", "trial", 1],
      ],
    );
  },
);

test(
  "signed configuration – one that reads worse than before is reverted, in the file and the agent",
  options,
  async (t) => {
    const { plant, env, seen, sign, answers, answer, online, site } = await setUp(t);
    plant.startAgent(env);
    await online(1);
    const before = site();
    const codes: string[] = before.sensors.map(({ code }: { code: string }) => code);
    await seen.waitUntil(
      () =>
        codes.every((code) =>
          seen.onTopic(`gateside/plant/${code}/state`).some(({ text }) => text.includes("online")),
        ),
      30_000,
    );
    // The gateway knows no sensor of this type: every read of it fails.
    const worse = {
      ...before,
      sensors: before.sensors.map((one: object) => ({ ...one, type: 9999 })),
    };
    await seen.publish(TOPIC, await sign(worse));
    await answer("trial");
    // An unsigned one is refused as such, not asked to wait for the end of the trial.
    await seen.publish(TOPIC, '{"payload":"AAAA","signature":"AAAA"}');
    await seen.waitUntil(() => answers().some(({ reason }) => reason === "signature"), 30_000);
    const back = await answer("rolled_back");
    assert.equal(back.reason, "trial");
    assert.match(back.detail, /not as good as before/);
    assert.deepEqual(site(), before);
  },
);

test(
  "signed configuration – an agent killed during the trial starts with the last good one, and reports it",
  options,
  async (t) => {
    const { plant, env, seen, sign, answer, online, site } = await setUp(t, 600);
    const agent = plant.startAgent(env);
    await online(1);
    const before = site();
    await seen.publish(TOPIC, await sign({ ...before, sensors: before.sensors.slice(1) }));
    await answer("trial");
    assert.notDeepEqual(site(), before);
    await agent.kill();
    plant.startAgent(env);
    const back = await answer("rolled_back");
    assert.match(back.detail, /stopped during the trial/);
    assert.deepEqual(site(), before);
  },
);

test(
  "signed configuration – a flood of unsigned documents is looked at for a few a second, and a signed one still gets through",
  options,
  async (t) => {
    const { plant, env, seen, sign, answers, answer, online, site } = await setUp(t);
    const agent = plant.startAgent(env);
    await online(1);
    const unsigned = JSON.stringify({ payload: "A".repeat(4000), signature: "AAAA" });
    await Promise.all(Array.from({ length: 200 }, () => seen.publish(TOPIC, unsigned)));
    const before = site();
    const next = { ...before, sensors: before.sensors.slice(1) };
    const document = await sign(next, "--version", "7");
    // Whoever has no answer asks again.
    const again = setInterval(() => void seen.publish(TOPIC, document), 1_000);
    t.after(() => clearInterval(again));
    assert.equal((await answer("applied")).version, 7);
    clearInterval(again);
    assert.ok(answers().filter(({ reason }) => reason === "signature").length < 100);
    assert.ok(agent.log.some(({ msg }) => /exceed the rate limit/.test(String(msg))));
    await agent.stop();
  },
);
