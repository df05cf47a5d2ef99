import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { type TestContext, test } from "node:test";
import type { Page } from "playwright-core";
import { type Browser, openBrowser, pageUntil, skipWithoutBrowser } from "../support/browser.ts";
import { deadlineMs } from "../support/deadline.ts";
import { hasFeature } from "../support/features.ts";
import { freePort, type RecordingSubscriber, skipWithoutMosquitto } from "../support/mosquitto.ts";
import { type BuiltAgent, type Plant, skipWithoutBuild, startPlant } from "../support/plant.ts";

const skip = skipWithoutBuild || skipWithoutMosquitto || skipWithoutBrowser;
const WAIT_MS = deadlineMs(15_000);
/** What happens in the plant within a test: some loop sends every second and a half. */
const SPEED = 20;
const ACCEL = "100200300";
const SENSORS = 7;
const DAY_MS = 86_400_000;
const STATE = {
  name: "getNodeState",
  fields: { Volts: "battery", FW: "firmware", Signal: "signal" },
} as const;

interface House {
  readonly plant: Plant;
  readonly browser: Browser;
  readonly subscriber: RecordingSubscriber;
  readonly address: string;
  agent: BuiltAgent;
}

test("dashboard", { skip, timeout: deadlineMs(110_000) }, async (t) => {
  const house = await openHouse(t);
  await t.test("values on the page equal the published values", () => showsWhatWasPublished(house));
  await t.test("a new reading appears without a reload", () => showsNewReadings(house));
  await t.test("search and filters narrow the table", () => narrows(house));
  await t.test("a sensor that a reload renames has its new name at once", () => renames(house));
  await t.test("times are shown in the gateway's zone, with its name, and in UTC on hover", () =>
    namesTheZone(house),
  );
  await t.test("each link shows its own rate, and nothing overlaps at any width", () =>
    fitsEverywhere(house),
  );
  await t.test("the overview has no accessibility violations, wide or narrow, light or dark", () =>
    staysAccessible(house),
  );
  await t.test("leaving a view while it loads delays nothing", () => leavesWhileLoading(house));
  await t.test("waveform, spectrum and trend are drawn", () => drawsPlots(house));
  if (hasFeature("nodes"))
    await t.test("the state that the node reports is shown beside its readings", () =>
      showsNodeState(house),
    );
  await t.test("units and cursor can be operated by keyboard alone", () => readsByKeyboard(house));
  await t.test(
    "the sensor page has no accessibility violations, wide or narrow, light or dark",
    () => staysAccessible(house),
  );
  await t.test("the console stays empty, and no other address is requested", () => {
    assert.deepEqual(house.browser.complaints, []);
    const outside = house.browser.requests.filter((url) => !url.startsWith(`${house.address}/`));
    assert.deepEqual(outside, []);
  });
  await t.test("a broker outage is shown, with the number of pending readings and what to do", () =>
    seesOutage(house),
  );
  await t.test("a dead agent is never shown as live", () => admitsSilence(house));
});

/** The last noon: the agent reads the current day, and its trend must have a length. */
const NOON_MS = Math.floor((Date.now() - DAY_MS / 2) / DAY_MS) * DAY_MS + DAY_MS / 2;

async function openHouse(t: TestContext): Promise<House> {
  const port = await freePort();
  const plant = await startPlant(t, {
    simulator: {
      sensors: SENSORS,
      speed: SPEED,
      startMs: NOON_MS,
      historyDays: 1,
      stateOperations: [STATE],
    },
    env: { HTTP_PORT: String(port), PUBLISH_FORMATS: "json,sparkplug" },
  });
  addStateRead(plant);
  const subscriber = await plant.subscribe();
  const agent = plant.startAgent();
  const address = await agent.address;
  const browser = await openBrowser(t);
  await subscriber.waitFor(({ topic }) => topic.endsWith(`${ACCEL}/accel`), WAIT_MS);
  await browser.page.goto(`${address}/`);
  await browser.page.locator("html[data-live=live]").waitFor({ timeout: WAIT_MS });
  return { plant, browser, subscriber, address, agent };
}

