/** What somebody points at, has focused or selected stays while data comes. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Page } from "playwright-core";
import type { FindingView, MachineView } from "../../src/core/diagnosis/shown.ts";
import type { SensorLocation } from "../../src/core/sensor.ts";
import { pageUntil, skipWithoutBrowser } from "../support/browser.ts";
import { deadlineMs } from "../support/deadline.ts";
import {
  alarmOf,
  alarmsOf,
  openHouse,
  type PageHouse,
  placeOf,
  vibration,
} from "../support/page-house.ts";

const skip = skipWithoutBrowser;
const CODES = ["1001", "1002", "1003"];
/** Longer than the slowest tick of a page that everything may be rebuilt by: statuses every 2 s, faults every 15 s. */
const STATUSES = 3;

function namedPlace(point: number, word: string): SensorLocation {
  const place = placeOf(40, point);
  const names = { area: `${word}Hall`, machine: `${word}Pump`, point: `${word}Point ${point}` };
  return { ...place, names };
}

let looks = 0;
/** Each look finds another level, another measurement and another line. */
function findingOf(point: number): FindingView {
  looks += 1;
  const time = new Date(Date.now() - 60_000 + looks).toISOString();
  return {
    id: "f1",
    finding: "unbalance",
    bearing: null,
    sensor: "1001",
    point,
    stage: 1,
    worstStage: 1,
    since: time,
    raised: time,
    lastSeen: time,
    readingId: String(looks).padStart(32, "0"),
    inRow: looks,
    speedRpm: 1480 + looks,
    level: looks,
    unit: "mm/s",
    limit: 0.5,
    evidence: [
      {
        name: "1x",
        spectrum: "velocity",
        channel: 1,
        axis: "H",
        hz: 25 + looks,
        order: 1,
        amplitude: looks,
        unit: "mm/s",
        ratio: 8,
        sideBands: [],
      },
    ],
    text: `Look ${looks}.`,
  };
}

/** @param word in all names */
function houseOf(t: Parameters<typeof openHouse>[0], word = ""): Promise<PageHouse> {
  return openHouse(t, {
    sensors: CODES.map((code, i) => ({
      code,
      type: 3,
      name: `${word}Sensor ${i + 1}`,
      kinds: ["accel"],
      channels: {},
      machineClass: "group2-rigid",
      location: namedPlace(i + 1, word),
    })),
    machines: [{ id: 40, name: `${word}Pump` }],
    alarms: alarmsOf({
      active: [alarmOf({ id: "1".padStart(32, "0"), sensor: "1001", text: "Velocity is high." })],
    }).alarms,
    findings: {
      machines: () => [],
      stagesOf: () => "1",
      findingsOf: (id) => ({
        machine: {} as MachineView,
        findings: [findingOf(id)],
        checked: [],
      }),
    },
    parts: {
      // A sensor's own are not among the newest of all.
      gaps: {
        recent: (_max, sensor) => [
          {
            sensor: sensor ?? "1002",
            kind: "accel",
            fromMs: 0,
            toMs: 1,
            count: 3,
            reason: "buffer_full",
            gapId: 1,
          },
        ],
      },
    },
  });
}

/** Selects the text of the first element that holds it. */
const select = (page: Page, text: string) =>
  page.evaluate(`(() => {
    const texts = document.createTreeWalker(document.querySelector("main"), NodeFilter.SHOW_TEXT);
    while (texts.nextNode() && !texts.currentNode.data.includes(${JSON.stringify(text)}));
    getSelection().selectAllChildren(texts.currentNode.parentElement);
  })()`);
const selected = (page: Page) => page.evaluate<string>("String(getSelection())");

/** Marks the elements, the first with the focus; whether they are the same ones is asked later. */
const mark = (page: Page, selectors: readonly string[]) =>
  page.evaluate(`(() => {
    window.marked = ${JSON.stringify(selectors)}.map((one) => document.querySelector(one));
    window.marked[0].focus();
  })()`);
/** Those that were made anew, or lost the focus. */
const lost = (page: Page) =>
  page.evaluate<number[]>(`window.marked.flatMap((one, i) =>
    one.isConnected && (i > 0 || document.activeElement === one) ? [] : [i])`);

