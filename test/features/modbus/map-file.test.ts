import assert from "node:assert/strict";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { ReplaceableSite } from "../../../src/core/site-source.ts";
import { createModbus } from "../../../src/features/modbus/modbus.ts";
import { systemClock } from "../../../src/lib/clock.ts";
import { RecordingLogger } from "../../support/recording-logger.ts";
import { type Cleanup, tempDirectory } from "../../support/temp-database.ts";

const siteOf = (...codes: string[]) => ({
  site: "plant",
  sensors: codes.map((code) => ({ code, type: 1, kinds: ["rpm" as const], channels: {} })),
});

function start(t: Cleanup) {
  const dataDir = tempDirectory(t);
  const site = new ReplaceableSite(siteOf("1"));
  const logger = new RecordingLogger();
  const open = () =>
    createModbus(
      {
        site,
        newest: { of: () => null },
        status: { status: () => assert.fail("nobody reads registers") },
        gatewayNow: () => 0,
        clock: systemClock,
        logger,
        settings: { modbusHost: "127.0.0.1", modbusPort: 0, modbusWordOrder: "big", dataDir },
      },
      0,
      null,
    );
  // Nothing can be created under the name of the new file, as on a full disk.
  const fill = () => mkdirSync(join(dataDir, "modbus-map.json.new"));
  return { fill, logger, open, site };
}

test("modbus map – if it cannot be saved at the start, the agent runs without Modbus", async (t) => {
  const { fill, open } = start(t);
  fill();
  const modbus = open();
  await modbus.run?.(new AbortController().signal);
  assert.match(JSON.stringify(modbus.status?.()), /modbus-map\.json cannot be written: EISDIR/);
});

test("modbus map – if it cannot be saved after a reload, the new site is in effect for everybody", async (t) => {
  const { fill, logger, open, site } = start(t);
  const end = new AbortController();
  t.after(() => end.abort());
  const running = open().run?.(end.signal);
  fill();
  let heard = 0;
  site.onChange(() => {
    heard += 1;
  });
  site.replace(siteOf("1", "2"));
  assert.equal(heard, 1);
  assert.match(logger.text, /modbus addresses of new values are not saved/);
  end.abort();
  await running;
});