/** The vibration node's own state, which its records do not tell. */
function addStateRead({ siteFile }: Plant): void {
  const site = JSON.parse(readFileSync(siteFile, "utf8")) as { sensors: { code: string }[] };
  const read = {
    operation: STATE.name,
    fields: {
      battery: { from: "Volts", unit: "V" },
      firmware: { from: "FW" },
      signal: { from: "Signal", unit: "dBm" },
    },
  };
  const sensors = site.sensors.map((sensor) =>
    sensor.code === ACCEL ? { ...sensor, stateReads: [read] } : sensor,
  );
  writeFileSync(siteFile, JSON.stringify({ ...site, sensors }));
}

/** Raw values on the page by `sensor kind/name`. */
function shownValues(page: Page): Promise<Record<string, { raw: string; text: string }>> {
  return page.evaluate(
    `Object.fromEntries([...document.querySelectorAll("tr.sensor [data-value]")].map((node) => [
      node.closest("tr").dataset.code + " " + node.dataset.value,
      { raw: node.dataset.raw, text: node.querySelector(".figure")?.textContent ?? "" },
    ]))`,
  );
}

/** The newest live value that a subscriber saw. */
function publishedValues(subscriber: RecordingSubscriber): Map<string, string> {
  const values = new Map<string, string>();
  for (const { topic, text } of subscriber.messages) {
    if (
      !/^gateside\/plant\/\d+\/(accel|current|currentV2|accCurrent|loop|dryContact|rpm|node)$/.test(
        topic,
      )
    )
      continue;
    const message = JSON.parse(text) as {
      sensor: string;
      kind: string;
      values: Record<string, string | number | boolean | null>;
    };
    for (const [name, value] of Object.entries(message.values)) {
      values.set(`${message.sensor} ${message.kind}/${name}`, String(value ?? ""));
    }
  }
  return values;
}

async function showsWhatWasPublished({ browser, subscriber }: House): Promise<void> {
  let differences: string[] = ["nothing shown yet"];
  const isEqual = async (): Promise<boolean> => {
    const shown = await shownValues(browser.page);
    const published = publishedValues(subscriber);
    differences = Object.entries(shown)
      .filter(([key, { raw }]) => raw !== (published.get(key) ?? ""))
      .map(([key, { raw }]) => `${key}: ${raw} shown, ${published.get(key)} published`);
    const kinds = new Set(Object.keys(shown).map((key) => key.split(" ")[1]?.split("/")[0]));
    if (kinds.size < 7) differences.push(`only ${[...kinds].join()} shown`);
    return differences.length === 0;
  };
  await pageUntil(() => `what was published; differences:\n${differences.join("\n")}`, isEqual);
  for (const [key, { raw, text }] of Object.entries(await shownValues(browser.page))) {
    const value = Number(raw);
    if (raw === "" || !Number.isFinite(value)) continue;
    const digits = text.replaceAll("\u202f", "").replace("\u2212", "-");
    const lastDigit = 10 ** -(digits.split(".")[1]?.length ?? 0);
    assert.ok(
      Math.abs(Number(digits) - value) <= lastDigit / 2 + 1e-12,
      `${key}: ${text} for ${raw}`,
    );
  }
}

async function showsNewReadings({ browser: { page } }: House): Promise<void> {
  const loops = async (): Promise<string> =>
    JSON.stringify(
      Object.entries(await shownValues(page)).filter(([key]) => key.includes(" loop/")),
    );
  await page.evaluate("window.isSamePage = true");
  const before = await loops();
  await pageUntil("new values of the loop", async () => (await loops()) !== before);
  assert.equal(await page.evaluate("window.isSamePage"), true);
  // Ages count on between readings.
  await page.locator("tr.sensor .c-age", { hasText: /\d/ }).first().waitFor();
  // Its limits: the zones of its class.
  await page
    .locator(`tr.sensor[data-code="${ACCEL}"] .spark line`)
    .first()
    .waitFor({ state: "attached" });
}

async function narrows({ browser: { page }, address }: House): Promise<void> {
  await page.goto(`${address}/#/sensors`);
  const rows = page.locator("tr.sensor");
  assert.equal(await rows.count(), 7);
  await page.getByLabel("Search").fill("tank");
  await page.locator(".found", { hasText: "1 of 7" }).waitFor({ timeout: WAIT_MS });
  await page.getByLabel("Search").fill("");
  await page.getByLabel("Kind").selectOption("accel");
  await page.locator(".found", { hasText: "2 of 7" }).waitFor({ timeout: WAIT_MS });
  await page.getByLabel("Kind").selectOption("");
  assert.equal(await rows.count(), 7);
  await page.goto(`${address}/#/`);
}

