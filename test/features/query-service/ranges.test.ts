import assert from "node:assert/strict";
import { request } from "node:http";
import { test } from "node:test";
import {
  HISTORY_LIMITS,
  type HistoryLimits,
} from "../../../src/features/query-service/history-limits.ts";
import { queryRoutes } from "../../../src/features/query-service/query-service.ts";
import { createHttpServer } from "../../../src/http/server.ts";
import { NOW, OPTIONS, type TestParts } from "../../support/http-parts.ts";
import { queryParts } from "./query-parts.ts";

/** As many as a sensor read every 30 s gives in four days. */
const READINGS = 11_520;
const STEP_MS = 30_000;
const START = NOW - READINGS * STEP_MS;

function loopSensor(): TestParts {
  const parts = queryParts();
  for (let n = 0; n < READINGS; n++) {
    const values = { channel1: n, channel1_ma: 4, channel2: -n, channel2_ma: 5 };
    const units = { channel1: "bar", channel1_ma: "mA", channel2: "bar", channel2_ma: "mA" };
    const timeMs = START + n * STEP_MS;
    parts.history.add({ sensor: "30007", kind: "loop", timeMs, values, units });
  }
  return parts;
}

async function service(
  t: { after(end: () => Promise<void>): void },
  parts: TestParts,
  limits: Partial<HistoryLimits> = {},
) {
  const routes = [queryRoutes(null, { ...HISTORY_LIMITS, ...limits })];
  const server = createHttpServer({ ...parts, routes }, OPTIONS);
  const address = await server.listen();
  t.after(() => server.close());
  const ask = async (operation: string, fields: object) => {
    const answer = await fetch(`${address}/ApiWeb.svc/${operation}`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ Token: "x", ...fields }),
    });
    return JSON.parse(await answer.text())[0];
  };
  return { ask, address };
}

interface Channel {
  readonly Channel: number;
  readonly values: readonly [readonly { readonly Date: string; readonly Value: number }[]];
}

test("query service – a range with more rows than fit in memory is returned in full, and no record is split between channels", async (t) => {
  const { ask } = await service(t, loopSensor());
  const { Key, Value } = await ask("GetDataBySensor", { sensorCode: 30007 });
  assert.deepEqual([Key.StatusNumber, Key.Description], [0, "OK"]);
  const channels = Value as Channel[];
  assert.deepEqual(
    channels.map(({ Channel }) => Channel),
    [1, 2],
  );
  for (const { Channel: channel, values } of channels) {
    const [elements] = values;
    assert.equal(elements.length, 2 * READINGS, `channel ${channel}`);
    const dates = elements.map((element) => element.Date);
    assert.deepEqual(dates, [...dates].sort(), "ascending");
    // Value and mA of each reading.
    assert.equal(elements[0]?.Value, 0);
    assert.equal(elements.at(-2)?.Value, (READINGS - 1) * (channel === 1 ? 1 : -1));
  }
});

test("query service – GetExtraValues of a long range returns every row, oldest first", async (t) => {
  const { ask } = await service(t, loopSensor());
  const mA = 105;
  const { Value } = await ask("GetExtraValues", { machinecode: 41, pointindex: 1, unit: mA });
  assert.equal(Value.length, 2 * READINGS);
  const dates = (Value as { readonly date: string }[]).map(({ date }) => date);
  assert.deepEqual(dates, dates.toSorted());
  assert.equal(
    new Set(dates).size,
    READINGS,
    "each has its two values, also where the walk goes on",
  );
});

test("query service – a response that exceeds the limits of the box is refused with a message, not truncated", async (t) => {
  const { ask } = await service(t, loopSensor(), { bytesMax: 1_000_000 });
  const { Key, Value } = await ask("GetDataBySensor", { sensorCode: 30007 });
  assert.equal(Key.StatusNumber, 9007);
  assert.match(Key.Description, /^response too large: about \d+ MB.*request a shorter range$/);
  assert.deepEqual(Value, []);
  const day = { StartDate: "2026-11-19", EndDate: "2026-11-19" };
  const whole = await ask("GetDataBySensor", { sensorCode: 30007, ...day });
  assert.equal(whole.Key.StatusNumber, 0);
  assert.equal(whole.Value[0].values[0].length, 2 * 2880);
});

