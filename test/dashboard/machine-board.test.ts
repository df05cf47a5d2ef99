/** The machines of the start page: what is held for a hand, and what is acknowledged. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { FindingView, MachineView } from "../../src/core/diagnosis/shown.ts";
import { pageUntil, skipWithoutBrowser } from "../support/browser.ts";
import { deadlineMs } from "../support/deadline.ts";
import { agentStatus } from "../support/http-parts.ts";
import { alarmOf, alarmsOf, openHouse, placeOf, vibration } from "../support/page-house.ts";

const skip = skipWithoutBrowser;
const idOf = (n: number) => String(n).padStart(32, "0");

function sensorsOf(machines: number) {
  return Array.from({ length: machines }, (_, i) => ({
    code: `${1001 + i}`,
    type: 3,
    name: `Sensor ${i + 1}`,
    kinds: ["accel" as const],
    channels: {},
    machineClass: "group2-rigid" as const,
    location: placeOf(40 + i),
  }));
}

test("dashboard – the row in which somebody acknowledged shows what comes afterwards", {
  skip,
  timeout: deadlineMs(90_000),
}, async (t) => {
  const active = [
    alarmOf({ id: idOf(1), sensor: "1001" }),
    alarmOf({ id: idOf(2), sensor: "1001", alarm: "envelope", text: "Envelope is high." }),
  ];
  const { table, alarms } = alarmsOf({ active });
  const house = await openHouse(t, { sensors: sensorsOf(3), alarms, width: 1024, height: 768 });
  const { page, url } = house;
  for (const [i, mmS] of [3.1, 1, 0.9].entries())
    house.reading(vibration(`${1001 + i}`, mmS, i === 0 ? "C" : "A"));
  await page.goto(url);
  const row = page.locator("[data-machine='40']");
  await row.getByText("Warning", { exact: true }).waitFor();
  assert.deepEqual(await house.findings(), []);
  // The first two rows of sensors are on the first screen, too, and while the box has a fault.
  const isOnFirstScreen = async () => {
    const second = await page.locator("tr.sensor").nth(1).boundingBox();
    assert.ok(second !== null && second.y + second.height <= 768, JSON.stringify(second));
  };
  await isOnFirstScreen();
  // On a telephone the words about the change leave room for the figure and its zone.
  await page.setViewportSize({ width: 360, height: 640 });
  const figure = await row.locator(".card-velocity").boundingBox();
  assert.ok(figure !== null && figure.width >= 100, JSON.stringify(figure));
  for (const width of [360, 320]) {
    await page.setViewportSize({ width, height: 640 });
    const [room, taken] = await page.evaluate<[number, number]>(
      `(({ clientWidth, scrollWidth }) => [clientWidth, scrollWidth])(document.querySelector("[data-machine='40'] .card-velocity"))`,
    );
    assert.ok(taken <= room, `${width} px: the figure takes ${taken} of ${room} px`);
  }
  await page.setViewportSize({ width: 1024, height: 768 });
  house.setStatus({ buffer: { ...agentStatus().buffer, isWritable: false } });
  await page.locator("#flow-picture .flow").waitFor();
  await isOnFirstScreen();
  assert.deepEqual(await house.findings(), []);
  house.setStatus({ buffer: agentStatus().buffer });
  await page.locator("#flow-picture .flow").waitFor({ state: "hidden" });

  await row.getByRole("button", { name: "Acknowledge all 2" }).click();
  assert.equal(await row.locator(".acknowledged-list li").count(), 2);
  // What comes meanwhile stays.
  table.active.push(alarmOf({ id: idOf(3), sensor: "1001", alarm: "late", text: "Late." }));
  await row.getByLabel("Your name").fill("Anna");
  await row.getByRole("button", { name: "Acknowledge all 2" }).click();
  await row.getByText("Done for 2.").waitFor();
  assert.deepEqual(
    table.active.map(({ id }) => id),
    [idOf(3)],
  );

  // The focus is where the page left it; the machine gets worse.
  table.active.push(
    alarmOf({ id: idOf(4), sensor: "1001", severity: "alarm", text: "Velocity in zone D." }),
    alarmOf({ id: idOf(5), sensor: "1003", severity: "alarm", text: "Velocity in zone D." }),
  );
  await row.getByText("Alarm", { exact: true }).waitFor();
  const keys = () =>
    page.evaluate<string[]>(
      "[...document.querySelectorAll('.cards [data-machine]')].map(({ dataset }) => dataset.machine)",
    );
  await pageUntil("the other machine above those that are ok", async () => {
    const order = await keys();
    return order.indexOf("42") < order.indexOf("41") || !order.includes("41");
  });
});

test("dashboard – from 20 machines on they are a table with the same columns, those that are ok folded, plots as they come into view", {
  skip,
  timeout: deadlineMs(120_000),
}, async (t) => {
  const machines = 60;
  const bad = 6;
  const active = Array.from({ length: bad }, (_, i) =>
    alarmOf({ id: idOf(i + 1), sensor: `${1001 + i}` }),
  );
  const { alarms } = alarmsOf({ active });
  const sensors = sensorsOf(machines);
  const house = await openHouse(t, { sensors, alarms, width: 1440, height: 900 });
  const { page, url } = house;
  for (const [i, { code }] of sensors.entries())
    house.reading(vibration(code, i < bad ? 3.1 : 1, i < bad ? "C" : "A"));
  await page.goto(url);
  const table = page.getByRole("table", { name: "Machines" });
  await table.waitFor();
  assert.deepEqual(await table.getByRole("columnheader").allTextContents(), [
    "Machine",
    "State",
    "Velocity",
    "30 days",
    "Change",
    "What and what to do",
  ]);
  const shown = () => page.locator("tr[data-machine]:visible").count();
  await pageUntil("the machines", async () => (await shown()) === bad);
  const fold = page.getByRole("button", { name: `${machines - bad} machines are OK` });
  assert.equal(await fold.getAttribute("aria-expanded"), "false");
  // A plot stands in each row that is in view, though the values came after the machines.
  await pageUntil(
    "the plots",
    async () =>
      (await page.locator("tr[data-machine]:visible .entry-spark:not(:empty)").count()) === bad,
  );
  for (const forcedColors of ["none", "active"] as const)
    for (const colorScheme of ["light", "dark"] as const) {
      await page.emulateMedia({ colorScheme, forcedColors });
      assert.deepEqual(
        await house.findings(),
        [],
        `${colorScheme}, forced colours ${forcedColors}`,
      );
    }
  await page.emulateMedia({ colorScheme: "light", forcedColors: "none" });
  await fold.click();
  await pageUntil("all of them", async () => (await shown()) === machines);
  const drawn = await page.locator("tr[data-machine] .entry-spark:not(:empty)").count();
  assert.ok(drawn < machines, `${drawn} plots of ${machines} rows`);
  // A telephone shows cards, however many there are.
  await page.setViewportSize({ width: 390, height: 844 });
  await page.locator("li.card[data-machine]").first().waitFor();
  assert.equal(await table.isVisible(), false);
});

/** Pixels of the first plot that are neither black, white nor grey. */
const COLOURED_PIXELS = `(() => {
  const canvas = document.querySelector(".plot canvas");
  if (canvas === null || canvas.width === 0) return 0;
  const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
  let count = 0;
  for (let i = 0; i < data.length; i += 4)
    if (data[i + 3] > 100 && Math.max(data[i], data[i + 1]) !== Math.min(data[i + 1], data[i + 2])) count += 1;
  return count;
})()`;