async function renames({ plant, agent, browser: { page } }: House): Promise<void> {
  const site = JSON.parse(readFileSync(plant.siteFile, "utf8")) as { sensors: object[] };
  const [first, ...others] = site.sensors;
  const write = (sensors: object[]) =>
    writeFileSync(plant.siteFile, JSON.stringify({ ...site, sensors }));
  write([{ ...first, name: "Renamed meanwhile" }, ...others]);
  agent.process.kill("SIGHUP");
  const renamed = page.locator("tr.sensor", { hasText: "Renamed meanwhile" });
  await renamed.waitFor({ timeout: WAIT_MS });
  write(site.sensors);
  agent.process.kill("SIGHUP");
  await renamed.waitFor({ state: "detached", timeout: WAIT_MS });
}

async function namesTheZone({ browser: { page } }: House): Promise<void> {
  assert.match((await page.locator("footer").textContent()) ?? "", /Times in UTC/);
  // Both at once: between two questions a second may pass.
  const [text, title] = await page.evaluate<[string, string]>(
    `(({ textContent, title }) => [textContent, title])(document.querySelector("footer time"))`,
  );
  assert.match(title, /^\d{4}-\d{2}-\d{2} \d{2}:\d{2}:\d{2} UTC$/);
  assert.equal(text, title.slice(11, 19));
}

/** Stations and pipes of the picture must stand beside or under each other, within the page. */
async function fitsEverywhere({ browser: { page } }: House): Promise<void> {
  await page.getByRole("button", { name: "Show", exact: true }).click();
  const rates = page.locator(".brokers .pipe-label", {
    hasText: /^(Messages|Readings) sent: [\d.]+\/(min|s)$/,
  });
  await pageUntil("a rate at every link", async () => (await rates.count()) === 2);
  // Names are the site's own: one may be a single long word.
  const name = page.locator(".sensor .c-name a").first();
  const given = await name.textContent();
  await name.evaluate((link) => link.replaceChildren("Lagertemperatur".repeat(5)));
  // As fast as a backlog goes; the next status puts it right.
  const fast = `(() => { for (const label of document.querySelectorAll(".pipe-label"))
    for (const node of [...label.childNodes].filter(({ textContent }) => /\\d/.test(textContent)))
      node.textContent = node.textContent.replace(/[\\d.]+\\/(min|s)/, "2468/s"); })()`;
  for (const width of [1920, 1280, 1160, 1024, 1000, 820, 768, 360]) {
    await page.setViewportSize({ width, height: 900 });
    const wide = await page.evaluate<number>("document.documentElement.scrollWidth");
    assert.ok(wide <= width, `${wide} px wide in a window of ${width}`);
    const wrong = await page.evaluate<string[]>(`(() => {
      ${fast}
      const parts = [...document.querySelectorAll(".flow .words > *, .flow .picture, .flow .pipe-label, .flow .pipe-state")]
        .map((node) => ({ node, box: node.getBoundingClientRect() }))
        .filter(({ box }) => box.width > 1 && box.height > 1);
      const found = parts
        .filter(({ box }) => box.right > innerWidth || box.left < 0)
        .map(({ node }) => node.textContent + " leaves the page");
      for (const [i, a] of parts.entries()) for (const b of parts.slice(i + 1)) {
        const across = Math.min(a.box.right, b.box.right) - Math.max(a.box.left, b.box.left);
        const down = Math.min(a.box.bottom, b.box.bottom) - Math.max(a.box.top, b.box.top);
        if (across > 1 && down > 1) found.push(a.node.textContent + " lies over " + b.node.textContent);
      }
      return found;
    })()`);
    assert.deepEqual(wrong, [], `${width} px`);
  }
  await name.evaluate((link, text) => link.replaceChildren(text ?? ""), given);
  await page.setViewportSize({ width: 1280, height: 900 });
}

