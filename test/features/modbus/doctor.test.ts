import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { doctorView } from "../../../src/cli/doctor-http.ts";
import { MODBUS_SPEC } from "../../../src/features/modbus/spec.ts";
import { startRegisters } from "../../support/registers.ts";
import { tempDirectory } from "../../support/temp-database.ts";

test("doctor – says whether MODBUS_PORT is available, and that a damaged map must be repaired", async (t) => {
  const device = await startRegisters(t, new Map());
  const dataDir = tempDirectory(t);
  const ask = doctorView(
    { dataDir, httpCertFile: null, httpHost: "127.0.0.1", httpToken: null },
    new AbortController().signal,
  );
  const look = (modbusPort: number | null) =>
    MODBUS_SPEC.doctor(
      { dataDir, modbusHost: "127.0.0.1", modbusPort, modbusWordOrder: "big" },
      ask,
    );
  assert.deepEqual(await look(null), []);
  assert.equal((await look(0))[0]?.state, "ok");
  const [taken] = await look(Number(new URL(device.url).port));
  assert.equal(taken?.state, "failed");
  assert.match(taken.detail, /^MODBUS_PORT: .*another program uses it/);
  writeFileSync(join(dataDir, "modbus-map.json"), "{");
  assert.match((await look(0))[0]?.detail ?? "", /modbus-map\.json/);
});
