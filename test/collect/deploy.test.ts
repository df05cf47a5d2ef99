import assert from "node:assert/strict";
import { test } from "node:test";
import { Writer } from "../../src/collect/database/writer.ts";
import { createCollectMetrics } from "../../src/collect/metrics.ts";
import { expandedSql, readBoards } from "../support/boards.ts";
import { entry as entryOf, readingPayload } from "../support/collecting.ts";
import { deadlineMs } from "../support/deadline.ts";
import { openPostgres, skipWithoutPostgres } from "../support/postgres.ts";

const boards = readBoards();

test("boards – every SQL query of the Grafana boards runs over real data and returns rows", {
  skip: skipWithoutPostgres,
  timeout: deadlineMs(60_000),
}, async (t) => {
  const postgres = await openPostgres();
  t.after(() => postgres.close());
  const url = await postgres.createDatabase("boards");
  const writer = new Writer(url);
  t.after(() => writer.close());
  const time = new Date(Date.now() - 60_000).toISOString();
  const entry = (topic: string, body: unknown) =>
    entryOf(`gateside/plant-7/${topic}`, typeof body === "string" ? body : JSON.stringify(body));
  const doubt = {
    quality: { rpm: { quality: "bad", reason: "missing" } },
    values: { rpm: null, battery: 3.6 },
  };
  await writer.write([
    entry("100/rpm", readingPayload(0, { time })),
    entry("100/rpm/history", readingPayload(5, { ...doubt })),
    entry("100/accel", readingPayload(6, { kind: "accel", time, values: { channel1_vel_rms: 2 } })),
    entry("100/state", { state: "online", lastReading: time, battery: 3.4 }),
    entry("agent/state", { state: "online", time, version: "0.2.0" }),
    entry("agent/stats", {
      v: 1,
      time,
      buffer: { depth: 1, hoursUntilFull: 4 },
      sensors: { silent: 0 },
    }),
    entry("agent/gap", {
      v: 1,
      site: "plant-7",
      sensor: "100",
      kind: "rpm",
      from: time,
      to: time,
      count: 1,
      reason: "space",
    }),
    entry("agent/event", {
      v: 1,
      id: "e",
      site: "plant-7",
      sensor: "100",
      kind: "rpm",
      value: "rpm",
      alarm: "fast",
      severity: "alarm",
      state: "active",
      time,
    }),
    entry("100/waveform/channel1", {
      v: 1,
      id: "a".repeat(32),
      site: "plant-7",
      sensor: "100",
      time,
      channel: "channel1",
      base64: Buffer.alloc(8).toString("base64"),
    }),
    entry("101/about", {
      v: 1,
      site: "plant-7",
      sensor: "101",
      kinds: ["accel"],
      location: { machine: 40 },
    }),
    entry("machine/40", {
      v: 1,
      site: "plant-7",
      machine: 40,
      name: "Pump 4",
      area: "Hall",
      time,
      condition: "ok",
      acknowledged: false,
      alarmCount: { alarm: 0, warning: 0 },
    }),
    entry("100/rpm", "{"),
  ]);
  const variables = {
    site: "plant-7",
    sensor: "100",
    value: "rpm",
    velocity: "channel1_vel_rms",
    area: "Hall",
    machine: "Pump 4",
  };
  let queries = 0;
  for (const { uid, panels, templating } of boards) {
    const sql = panels.flatMap(({ title, targets }) =>
      targets.map(({ rawSql }) => [title, rawSql] as const),
    );
    const lists = templating.list
      .filter(({ type }) => type === "query")
      .map(({ name, query }) => [name, query] as const);
    for (const [title, text] of [...sql, ...lists]) {
      if (text === undefined) continue;
      const year = "now() - interval '1 year'";
      for (const range of [{}, { from: year, interval: "6h" }, { from: year, interval: "1d" }]) {
        const rows: object[] = await postgres.query(
          url,
          expandedSql(text, { variables, ...range }),
        );
        assert.ok(rows.length > 0, `${uid}: ${title} finds nothing`);
        // Readings, hours and days of one range would show a point twice.
        assert.equal(new Set(rows.map((row) => JSON.stringify(row))).size, rows.length);
      }
      queries += 1;
    }
  }
  assert.ok(queries >= 20);
});

test("boards – panel numbers are unique, and collectors have every metric that panels name", () => {
  const names = new Set(
    createCollectMetrics("x")
      .registry.getMetricsAsArray()
      .map(({ name }) => name),
  );
  for (const { panels } of boards) {
    assert.equal(new Set(panels.map(({ id }) => id)).size, panels.length);
    for (const { expr = "" } of panels.flatMap(({ targets }) => targets))
      for (const [name] of expr.matchAll(/gateside_\w+/g))
        assert.ok(names.has(name.replace(/_(bucket|sum|count)$/, "")), name);
  }
});