async function staysAccessible({ browser }: House): Promise<void> {
  const { page } = browser;
  for (const scheme of ["light", "dark"] as const) {
    for (const width of [1280, 360]) {
      await page.emulateMedia({ colorScheme: scheme, reducedMotion: "reduce" });
      await page.setViewportSize({ width, height: 800 });
      const wide = await page.evaluate<number>("document.documentElement.scrollWidth");
      assert.ok(wide <= width, `${wide} px wide in a window of ${width}`);
      assert.deepEqual(await browser.findings(), [], `${scheme}, ${width} px`);
    }
  }
  await page.emulateMedia({ colorScheme: "light", reducedMotion: "no-preference" });
  await page.setViewportSize({ width: 1280, height: 900 });
}

/** Answers that never come must not freeze the page, nor be asked for over and over, once nobody waits for them. */
async function leavesWhileLoading({ browser: { page } }: House): Promise<void> {
  let asked = 0;
  await page.route("**/api/v1/trend?*", () => {
    asked += 1;
  });
  await page.reload();
  await page.locator("tr.sensor").first().waitFor();
  await pageUntil("a request for a small picture", () => Promise.resolve(asked > 0));
  for (const hash of ["#/sensor/404", "#/", "#/sensor/404", "#/"]) {
    await page.evaluate(`location.hash = ${JSON.stringify(hash)}`);
    await page.getByRole("heading", { level: 1, name: /Overview|no sensor 404/ }).waitFor();
  }
  assert.ok(asked < 12, `asked ${asked} times`);
  await page.unroute("**/api/v1/trend?*");
  await page.reload();
  await page.locator("tr.sensor").first().waitFor();
}

/** Pixels of a plot that have the colour of its first line. */
function inkOf(page: Page, plot: number): Promise<number> {
  return page.evaluate(`(() => {
    const canvas = document.querySelectorAll(".plot canvas")[${plot}];
    if (canvas === undefined) return 0;
    // Of a copy: the browser complains of a canvas that is read again and again.
    const { width, height } = canvas;
    const copy = Object.assign(document.createElement("canvas"), { width, height });
    const context = copy.getContext("2d", { willReadFrequently: true });
    context.drawImage(canvas, 0, 0);
    const { data } = context.getImageData(0, 0, width, height);
    const wanted = getComputedStyle(document.documentElement).getPropertyValue("--series-1").trim();
    const [r, g, b] = [1, 3, 5].map((at) => parseInt(wanted.slice(at, at + 2), 16));
    let count = 0;
    for (let i = 0; i < data.length; i += 4) {
      const isNear = Math.abs(data[i] - r) + Math.abs(data[i + 1] - g) + Math.abs(data[i + 2] - b) < 30;
      if (isNear && data[i + 3] > 200) count += 1;
    }
    return count;
  })()`);
}

async function drawsPlots({ browser: { page } }: House): Promise<void> {
  await page.locator(`tr[data-code="${ACCEL}"] a`).click();
  await page.getByRole("heading", { level: 1, name: "Pump 1 DE bearing" }).waitFor();
  for (const [plot, name] of ["trend", "spectrum"].entries()) {
    await pageUntil(`a drawn ${name}`, async () => (await inkOf(page, plot)) > 150);
  }
  await page.getByRole("tab", { name: "Waveform" }).click();
  await pageUntil("a drawn waveform", async () => (await inkOf(page, 1)) > 150);
  await page.getByRole("tab", { name: "Spectrum" }).click();
  await page.locator(".peaks tbody tr").first().waitFor();
  // The pump turns at 1485 rpm: its highest line is the speed itself.
  const first = await page.locator(".peaks tbody tr td").first().textContent();
  assert.ok(Math.abs(Number(first) - 24.75) < 1, `highest peak at ${first} Hz`);
}

async function showsNodeState({ browser: { page } }: House): Promise<void> {
  for (const [name, value] of [
    ["Battery", /^3\.\d+\sV/],
    ["Firmware", /^\d+$/],
    ["Radio signal", /^-\d+\sdBm$/],
  ] as const) {
    const fact = page.locator("dl div", { has: page.locator("dt", { hasText: name }) });
    await fact.locator("dd", { hasText: value }).waitFor({ timeout: WAIT_MS });
  }
}

