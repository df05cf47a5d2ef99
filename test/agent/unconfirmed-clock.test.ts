/** A box that starts years ahead while the gateway is away: the built agent under libfaketime. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import Database from "better-sqlite3";
import { deadlineMs } from "../support/deadline.ts";
import { fakeTimeLibrary } from "../support/fake-time.ts";
import { freePort, skipWithoutMosquitto } from "../support/mosquitto.ts";
import { type BuiltAgent, skipWithoutBuild, startPlant } from "../support/plant.ts";
import { runCommand } from "../support/run-command.ts";
import { until } from "../support/wait-until.ts";

interface Status {
  readonly buffer: { readonly readings: number };
  readonly clock: { readonly isConfirmed: boolean };
  readonly gateway: { readonly lastError: string | null };
  readonly links: readonly { readonly pending: number }[];
}

test("clock – years ahead while the gateway is away, stored readings stay, and status says that the clock is not confirmed", {
  skip:
    skipWithoutBuild ||
    skipWithoutMosquitto ||
    (fakeTimeLibrary() === null && "libfaketime is not installed"),
  timeout: deadlineMs(90_000),
}, async (t) => {
  const plant = await startPlant(t, {
    simulator: { sensors: 2, speed: 20, cadenceS: { rpm: 30, loop: 30 } },
  });
  const statusOf = async (agent: BuiltAgent) =>
    (await (await fetch(`${await agent.address}/api/v1/status`)).json()) as Status;
  const first = plant.startAgent();
  await until("readings, delivered, and a confirmed clock", async () => {
    const { buffer, clock, links } = await statusOf(first);
    const isDelivered = links.every(({ pending }) => pending === 0);
    return (buffer.readings > 20 && isDelivered && clock.isConfirmed) || undefined;
  });
  assert.equal(await first.stop(), 0);
  const path = join(plant.dataDir, "gateside.db");
  const count = () => {
    const db = new Database(path);
    t.after(() => db.close());
    return db.prepare("SELECT count(*) FROM readings").pluck().get() as number;
  };
  const before = count();
  // As after an hour under the new clock, when it used to be believed.
  const db = new Database(path);
  db.prepare("DELETE FROM meta WHERE name = 'retention_clock_ms'").run();
  db.close();

  const years = plant.startAgent({
    GATEWAY_URL: `http://127.0.0.1:${await freePort()}`,
    LD_PRELOAD: fakeTimeLibrary() ?? "",
    FAKETIME: "+1825d",
    FAKETIME_DONT_FAKE_MONOTONIC: "1",
    NO_FAKE_STAT: "1",
  });
  await until("the gateway is away", async () => (await statusOf(years)).gateway.lastError);
  const { clock } = await statusOf(years);
  assert.equal(clock.isConfirmed, false);
  const shown = await runCommand(["status"], { env: plant.env });
  assert.match(shown.stdout, /clock +not confirmed/);
  assert.doesNotMatch(shown.stdout, /plausible/i);
  assert.equal(await years.stop(), 0);
  assert.equal(count(), before);
});
