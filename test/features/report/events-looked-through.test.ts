import assert from "node:assert/strict";
import { test } from "node:test";
import { fixedSite } from "../../../src/core/site-source.ts";
import { alarmsOf } from "../../../src/features/report/gather-alarms.ts";
import { NOW, SITE } from "../../support/http-parts.ts";
import { DAY_MS } from "../../support/temp-database.ts";

type Alarms = NonNullable<Parameters<typeof alarmsOf>[0]["alarms"]>;

/** A period of 30 days. @param ages of all events, days, in order of arrival, the newest first */
function reportOn(ages: readonly number[]) {
  const pages: number[] = [];
  const lists = ({ limit, before }: { readonly limit: number; readonly before: number | null }) => {
    const from = before ?? 0;
    const history = ages.slice(from, from + limit).map((days) => ({
      sensor: "10234",
      alarm: "zone",
      time: new Date(NOW - days * DAY_MS).toISOString(),
    }));
    if (limit > 0) pages.push(from);
    const end = from + limit;
    const active: object[] = [];
    return {
      active,
      acknowledged: active,
      shelved: active,
      history,
      before: end < ages.length ? end : null,
    };
  };
  const sources = { alarms: { lists } as unknown as Alarms, site: fixedSite(SITE) };
  const period = { fromMs: NOW - 30 * DAY_MS, toMs: NOW };
  const { alarms, alarmsCut } = alarmsOf(sources, SITE.sensors, period);
  return { shown: alarms.length, alarmsCut, pages: pages.length };
}

const old = (count: number) => Array.from({ length: count }, () => 90);

test("report – however many events are older than its period, it leaves none of the period out, and does not say so", () => {
  assert.deepEqual(reportOn([1, ...old(6_000)]), { shown: 1, alarmsCut: false, pages: 2 });
  assert.deepEqual(reportOn(old(6_000)), { shown: 0, alarmsCut: false, pages: 1 });
  // One that arrived late is within the period all the same.
  const late = [...old(499), 1, ...old(6_000)];
  assert.deepEqual(reportOn(late), { shown: 1, alarmsCut: false, pages: 2 });
  assert.equal(reportOn(old(0)).alarmsCut, false);
});

test("report – what it leaves out it says: more than it shows, and more than it looks through", () => {
  const young = (count: number) => Array.from({ length: count }, () => 1);
  assert.deepEqual(reportOn(young(200)), { shown: 200, alarmsCut: false, pages: 1 });
  assert.deepEqual(reportOn(young(201)), { shown: 200, alarmsCut: true, pages: 1 });
  const after = Array.from({ length: 6_000 }, () => -1);
  assert.deepEqual(reportOn([...after, 1]), { shown: 0, alarmsCut: true, pages: 10 });
});
