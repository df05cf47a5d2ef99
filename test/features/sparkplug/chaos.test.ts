import assert from "node:assert/strict";
import { test } from "node:test";
import { Relay } from "../../../scripts/chaos/relay.ts";
import type { Sensor } from "../../../src/core/sensor.ts";
import { fixedSite } from "../../../src/core/site-source.ts";
import type { StoredReading } from "../../../src/core/stored-reading.ts";
import type { Store } from "../../../src/pipeline/store/store.ts";
import { deadlineMs } from "../../support/deadline.ts";
import { skipWithoutMosquitto } from "../../support/mosquitto.ts";
import { append, mainOf, readingOf, tempStore } from "../../support/temp-database.ts";
import { waitUntil } from "../../support/wait-until.ts";
import { TestSite } from "./site.ts";
import { StrictHost } from "./strict-host.ts";
import { startTap } from "./tap.ts";

const SENSORS: Sensor[] = ["101", "102", "103", "104"].map((code) => ({
  code,
  type: 1,
  kinds: ["rpm"],
  channels: {},
}));
const ROUNDS = 200;
/** How long a trouble lasts, or time for the node to work between two records: no event ends either. */
const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));
const isDrained = ({ outbox }: Pick<Store, "outbox">, timeoutMs?: number) =>
  waitUntil("an empty outbox", () => outbox.depth("sparkplug").readings === 0, timeoutMs);

test("sparkplug – every record reaches a recording host despite cuts, lost bytes, dead hosts and dead brokers", {
  skip: skipWithoutMosquitto,
  timeout: deadlineMs(60_000),
}, async (t) => {
  const site = await TestSite.open(t);
  const tap = await startTap(site.broker.port);
  const host = new StrictHost(site.broker.url, "scada");
  const store = tempStore(t, { uplinks: mainOf("sparkplug", "sparkplugWaveform") });
  t.after(async () => {
    await site.stopAll();
    await host.close();
    await tap.close();
  });
  const newest = new Map<string, StoredReading>();
  const expected = new Set<string>();
  const node = site.node(
    {
      site: fixedSite({ site: "s", sensors: SENSORS }),
      hostId: "scada",
      hostHoldMs: 1000,
      link: { url: tap.url },
    },
    {
      outbox: store.outbox,
      waveforms: store.waveforms,
      newest: (sensor, kind) => store.history.latest(sensor, kind) ?? newest.get(sensor) ?? null,
      sensors: () =>
        SENSORS.map(({ code }) => ({
          code,
          state: "online",
          lastReadingMs: store.readings.newestTimeMs(code, "rpm"),
        })),
    },
  );
  const start = Date.now() - 3_600_000;
  const record = async (round: number) => {
    for (const { code } of SENSORS) {
      // Every seventh comes late: behind one that was already sent.
      const timeMs = start + (round % 7 === 0 ? round - 20 : round) * 1000 + (round % 7);
      expected.add(`${code} rpm/rpm ${timeMs}`);
      await append(store, [readingOf(code, timeMs, { salt: `${round}` })]);
    }
  };
  for (let round = 0; round < ROUNDS; round++) await record(round);
  site.run(node);

  const troubles: readonly (() => void | Promise<void>)[] = [
    () => tap.cut(),
    async () => {
      tap.swallow(true);
      await pause(60);
      tap.swallow(false);
      tap.cut();
    },
    () => host.drop(),
    async () => {
      await site.broker.kill();
      await site.broker.restart();
    },
  ];
  for (let round = ROUNDS; round < 2 * ROUNDS; round++) {
    await record(round);
    if (round % 25 === 0) await troubles[(round / 25) % troubles.length]?.();
    else await pause(10);
  }
  await isDrained(store, 60_000);
  const missing = [...expected].filter((key) => !host.values.has(key));
  assert.deepEqual(missing, []);
  assert.deepEqual(host.faults, []);
  assert.ok(host.births >= 7, `${host.births} sessions`);
  const repeats = [...host.values.values()].filter((count) => count > 1).length;
  t.diagnostic(`${host.values.size} values, ${repeats} of them repeated, ${host.births} sessions`);
});

test("sparkplug – a host that returns before the node knew that it was gone gets births, and everything it could not decode again", {
  skip: skipWithoutMosquitto,
  timeout: deadlineMs(30_000),
}, async (t) => {
  const site = await TestSite.open(t);
  const cable = new Relay(site.broker.port);
  await cable.listen();
  const host = new StrictHost(site.broker.url, "scada");
  const store = tempStore(t, { uplinks: mainOf("sparkplug", "sparkplugWaveform") });
  t.after(async () => {
    await site.stopAll();
    await host.close();
    await cable.close();
  });
  const sensors = SENSORS.slice(0, 1);
  site.states.set("101", { state: "online", lastReadingMs: null });
  const { outbox } = store;
  site.run(
    site.node(
      { site: fixedSite({ site: "s", sensors }), hostId: "scada", link: { url: cable.url } },
      { outbox },
    ),
  );
  await waitUntil("a birth", () => host.births > 0);
  // The broker's word that the host is gone takes longer than the host needs to be back.
  cable.delayAnswers(500);
  host.drop();
  await waitUntil("the host's return", () => host.sessions >= 2);
  const start = Date.now() - 60_000;
  const expected = new Set<string>();
  for (let n = 0; host.births < 2; n++) {
    expected.add(`101 rpm/rpm ${start + n}`);
    await append(store, [readingOf("101", start + n, { salt: `${n}` })]);
    await pause(10);
  }
  const missing = () => [...expected].filter((key) => !host.values.has(key));
  await waitUntil("every record", () => missing().length === 0);
  assert.deepEqual(host.faults, []);
});

test("sparkplug – a live reading that may have arrived is historical when it is sent again", {
  skip: skipWithoutMosquitto,
}, async (t) => {
  const site = await TestSite.open(t);
  const tap = await startTap(site.broker.port);
  const store = tempStore(t, { uplinks: mainOf("sparkplug", "sparkplugWaveform") });
  t.after(async () => {
    await site.stopAll();
    await tap.close();
  });
  site.states.set("101", { state: "online", lastReadingMs: null });
  const sensors = SENSORS.slice(0, 1);
  site.run(
    site.node(
      { site: fixedSite({ site: "s", sensors }), link: { url: tap.url } },
      { outbox: store.outbox },
    ),
  );
  await site.until((m) => m.length === 2);
  tap.swallow(true);
  await append(store, [readingOf("101", Date.now() - 1000)]);
  const written = () => tap.connections[0]?.packets.filter((p) => p.cmd === "publish").length ?? 0;
  await waitUntil("the write of the reading", () => written() >= 3);
  tap.swallow(false);
  tap.cut();
  await site.until((m) => m.some(({ verb }) => verb === "DDATA"));
  assert.deepEqual(
    site.of("DDATA").flatMap((m) => m.payload.metrics.map((x) => x.isHistorical)),
    [true],
  );
  await isDrained(store);
});
