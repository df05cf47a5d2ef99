/** SIGHUP in the first moments after the start, with the built agent. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { deadlineMs } from "../support/deadline.ts";
import { envelope } from "../support/fake-gateway.ts";
import { startFakeSite } from "../support/fake-site.ts";
import { skipWithoutMosquitto } from "../support/mosquitto.ts";
import { skipWithoutBuild } from "../support/plant.ts";
import { until } from "../support/wait-until.ts";

/** Whether the process has a handler of SIGHUP: bit 0 of the caught signals. */
function catchesHangUp(pid: number): boolean {
  const mask = /^SigCgt:\s*([0-9a-f]+)$/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1];
  return mask !== undefined && Number.parseInt(mask.slice(-1), 16) % 2 === 1;
}

test("SIGHUP as soon as the process can catch it does not end the agent", {
  skip: skipWithoutBuild || skipWithoutMosquitto,
  timeout: deadlineMs(60_000),
}, async (t) => {
  const site = await startFakeSite(t, {
    answer: () => envelope([]),
    sensors: [{ code: "100", type: 40, kinds: ["rpm"] }],
  });
  const agent = site.startAgent();
  const pid = agent.process.pid ?? 0;
  let sent = 0;
  const isOpen = () => agent.log.some((line) => typeof line["address"] === "string");
  await until("the agent to listen", async () => {
    if (agent.process.exitCode !== null || agent.process.signalCode !== null)
      assert.fail(`the agent ended after ${sent} signals`);
    if (!isOpen() && catchesHangUp(pid)) sent += agent.process.kill("SIGHUP") ? 1 : 0;
    return isOpen() || undefined;
  });
  assert.ok(sent > 0);
  assert.equal(await agent.stop(), 0);
});