test("query service – readings stored while a response is sent appear in all of its channels or in none", async (t) => {
  const parts = loopSensor();
  const merged = parts.history.merged.bind(parts.history);
  let extra = 0;
  let pages = 0;
  parts.history.merged = function* (range) {
    for (const found of merged(range)) {
      pages += 1;
      yield found;
      const last = found.at(-1);
      if (pages < 70 || last === undefined) continue;
      // A late record, stored between two walks.
      extra += 1;
      yield [{ ...last, seq: 1_000_000 + extra }];
    }
  };
  const { ask } = await service(t, parts, { heldRowsMax: 10 });
  const { Value } = await ask("GetDataBySensor", { sensorCode: 30007 });
  const [one, two] = Value as Channel[];
  assert.ok(extra > 0);
  assert.deepEqual(
    one?.values[0].map(({ Date: date }) => date),
    two?.values[0].map(({ Date: date }) => date),
  );
});

test("query service – a late reading and a live one that are stored while a response is sent do not end it", async (t) => {
  const parts = loopSensor();
  const { history } = parts;
  const merged = history.merged.bind(history);
  const store = (timeMs: number) =>
    history.add({ sensor: "30007", kind: "loop", timeMs, values: { channel1: 7, channel2: 8 } });
  let walks = 0;
  history.merged = function* (range) {
    walks += 1;
    let pages = 0;
    for (const page of merged(range)) {
      yield page;
      pages += 1;
      // The first walk that is sent is past the late one's time, and meets the live one.
      if (walks === 2 && pages === 50) store(START + STEP_MS / 2);
    }
    if (walks === 2) yield [store(NOW - 1)];
  };
  const { ask } = await service(t, parts, { heldRowsMax: 10 });
  const { Value } = await ask("GetDataBySensor", { sensorCode: 30007 });
  assert.equal(walks, 3);
  for (const { values } of Value as Channel[]) assert.equal(values[0].length, 2 * READINGS);
});

test("query service – a query ends when its client disconnects", async (t) => {
  const parts = loopSensor();
  const merged = parts.history.merged.bind(parts.history);
  let pages = 0;
  let met = () => {};
  const begun = new Promise<void>((resolve) => {
    met = resolve;
  });
  parts.history.merged = function* (range) {
    // Without end: the same page again and again.
    const [page = []] = merged(range);
    for (;;) {
      pages += 1;
      met();
      yield page.map((one, n) => ({ ...one, seq: pages * 1000 + n }));
    }
  };
  const { address } = await service(t, parts, { heldRowsMax: Number.MAX_SAFE_INTEGER });
  const asked = request(`${address}/ApiWeb.svc/GetExtraValues`, {
    method: "POST",
    headers: { "content-type": "application/json" },
  });
  const gone = new Promise((resolve) => asked.once("error", resolve));
  asked.end(JSON.stringify({ Token: "x", machinecode: 41, pointindex: 1, unit: 102 }));
  await begun;
  asked.destroy();
  await gone;
  let seen = -1;
  for (let turn = 0; turn < 200 && seen !== pages; turn++) {
    seen = pages;
    for (let n = 0; n < 20; n++) await new Promise((resolve) => setImmediate(resolve));
  }
  assert.equal(seen, pages, "the question goes on although nobody waits");
});

test("query service – a range in which nothing is found for long is empty, not too large", async (t) => {
  const parts = queryParts();
  let passedMs = 0;
  const monotonic = parts.clock.monotonic.bind(parts.clock);
  parts.clock.monotonic = () => monotonic() + passedMs;
  parts.history.merged = function* () {
    for (let page = 0; page < 40; page++) {
      passedMs += 1_000;
      yield [];
    }
  };
  const { ask } = await service(t, parts);
  const every = { machinecode: -1, pointindex: -1, axis: -1 };
  const { Key } = await ask("GetAllHistoryMeasures", every);
  assert.deepEqual([Key.StatusNumber, Key.Description], [0, "OK"]);
});
