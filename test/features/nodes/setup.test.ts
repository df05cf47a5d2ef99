/** State reads that are tried in the set-up forms, with registers served by the product's own Modbus server. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { type TestContext, test } from "node:test";
import { fixedSite } from "../../../src/core/site-source.ts";
import type { FeatureHost } from "../../../src/features/host.ts";
import { createNodes } from "../../../src/features/nodes/nodes.ts";
import { silentLogger } from "../../../src/lib/logger.ts";
import { createMetrics } from "../../../src/lib/metrics.ts";
import { ManualClock } from "../../support/manual-clock.ts";
import { FIRST, openSetup, sensor } from "../../support/open-setup.ts";
import { startRegisters } from "../../support/registers.ts";

const onDisk = (path: string) => JSON.parse(readFileSync(path, "utf8"));

function opened(t: TestContext) {
  return openSetup(t, {
    features(setup, settings) {
      // What reads in the background is not run here.
      const host: Partial<FeatureHost> = {
        settings,
        logger: silentLogger,
        metrics: createMetrics(),
        site: fixedSite({ site: FIRST.site, sensors: [] }),
        clock: new ManualClock(),
        gatewayNow: () => 1_764_000_000_000,
        gateway: {
          post: () => Promise.reject(new Error("nothing is read here")),
          state: {} as FeatureHost["gateway"]["state"],
          readState: () => Promise.reject(new Error("no state is read here")),
        },
        readings: {} as FeatureHost["readings"],
      };
      return [createNodes(host as FeatureHost, setup)];
    },
  });
}

test("set-up – state reads are tested before they are saved, each with its values or the reason it failed", async (t) => {
  const device = await startRegisters(t, new Map([[0, 3580]]));
  const { ask, entries, path } = opened(t);
  const before = onDisk(path);
  const registers = [{ address: 0, type: "uint16", scale: 0.001, value: "battery", unit: "V" }];
  const stateReads = [
    { via: "modbus", url: device.url, registers },
    { operation: "getState", fields: { firmware: { from: "FW" } } },
  ];
  const probed = await ask("POST", "probe/states", { sensor: sensor("1", { stateReads }) });
  assert.equal(probed.status, 200, probed.text);
  const [device1, service] = probed.body.reads;
  const { values } = device1;
  assert.deepEqual(values, [{ name: "battery", value: 3.58, unit: "V", quality: "good" }]);
  assert.deepEqual([service.source, service.error], ["getState", "no state is read here"]);
  const faulty = { sensor: sensor("1", { stateReads: [{ via: "modbus", registers }] }) };
  const refused = await ask("POST", "probe/states", faulty);
  assert.equal(refused.status, 422);
  assert.equal(refused.body.faults[0].place, "sensors[0].stateReads[0].url");
  assert.deepEqual(onDisk(path), before);
  assert.deepEqual(
    entries.map(({ detail, outcome }) => [detail, outcome]),
    [
      ["1 node", "200"],
      ["1 node", "422"],
    ],
  );
});
