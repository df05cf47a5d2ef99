import assert from "node:assert/strict";
import { once } from "node:events";
import { mkdirSync, rmdirSync } from "node:fs";
import { connect } from "node:net";
import { join } from "node:path";
import { test } from "node:test";
import { ReplaceableSite } from "../../../src/core/site-source.ts";
import type { Feature } from "../../../src/features/feature.ts";
import { createModbus } from "../../../src/features/modbus/modbus.ts";
import { ManualClock } from "../../support/manual-clock.ts";
import { RecordingLogger } from "../../support/recording-logger.ts";
import { type Cleanup, tempDirectory } from "../../support/temp-database.ts";
import { waitUntil } from "../../support/wait-until.ts";

const siteOf = (...codes: string[]) => ({
  site: "plant",
  sensors: codes.map((code) => ({ code, type: 1, kinds: ["rpm" as const], channels: {} })),
});

function start(t: Cleanup) {
  const dataDir = tempDirectory(t);
  const site = new ReplaceableSite(siteOf("1"));
  const logger = new RecordingLogger();
  const clock = new ManualClock();
  const open = () =>
    createModbus(
      {
        site,
        newest: { of: () => null },
        status: { status: () => ({ gateway: { isUp: true }, sensors: [] }) as never },
        gatewayNow: () => 0,
        clock,
        logger,
        settings: { modbusHost: "127.0.0.1", modbusPort: 0, modbusWordOrder: "big", dataDir },
      },
      0,
      null,
    );
  // Nothing can be created under the name of the new file, as on a full disk.
  const fill = () => mkdirSync(join(dataDir, "modbus-map.json.new"));
  const free = () => rmdirSync(join(dataDir, "modbus-map.json.new"));
  return { clock, fill, free, logger, open, site };
}

test("modbus map – what cannot be saved has no addresses, is said, and is saved once there is room", async (t) => {
  const { clock, fill, free, logger, open, site } = start(t);
  const end = new AbortController();
  t.after(() => end.abort());
  const modbus = open();
  fill();
  const running = modbus.run?.(end.signal);
  await waitUntil("modbus listens", () => (portOf(modbus) ?? 0) > 0);
  const [first, second] = [8, 8 + 4 * 4];
  assert.deepEqual(await readsOf(modbus, first, second), [false, false]);
  assert.match(
    JSON.stringify(modbus.status?.()),
    /new values have no addresses yet: .*modbus-map\.json cannot be written: /,
  );
  free();
  await clock.advance(11_000);
  assert.deepEqual(await readsOf(modbus, first, second), [true, false]);
  fill();
  let heard = 0;
  site.onChange(() => {
    heard += 1;
  });
  site.replace(siteOf("1", "2"));
  assert.equal(heard, 1, "the new site is in effect for everybody");
  assert.match(logger.text, /modbus addresses of new values are not saved/);
  assert.deepEqual(await readsOf(modbus, first, second), [true, false]);
  free();
  await clock.advance(11_000);
  assert.deepEqual(await readsOf(modbus, first, second), [true, true]);
  assert.match(JSON.stringify(modbus.status?.()), /"lastError":null/);
  end.abort();
  await running;
});

function portOf(modbus: Feature): number | null {
  const port = /"address":"[^"]*:(\d+)"/.exec(JSON.stringify(modbus.status?.()))?.[1];
  return port === undefined ? null : Number(port);
}

/** Whether each address can be read. */
async function readsOf(modbus: Feature, ...addresses: number[]): Promise<boolean[]> {
  const socket = connect(Number(portOf(modbus)), "127.0.0.1");
  const answers: boolean[] = [];
  for (const address of addresses) {
    socket.write(Buffer.from([0, 1, 0, 0, 0, 6, 1, 3, 0, address, 0, 1]));
    const [response] = (await once(socket, "data")) as [Buffer];
    answers.push(response[7] === 3);
  }
  socket.destroy();
  return answers;
}