test("dashboard – in forced colours a plot has the system's ink, whichever colours were chosen here", {
  skip,
  timeout: deadlineMs(60_000),
}, async (t) => {
  const house = await openHouse(t, { sensors: sensorsOf(1) });
  const { page, url } = house;
  for (const minutes of [3, 2, 1])
    house.reading(vibration("1001", 1 + minutes, "B", Date.now() - minutes * 60_000));
  await page.emulateMedia({ colorScheme: "dark", forcedColors: "none" });
  await page.addInitScript(`localStorage.setItem("gateside.theme", "light")`);
  await page.goto(`${url}/#/sensor/1001`);
  await page.locator(".plot canvas").first().waitFor();
  const coloured = async () => Number(await page.evaluate(COLOURED_PIXELS));
  await pageUntil("the plot", async () => (await coloured()) > 0);
  await page.emulateMedia({ forcedColors: "active" });
  await pageUntil("ink alone", async () => (await coloured()) === 0);
});

/** Letters and bars of zones that have their colour. */
const COLOURED = `[...document.querySelectorAll(".zone, .zone-part[data-here]")].filter((one) =>
  one.checkVisibility() && getComputedStyle(one).getPropertyValue("--zone-a") === getComputedStyle(document.documentElement).getPropertyValue("--zone-a")).length`;