async function readsByKeyboard({ browser: { page } }: House): Promise<void> {
  await page.getByLabel("Unit").selectOption("0");
  await page.getByText("Display", { exact: true }).click();
  await page.getByLabel("Frequency in").selectOption("cpm");
  const spectrum = page.getByRole("img", { name: /^Spectrum of axis/ });
  await page.getByRole("img", { name: /^Spectrum of axis H, highest .* g at .* cpm/ }).waitFor();
  await spectrum.focus();
  for (let i = 0; i < 3; i++) await page.keyboard.press("ArrowRight");
  const readout = page.locator(".chart", { has: spectrum }).locator(".readout");
  await pageUntil("values at the cursor", async () =>
    /^[\d.]+ cpm .*x.* g$/.test((await readout.textContent()) ?? ""),
  );
  assert.equal(await readout.getAttribute("aria-live"), "polite");
}

async function seesOutage({ plant, browser }: House): Promise<void> {
  const { page } = browser;
  await page.goto(page.url().replace(/#.*/, "#/"));
  await plant.broker.stop();
  const station = page.locator(".brokers .station", { hasText: "MQTT" });
  await station.getByText("Disconnected").waitFor({ timeout: WAIT_MS });
  await page.locator('.brokers .pipe[data-flow="broken"]').first().waitFor({ timeout: WAIT_MS });
  const fault = page.locator(".box-line", { hasText: "with the broker" });
  await fault.waitFor({ timeout: 3 * WAIT_MS });
  await fault.locator("summary").first().click();
  assert.deepEqual(await browser.findings(), []);
  assert.match((await fault.textContent()) ?? "", /Readings wait in the buffer.*MQTT_URL/);
  await station.getByText(/^[1-9]\d* readings wait$/).waitFor({ timeout: WAIT_MS });
  await plant.broker.restart();
  // Once all is well, the picture is a line again.
  const connected = station.getByText("Connected", { exact: true });
  await connected.waitFor({ state: "attached", timeout: 2 * WAIT_MS });
  await fault.waitFor({ state: "hidden", timeout: WAIT_MS });
}

async function admitsSilence(house: House): Promise<void> {
  const { page } = house.browser;
  await house.agent.kill();
  await page
    .locator(".state-link", { hasText: /^Not live since \d\d:\d\d:\d\d$/ })
    .waitFor({ timeout: WAIT_MS });
  assert.match(
    (await page.locator(".banner:not(.notice)").textContent()) ?? "",
    /No data from the agent since/,
  );
  assert.match(await page.title(), /^Not live/);
  assert.deepEqual(await house.browser.findings(), []);
  assert.equal(await page.locator('.pipe[data-flow="flowing"]').count(), 0);
  house.agent = house.plant.startAgent();
  await house.agent.address;
  await page.locator("html[data-live=live]").waitFor({ timeout: 2 * WAIT_MS });
  await page.locator(".banner:not(.notice)").waitFor({ state: "hidden" });
}

test("dashboard – asks for the token, signs in, and signs out", {
  skip,
  timeout: deadlineMs(60_000),
}, async (t) => {
  const token = "a-token-of-the-site";
  const plant = await startPlant(t, {
    simulator: { sensors: 2, historyDays: 1 },
    env: { HTTP_TOKEN: token },
  });
  const address = await plant.startAgent().address;
  const browser = await openBrowser(t, { width: 360 });
  const { page } = browser;
  await page.goto(`${address}/#/sensor/${ACCEL}`);
  assert.deepEqual(await browser.findings(), []);
  await page.getByLabel("Access token").fill("not this one");
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByRole("alert").waitFor();
  await page.getByLabel("Access token").fill(token);
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.locator("html[data-live=live]").waitFor({ timeout: WAIT_MS });
  assert.equal(page.url(), `${address}/#/sensor/${ACCEL}`, "a link still leads to its view");
  const cookies = await browser.context.cookies();
  assert.deepEqual(
    cookies.map(({ httpOnly, sameSite }) => ({ httpOnly, sameSite })),
    [{ httpOnly: true, sameSite: "Strict" }],
  );
  assert.equal(await page.evaluate("document.cookie"), "");
  await page.getByRole("button", { name: "Menu" }).click();
  await page.getByRole("button", { name: "Sign out" }).click();
  await page.getByLabel("Access token").waitFor();
});