test("dashboard – links keep the focus while statuses and readings come", {
  skip,
  timeout: deadlineMs(120_000),
}, async (t) => {
  const house = await houseOf(t);
  const { page, url } = house;
  for (const code of CODES) house.reading(vibration(code, 1, "A", Date.now() - 60_000));
  let heard = 0;
  // What is asked every half minute is asked every second.
  await page.addInitScript(`{
    const start = setInterval;
    window.setInterval = (act, ms) => start(act, ms >= 10_000 ? ms / 30 : ms);
    const Usual = window.EventSource;
    window.EventSource = class extends Usual {
      constructor(...of) {
        super(...of);
        this.addEventListener("status", () => window.heardStatus());
      }
    };
  }`);
  let turn = 0;
  /** Reading the first one fails in ever other words, the second one now and then, so that faults are read anew. */
  const fail = () => {
    turn += 1;
    const errorOf = (code: string) =>
      code === CODES[0] || (code === CODES[1] && turn % 2 > 0) ? `timeout ${turn}` : null;
    house.setStatus({
      sensors: CODES.map((code) => {
        const read = { lastReadingMs: Date.now(), isSilent: false, lastReadAtMs: null };
        const kinds = [{ kind: "accel" as const, cadenceS: 60, lastError: errorOf(code), ...read }];
        const { lastReadingMs } = read;
        return { code, state: "online", lastReadingMs, batteryV: null, kinds };
      }),
    });
  };
  await page.exposeFunction("heardStatus", () => {
    heard += 1;
    fail();
  });
  for (const [hash, selectors, text] of [
    ["#/sensors", ["tr.sensor a", "tr.group a"], "1001"],
    ["#/", ["[aria-labelledby=gaps-title] a", ".entry-name", ".faults .remedy a"], "1001"],
    [
      "#/machine/40",
      [
        "[data-finding] .evidence a",
        "[data-finding] .scroll",
        "[data-finding] .alarm-head a",
        "[aria-labelledby=machine-sensors] a",
      ],
      "Hall",
    ],
    ["#/alarms", ["tr.alarm a", "tr.group a"], "Velocity is high"],
    [
      "#/sensor/1001",
      [
        ".latest .scroll",
        ".crumbs a",
        "[aria-labelledby=gaps-title] a",
        "[data-finding] .evidence a",
        "#trend-value option",
      ],
      "1001",
    ],
  ] as const) {
    await page.goto("about:blank");
    heard = 0;
    await page.goto(`${url}/${hash}`);
    for (const selector of selectors)
      await page.locator(selector).first().waitFor({ state: "attached" });
    // Nobody has a hand on a page that has not yet read its names and groups.
    await pageUntil("the page has read everything", () => Promise.resolve(heard >= 2));
    const readout = page.locator("[aria-labelledby=trend-title] .readout");
    const isRead = hash.startsWith("#/sensor/");
    // What is read in a plot is not told again with each answer.
    if (isRead) await page.locator("[aria-labelledby=trend-title] .plot").press("ArrowLeft");
    if (isRead) await readout.getByText("mm/s").waitFor();
    await mark(page, selectors);
    await select(page, text);
    heard = 0;
    await pageUntil(`${STATUSES} statuses`, () => {
      for (const code of CODES) house.reading(vibration(code, 1 + Math.random(), "B"));
      return Promise.resolve(heard >= STATUSES);
    });
    assert.deepEqual(await lost(page), [], `${hash}: ${selectors.join("; ")}`);
    if (isRead) assert.match((await readout.textContent()) ?? "", /mm\/s/);
    assert.ok((await selected(page)).includes(text), `${hash}: “${text}” is not selected any more`);
  }
  // Sorted by age, each reading changes the order.
  await page.goto(`${url}/#/sensors`);
  await page.locator('[data-sort="age"]').click();
  await mark(page, ["tr.sensor a"]);
  const code = await page.evaluate<string>(`window.marked[0].closest("tr").dataset.code`);
  house.reading(vibration(code, 2, "B", Date.now() + 1000));
  await page.locator(`tr.sensor:last-child[data-code="${code}"]`).waitFor();
  assert.deepEqual(await lost(page), [], "sorted by age");
});

test("dashboard – names of one long word make no page scroll sideways on a telephone", {
  skip,
  timeout: deadlineMs(60_000),
}, async (t) => {
  const house = await houseOf(t, "Lagertemperatur".repeat(6));
  const { page, url } = house;
  await page.setViewportSize({ width: 360, height: 800 });
  for (const code of CODES) house.reading(vibration(code, 3.1, "C"));
  for (const [hash, shown] of [
    ["#/", ".card"],
    ["#/sensors", "tr.group"],
    ["#/machine/40", "[aria-labelledby=machine-sensors] a"],
    ["#/sensor/1001", ".crumbs a"],
    ["#/alarms", "tr.group"],
  ] as const) {
    await page.goto("about:blank");
    await page.goto(`${url}/${hash}`);
    await page.locator(shown).first().waitFor();
    const wide = await page.evaluate<number>("document.documentElement.scrollWidth");
    assert.ok(wide <= 360, `${hash}: ${wide} px wide`);
  }
});

test("dashboard – a reading that comes before the list of sensors is not taken away by it", {
  skip,
  timeout: deadlineMs(60_000),
}, async (t) => {
  const house = await houseOf(t);
  const { page, url } = house;
  house.reading(vibration("1001", 1, "A", Date.now() - 600_000));
  let told = false;
  await page.route("**/api/v1/sensors?*", async (route) => {
    const response = await route.fetch();
    if (!told) house.reading(vibration("1001", 9.9, "D"));
    told = true;
    // By the stream, which the page has already: its next status says so.
    await page.waitForResponse(/faults/).catch(() => {});
    await route.fulfill({ response });
  });
  await page.goto(url);
  await page.locator("tr.sensor", { hasText: "9.90" }).waitFor();
});