test("dashboard – a machine that is silent says so wherever it is shown, and nothing of it is green", {
  skip,
  timeout: deadlineMs(60_000),
}, async (t) => {
  const active = [alarmOf({ id: idOf(1), sensor: "1001" })];
  const { alarms } = alarmsOf({ active });
  const house = await openHouse(t, { sensors: sensorsOf(2), alarms, areSilent: true });
  const { page, url } = house;
  const fiveDays = Date.now() - 5 * 86_400_000;
  for (const code of ["1001", "1002"]) house.reading(vibration(code, 1, "A", fiveDays));
  for (const [hash, shown] of [
    ["#/", "[data-machine='40'] .entry-state"],
    ["#/", "[data-machine='41'] .entry-state"],
    ["#/machine/41", ".entry-state"],
    ["#/machine/41", "[aria-labelledby=machine-sensors] li"],
    ["#/sensor/1002", ".badges"],
  ] as const) {
    await page.goto("about:blank");
    await page.goto(`${url}/${hash}`);
    await page.locator(shown, { hasText: "not live since" }).waitFor();
    await page.locator(".zone").first().waitFor();
    assert.equal(await page.evaluate(COLOURED), 0, hash);
    assert.deepEqual(await house.findings(), [], hash);
  }
});

test("dashboard – while the gateway is down, what is old is not known, and an alarm stays one", {
  skip,
  timeout: deadlineMs(60_000),
}, async (t) => {
  const hourAgo = Date.now() - 3_600_000;
  const active = [alarmOf({ id: idOf(1), sensor: "1001" })];
  const house = await openHouse(t, { sensors: sensorsOf(2), alarms: alarmsOf({ active }).alarms });
  const { page, url } = house;
  for (const code of ["1001", "1002"]) house.reading(vibration(code, 1, "A", hourAgo));
  const gateway = {
    isUp: false,
    isNeeded: true,
    url: "http://gateway",
    lastAnswerAtMs: hourAgo,
    lastError: "connect ECONNREFUSED",
    lastErrorClass: null,
    skewMs: 0,
  };
  house.setStatus({ gateway });
  await page.goto(url);
  await page.locator("[data-machine='40']", { hasText: /Warning.*not known since/ }).waitFor();
  await page.locator("[data-machine='41']", { hasText: "Unknown" }).waitFor();
  await page.locator(".state-link", { hasText: "1 fault" }).waitFor();
  assert.equal(await page.locator("tr.sensor", { hasText: "Not known" }).count(), 2);
  const told = await page.getByText(/The gateway does not respond correctly/).count();
  assert.equal(told, 1, "its sentence stands once");
  assert.deepEqual(await house.findings(), []);
});

test("dashboard – a finding that comes while its machine is open stands in the list as soon as in the state", {
  skip,
  timeout: deadlineMs(60_000),
}, async (t) => {
  const found: FindingView[] = [];
  const house = await openHouse(t, {
    sensors: sensorsOf(1),
    machines: [{ id: 40, name: "Pump" }],
    findings: {
      machines: () => [],
      stagesOf: () => `${found.length}`,
      findingsOf: () => ({
        machine: { findings: found.length, worstStage: found.length } as MachineView,
        findings: found,
        checked: [],
      }),
    },
  });
  const { page, url } = house;
  // Nobody waits for what is asked each half minute.
  await page.addInitScript(`{
    const start = setInterval;
    window.setInterval = (act, ms) => (ms >= 30_000 ? 0 : start(act, ms));
  }`);
  house.reading(vibration("1001", 1, "A", Date.now() - 60_000));
  await page.goto(`${url}/#/machine/40`);
  await page.getByText("No findings.").waitFor();
  const time = new Date(Date.now() - 60_000).toISOString();
  found.push({
    id: "f1",
    finding: "unbalance",
    bearing: null,
    sensor: "1001",
    point: 1,
    stage: 1,
    worstStage: 1,
    since: time,
    raised: time,
    lastSeen: time,
    readingId: idOf(9),
    inRow: 5,
    speedRpm: 1480,
    level: 3,
    unit: "mm/s",
    limit: 0.5,
    evidence: [],
    text: "1x stands.",
  });
  house.reading(vibration("1001", 3, "B"));
  await page.locator("[data-finding]").getByText("1x stands.").waitFor();
});
