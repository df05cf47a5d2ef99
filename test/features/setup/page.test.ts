/** Set-up in a browser of a telephone's width: from a box without a site file to readings, without a command line. */
import assert from "node:assert/strict";
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { type TestContext, test } from "node:test";
import type { Page } from "playwright-core";
import { digestOf } from "../../../src/features/setup/backup.ts";
import { createHttpServer } from "../../../src/http/server.ts";
import { type Browser, openBrowser, skipWithoutBrowser } from "../../support/browser.ts";
import { deadlineMs } from "../../support/deadline.ts";
import { partsWithFeatures } from "../../support/features.ts";
import { OPTIONS, testParts } from "../../support/http-parts.ts";
import { type RecordingSubscriber, skipWithoutMosquitto } from "../../support/mosquitto.ts";
import { type Plant, skipWithoutBuild, startPlant } from "../../support/plant.ts";
import { until } from "../../support/wait-until.ts";

const skip = skipWithoutBuild || skipWithoutMosquitto || skipWithoutBrowser;
const TOKEN = "a-token-of-the-site";
const VIEW_TOKEN = "a-token-that-looks";
const PASSWORD = "the-password-of-the-service";
const UPLINK_PASSWORD = "the-password-of-an-uplink";
const PHONE_PX = 390;

interface House {
  readonly plant: Plant;
  readonly browser: Browser;
  readonly page: Page;
  readonly seen: RecordingSubscriber;
  readonly address: string;
  readonly uplinksFile: string;
}

test("dashboard – set-up", { skip, timeout: deadlineMs(120_000) }, async (t) => {
  const house = await openHouse(t);
  await t.test("an empty box opens the set-up page, which starts with a name", () =>
    givesAName(house),
  );
  await t.test(
    "a sensor is entered with errors shown beside their fields, read once, and saved",
    () => addsASensor(house),
  );
  await t.test("its readings appear on the dashboard and reach the broker", () =>
    showsReadings(house),
  );
  await t.test("a change is previewed as a diff and reverted", () => rollsBack(house));
  await t.test("a form in which nothing is touched changes nothing", () => touchesNothing(house));
  await t.test("what is restored is what was shown, and a press that fails says so", () =>
    restoresWhatWasShown(house),
  );
  await t.test("a concurrent change from another browser is shown, and both are kept", () =>
    meetsOthers(house),
  );
  await t.test("an uplink is tested, saved, and publishes", () => addsAnUplink(house));
  await t.test(
    "a machine is chosen from what there is, and no half-filled form is left unasked",
    () => choosesAMachine(house),
  );
  await t.test("sensors are discovered from an analytics service with a login", (own) =>
    discovers(own, house),
  );
  await t.test("changes are listed, and the last sensor is removed", () => looksBack(house));
  await t.test("the view token cannot change anything", () => onlyLooks(house));
  await t.test("the console stays empty, and no file or log line contains a secret", () => {
    // The browser says so itself of every refused request.
    const own = house.browser.complaints.filter(
      (text) => !/status of (401|403|409|412|422)|net::ERR_FAILED/.test(text),
    );
    assert.deepEqual(own, []);
    assert.ok(house.browser.requests.every((url) => url.startsWith(`${house.address}/`)));
    assert.ok(house.browser.requests.every((url) => !url.includes(TOKEN)));
  });
});

async function openHouse(t: TestContext): Promise<House> {
  const plant = await startPlant(t, {
    simulator: { sensors: 7, speed: 20, historyDays: 0.05 },
    env: { SETUP_ENABLED: "true", HTTP_TOKEN: TOKEN, HTTP_VIEW_TOKEN: VIEW_TOKEN },
  });
  rmSync(plant.siteFile);
  const uplinksFile = join(dirname(plant.siteFile), "uplinks.json");
  const seen = await plant.subscribe();
  const agent = plant.startAgent({ UPLINKS_FILE: uplinksFile });
  const address = await agent.address;
  const browser = await openBrowser(t, { width: PHONE_PX, height: 844 });
  const { page } = browser;
  page.setDefaultTimeout(deadlineMs(15_000));
  t.after(() => {
    const text = JSON.stringify(agent.log);
    for (const secret of [TOKEN, VIEW_TOKEN, PASSWORD, UPLINK_PASSWORD])
      assert.ok(!text.includes(secret));
  });
  return { plant, browser, page, seen, address, uplinksFile };
}

async function signIn(page: Page, address: string, token: string): Promise<void> {
  await page.goto(`${address}/`);
  await page.getByLabel("Access token").fill(token);
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.locator("html[data-live=live]").waitFor();
}

/** Nothing wider than the telephone, and nothing that axe finds. */
async function isWell({ browser, page }: House, what: string): Promise<void> {
  const wide = await page.evaluate<number>("document.documentElement.scrollWidth");
  assert.ok(wide <= PHONE_PX, `${what}: ${wide} px wide`);
  assert.deepEqual(await browser.findings(), [], what);
  const words = await page.evaluate<string[]>(`[...document.querySelectorAll(
    "#setup-title, .set-own :is(label, legend, summary, .hint, .sub, .set-good), .set-own [role=group]",
  )].map((node) => {
    const copy = node.cloneNode(true);
    for (const member of copy.querySelectorAll(".member")) member.remove();
    return node.getAttribute("role") === "group" ? node.getAttribute("aria-label") : copy.textContent;
  })`);
  assert.deepEqual(
    words.filter((text) => MACHINE_WORDS.test(text)),
    [],
    what,
  );
}
/** Names of members, kinds, channels and topics as a file writes them; a value's own name stands behind its words. */
const MACHINE_WORDS =
  /`|\{\w+\}|\blocation\.\w|\b(?:accel|dryContact|currentV2|accCurrent|stateReads)\b|(?<!– )\b(?:channel|input)\d|(?<!client )\bids?\b|^Code of/;

const field = (page: Page, path: string) => page.locator(`[data-path="${path}"]`);
const shows = (page: Page, text: string | RegExp) =>
  page.locator(".set-notice", { hasText: text }).waitFor();
const siteOf = ({ plant }: House) =>
  JSON.parse(readFileSync(plant.siteFile, "utf8")) as {
    site: string;
    sensors: { code: string; name?: string }[];
  };

async function givesAName(house: House): Promise<void> {
  const { page, address } = house;
  await signIn(page, address, TOKEN);
  await page.getByText("No sensors are configured yet").waitFor();
  // Nothing was requested from it yet.
  await page.locator(".flow-words").getByText("gateway not contacted yet").waitFor();
  assert.equal(await page.getByText("does not respond").count(), 0);
  const early = house.browser.requests.filter((url) => /setup[^/]*\.(js|css)$/.test(url));
  assert.deepEqual(early, [], "the pages of set-up are loaded when they are opened");
  await page.getByRole("link", { name: "Open the set-up page" }).click();
  const name = page.getByLabel("Name of the site");
  await name.waitFor();
  await isWell(house, "start");
  // By keyboard alone; without a name the agent says why not.
  await name.press("Enter");
  await page
    .getByRole("alert")
    .getByText(/is empty; enter one/)
    .waitFor();
  await name.fill("plant/7");
  await page.getByText("In topics, it appears as “plant_7”.").waitFor();
  await name.fill("");
  await name.pressSequentially("plant");
  await name.press("Enter");
  await shows(page, "Saved");
  assert.equal(siteOf(house).site, "plant");
}

async function addsASensor(house: House): Promise<void> {
  const { page } = house;
  await page.getByRole("link", { name: "Add a sensor" }).click();
  await field(page, "code").fill("100200374");
  await page.getByRole("button", { name: "Save", exact: true }).click();
  const type = field(page, "type");
  await page
    .locator(".set-field", { has: type })
    .getByText(/is missing; add "type"/)
    .waitFor();
  assert.equal(await type.getAttribute("aria-invalid"), "true");
  await isWell(house, "sensor with faults");
  // Whoever goes on in another field is left there when the next check tells of the same fault.
  const name = field(page, "name");
  const checked = page.waitForResponse(/setup\/site\/check/);
  await name.pressSequentially("Tank", { delay: 20 });
  await checked;
  await page.evaluate(
    "new Promise((shown) => requestAnimationFrame(() => requestAnimationFrame(shown)))",
  );
  assert.equal(await type.getAttribute("aria-invalid"), "true");
  assert.equal(await page.evaluate("document.activeElement.dataset.path"), "name");
  assert.equal(await name.inputValue(), "Tank");
  await type.fill("26");
  await page.getByLabel("4–20 mA loop", { exact: true }).check();
  await page.getByRole("checkbox", { name: "Channel 1", exact: true }).check();
  const low = field(page, "channels.channel1.low");
  await low.pressSequentially("0,5");
  await page
    .locator(".set-field", { has: low })
    .getByText(/"0,5" has the wrong type; write a number with a decimal point/)
    .waitFor();
  await low.fill("0");
  await field(page, "channels.channel1.high").fill("100");
  // The agent is asked while the form is filled in.
  await field(page, "channels.channel1.unit").fill("%");
  // Soon after midnight the day may have no record yet.
  const read = page.getByRole("button", { name: "Read it once" });
  const outcome = page.locator(".set-trial-out p", { hasText: /^4–20 mA loop: \d+ records of / });
  await until("records of today", async () => {
    await read.click();
    await outcome.waitFor();
    return /^4–20 mA loop: [1-9]/.test((await outcome.textContent()) ?? "") || undefined;
  });
  await page.locator(".set-trial-out th", { hasText: /^channel1$/ }).waitFor();
  await page.getByText(/^What would be published \([1-9]/).waitFor();
  await isWell(house, "sensor that was read");
  await page.getByRole("button", { name: "Save", exact: true }).click();
  await shows(page, "Sensor 100200374: saved and in effect.");
  assert.deepEqual(siteOf(house).sensors, [
    {
      code: "100200374",
      type: 26,
      name: "Tank",
      kinds: ["loop"],
      channels: { channel1: { unit: "%", low: 0, high: 100 } },
    },
  ]);
  await isWell(house, "list");
}

async function showsReadings({ page, seen }: House): Promise<void> {
  await page.getByRole("link", { name: "Gateside, overview" }).click();
  const value = page.locator('tr[data-code="100200374"] [data-value="loop/channel1"]');
  await value.locator(".figure", { hasText: /\d/ }).waitFor();
  await seen.waitFor(({ topic }) => topic === "gateside/plant/100200374/loop");
}

async function rollsBack(house: House): Promise<void> {
  const { page } = house;
  await page.getByRole("button", { name: "Menu" }).click();
  await page.getByRole("link", { name: "Set-up", exact: true }).click();
  const nav = page.getByRole("navigation", { name: "Set-up" });
  await nav.getByRole("link", { name: "Sensors" }).click();
  await page.getByRole("link", { name: "Tank 100200374" }).click();
  await field(page, "name").fill("Wrong tank");
  await page.getByRole("button", { name: "Save", exact: true }).click();
  await shows(page, "saved and in effect");
  assert.equal(siteOf(house).sensors[0]?.name, "Wrong tank");
  await nav.getByRole("link", { name: "Versions" }).click();
  await page
    .getByRole("button", { name: /^Compare with/ })
    .first()
    .click();
  await page.getByText('Sensor 100200374: name "Wrong tank" → "Tank"').waitFor();
  await isWell(house, "versions");
  await page.getByRole("button", { name: /^Restore version \d+$/ }).click();
  await shows(page, /is restored and in effect/);
  assert.equal(siteOf(house).sensors[0]?.name, "Tank");
}

async function touchesNothing(house: House): Promise<void> {
  const { page, plant } = house;
  const site = siteOf(house);
  // As somebody may write it by hand: other lines, another order, a list with a comma in it.
  const channels = { channel1: { high: 100, unit: "%", low: 0 } };
  const tank = { ...site.sensors[0], description: "line one\nline two", channels };
  const rule = { high: 99, name: "full", select: { values: ["channel1"], sensors: ["100200374"] } };
  writeFileSync(plant.siteFile, JSON.stringify({ ...site, sensors: [tank], alarms: [rule] }));
  const nav = page.getByRole("navigation", { name: "Set-up" });
  for (const [list, entry] of [
    ["Sensors", "Tank 100200374"],
    ["Alarm rules", "full"],
  ] as const) {
    await nav.getByRole("link", { name: list }).click();
    await page.getByRole("link", { name: entry }).click();
    await page.getByRole("button", { name: "Save", exact: true }).click();
    await shows(page, "saved and in effect");
  }
  const { sensors, alarms } = siteOf(house) as { sensors: object[]; alarms?: object[] };
  assert.equal(JSON.stringify([sensors, alarms]), JSON.stringify([[tank], [rule]]));
  writeFileSync(plant.siteFile, JSON.stringify(site));
}

async function restoresWhatWasShown(house: House): Promise<void> {
  const { page, plant } = house;
  const nav = page.getByRole("navigation", { name: "Set-up" });
  await nav.getByRole("link", { name: "Versions" }).click();
  const own = await page.evaluate<string>(
    "fetch('api/v1/setup/backup').then((answer) => answer.text())",
  );
  /** One that changes a member of the sensor. */
  const backupOf = (member: string) => {
    const backup = JSON.parse(own);
    backup.siteFile.sensors[0][member] = "as restored";
    const text = JSON.stringify({ ...backup, sha256: digestOf(backup) });
    return { name: "backup.json", mimeType: "application/json", buffer: Buffer.from(text) };
  };
  const section = page.getByRole("region", { name: "Backup" });
  const show = section.getByRole("button", { name: "Show what would change" });
  const restore = section.getByRole("button", { name: "Restore this" });
  const file = section.getByLabel("Restore from");
  await file.setInputFiles(backupOf("description"));
  await page.route("**/setup/restore?*", (route) => route.abort(), { times: 1 });
  await show.click();
  await section.getByText(/^Not done: /).waitFor();
  await show.click();
  await section.getByText(/ changes: .*description/).waitFor();
  // Another file: what was shown is not what would be done.
  await file.setInputFiles(backupOf("name"));
  assert.equal(await restore.count(), 0);
  await show.click();
  await section.getByText(/ changes: .*\bname\b/).waitFor();
  // So where somebody changes the files meanwhile.
  const before = readFileSync(plant.siteFile, "utf8");
  const theirs = JSON.stringify({ ...siteOf(house), machines: [{ id: 7 }] });
  writeFileSync(plant.siteFile, theirs);
  await restore.click();
  await section.getByText(/files of this box have changed/).waitFor();
  assert.equal(readFileSync(plant.siteFile, "utf8"), theirs, "nothing was overwritten");
  assert.equal(await restore.count(), 0);
  writeFileSync(plant.siteFile, before);
  await page.route("**/sign-out", (route) => route.abort(), { times: 1 });
  await page.getByRole("button", { name: "Menu" }).click();
  await page.getByRole("button", { name: "Sign out" }).click();
  await page.getByText(/^Not signed out: /).waitFor();
  await page.keyboard.press("Escape");
  // A file is chosen still.
  page.once("dialog", (dialog) => void dialog.accept());
  await nav.getByRole("link", { name: "Sensors" }).click();
  await page.getByRole("link", { name: "Tank 100200374" }).waitFor();
}

async function meetsOthers(house: House): Promise<void> {
  const { page, plant } = house;
  const nav = page.getByRole("navigation", { name: "Set-up" });
  await nav.getByRole("link", { name: "Sensors" }).click();
  await page.getByRole("link", { name: "Tank 100200374" }).click();
  await field(page, "name").fill("Mine");
  const theirs = siteOf(house);
  theirs.sensors.push({ code: "100200411", type: 40, kinds: ["rpm"] } as never);
  writeFileSync(plant.siteFile, JSON.stringify(theirs));
  await page.getByRole("button", { name: "Save", exact: true }).click();
  await page.getByText("Sensor 100200411: added").waitFor();
  assert.deepEqual(siteOf(house), theirs, "nothing was overwritten");
  await isWell(house, "conflict");
  await page.getByRole("button", { name: "Save this sensor in the changed file" }).click();
  await shows(page, "saved and in effect");
  assert.deepEqual(
    siteOf(house).sensors.map(({ code, name }) => [code, name]),
    [
      ["100200374", "Mine"],
      ["100200411", undefined],
    ],
  );
}

async function addsAnUplink(house: House): Promise<void> {
  const { page, plant, seen, uplinksFile } = house;
  const nav = page.getByRole("navigation", { name: "Set-up" });
  await nav.getByRole("link", { name: "Uplinks" }).click();
  await page.getByText("No uplinks except main").waitFor();
  const broken = page.getByText("The file on disk is not valid JSON");
  assert.equal(await broken.count(), 0, "a file that nobody has made yet is not broken");
  await page.getByRole("link", { name: "Add an uplink" }).click();
  await field(page, "name").fill("second");
  await field(page, "url").fill("mqtt://127.0.0.1:1");
  await field(page, "passwordFile").fill("../../../etc/passwd");
  await page.getByRole("button", { name: "Try the connection" }).click();
  await page.getByText(/is outside the allowed directories/).waitFor();
  await field(page, "passwordFile").fill("");
  await page.getByRole("button", { name: "Try the connection" }).click();
  await page.locator(".set-trial-out .fault-text", { hasText: "mqtt://127.0.0.1:1" }).waitFor();
  await field(page, "url").fill(plant.broker.url);
  await field(page, "username").fill("plant");
  await page.getByLabel("Password", { exact: true }).fill(UPLINK_PASSWORD);
  await page.getByRole("button", { name: "Try the connection" }).click();
  await page.locator(".set-good", { hasText: "connected" }).waitFor();
  await page
    .locator("summary", { hasText: /^More$/ })
    .first()
    .click();
  await field(page, "topicPrefix").fill("second");
  const written = await preview(page).textContent();
  assert.match(written ?? "", /"topicPrefix": "second"/);
  assert.match(written ?? "", /"password": "•+"/);
  await isWell(house, "uplink");
  await page.getByRole("button", { name: "Save", exact: true }).click();
  await shows(page, "Uplink second: saved and in effect.");
  await seen.waitFor(({ topic }) => topic === "second/plant/100200374/loop");
  const file = JSON.parse(readFileSync(uplinksFile, "utf8"));
  const { passwordFile } = file.uplinks[0];
  const second = { name: "second", url: plant.broker.url, username: "plant", passwordFile };
  assert.deepEqual(file, {
    uplinks: [{ ...second, topicPrefix: "second", machines: true }],
  });
  // What was typed is in a file of the agent's own, and comes back to no page.
  assert.equal(readFileSync(passwordFile, "utf8"), `${UPLINK_PASSWORD}\n`);
  const answered = page.waitForResponse((one) => one.url().endsWith("/api/v1/setup/uplinks"));
  await page.getByRole("link", { name: "second" }).click();
  assert.ok(!(await (await answered).text()).includes(UPLINK_PASSWORD));
  assert.equal(await field(page, "password").getAttribute("type"), "password");
  assert.equal(await field(page, "password").inputValue(), "");
  assert.ok(!(await page.content()).includes(UPLINK_PASSWORD));
}

const preview = (page: Page) => page.getByRole("region", { name: "Entry as JSON" });

async function choosesAMachine(house: House): Promise<void> {
  const { page } = house;
  const nav = page.getByRole("navigation", { name: "Set-up" });
  await nav.getByRole("link", { name: "Machines" }).click();
  await page.getByRole("link", { name: "Add a machine" }).click();
  await field(page, "id").fill("40");
  await page.locator("summary", { hasText: "Shaft speed" }).click();
  const speed = field(page, "speed.sensor");
  // Only what measures a speed.
  const offered = await speed.locator("option").allTextContents();
  assert.deepEqual(offered, ["–", "100200411", "another …"]);
  await speed.selectOption("100200411");
  assert.match((await preview(page).textContent()) ?? "", /"sensor": "100200411"/);
  await speed.selectOption("another …");
  await page.getByLabel("Speed sensor: another").fill("77");
  assert.match((await preview(page).textContent()) ?? "", /"sensor": "77"/);
  await isWell(house, "machine with choices");

  const asked: string[] = [];
  let answer = false;
  page.on("dialog", (dialog) => {
    asked.push(dialog.message());
    void (answer ? dialog.accept() : dialog.dismiss());
  });
  await nav.getByRole("link", { name: "Alarm rules" }).click();
  await until("the question", () => asked.length === 1 || undefined);
  assert.equal(await field(page, "id").inputValue(), "40");
  assert.match(page.url(), /#\/setup\/machine$/);
  answer = true;
  await nav.getByRole("link", { name: "Alarm rules" }).click();
  await page.getByText("No custom rules").waitFor();
  await page.getByRole("link", { name: "Add an alarm rule" }).click();
  // Of an alarm's sensors the names, and the values that were read.
  await page.locator("summary", { hasText: "Values to which it applies" }).click();
  await page.getByLabel("Mine – 100200374").check();
  await page.getByLabel(/ – channel1$/).check();
  assert.match(
    ((await preview(page).textContent()) ?? "").replaceAll(/\s+/g, " "),
    /"sensors": \[ "100200374" \], "values": \[ "channel1" \]/,
  );
  // What says that it does not save, does not ask.
  await page.getByRole("link", { name: "Back without saving" }).click();
  await page.getByText("No custom rules").waitFor();
  assert.equal(asked.length, 2);
}

/** The service is another agent's, as its clients know it. */
async function discovers(t: TestContext, house: House): Promise<void> {
  const { page } = house;
  const service = createHttpServer(await partsWithFeatures(testParts()), {
    ...OPTIONS,
    port: 0,
    token: PASSWORD,
  });
  t.after(() => service.close());
  const url = await service.listen();
  const nav = page.getByRole("navigation", { name: "Set-up" });
  await nav.getByRole("link", { name: "Sensors" }).click();
  await page.getByRole("link", { name: "Find sensors at the analytics service" }).click();
  await page.getByRole("button", { name: "Find sensors" }).click();
  await page.getByText("Enter the address with http:// or https://, the e-mail").waitFor();
  await page.getByLabel("Address of the service").fill(url);
  await page.getByLabel("E-mail").fill("anna@plant.example");
  await page.getByLabel("Password").fill("not this one");
  await isWell(house, "log-in");
  await page.getByRole("button", { name: "Find sensors" }).click();
  await page.getByText(/The service returned no sensors: /).waitFor();
  await page.getByLabel("Address of the service").fill(url);
  await page.getByLabel("E-mail").fill("anna@plant.example");
  await page.getByLabel("Password").fill(PASSWORD);
  // A lost answer about the search does not end it.
  let isLost = false;
  await page.route("**/api/v1/setup/discover", async (route) => {
    if (isLost || route.request().method() !== "GET") return route.continue();
    isLost = true;
    return route.abort();
  });
  await page.getByRole("button", { name: "Find sensors" }).click();
  await page
    .getByText(
      "4 sensors were found. 1 can be added; 3 more once it is said above what they read; 0 are",
    )
    .waitFor();
  assert.equal(isLost, true);
  await page.unroute("**/api/v1/setup/discover");
  // What decides about the others is open.
  await page.getByLabel(/^Type 40 /).selectOption("rpm");
  await page.getByRole("button", { name: "Apply to the list" }).click();
  await page.getByLabel("40001", { exact: true }).waitFor();
  await page.getByLabel("Pump 4 drive end 10234").uncheck();
  await isWell(house, "found");
  await page.getByRole("button", { name: "Add the selected sensors" }).click();
  await shows(page, "1 sensors: saved and in effect.");
  assert.deepEqual(
    siteOf(house).sensors.map(({ code }) => code),
    ["100200374", "100200411", "40001"],
  );
}

async function looksBack(house: House): Promise<void> {
  const { page } = house;
  const nav = page.getByRole("navigation", { name: "Set-up" });
  await page.getByRole("link", { name: "40001" }).click();
  await page.getByRole("button", { name: "Remove this sensor …" }).click();
  await page.getByRole("button", { name: "Remove sensor 40001" }).click();
  await shows(page, "Sensor 40001: removed.");
  await nav.getByRole("link", { name: "Changes" }).click();
  await page.getByText("PUT /api/v1/setup/site: -40001 · done").waitFor();
  await page.getByText(/PUT \/api\/v1\/setup\/uplinks: \+second · done/).waitFor();
  await isWell(house, "changes");
  await nav.getByRole("link", { name: "Machines" }).click();
  await page.getByRole("link", { name: "Add a machine" }).click();
  await field(page, "id").waitFor();
  for (const scheme of ["light", "dark"] as const) {
    await page.emulateMedia({ colorScheme: scheme });
    await isWell(house, `machine, ${scheme}`);
  }
}

async function onlyLooks(house: House): Promise<void> {
  const { page, address } = house;
  await house.browser.context.clearCookies();
  await signIn(page, address, VIEW_TOKEN);
  await page.goto(`${address}/#/setup/sensor?key=100200374`);
  await page.getByText(/read-only token/).waitFor();
  for (const name of ["Save", "Read it once", "Remove this sensor …"])
    assert.ok(await page.getByRole("button", { name, exact: true }).isDisabled(), name);
  const status = await page.evaluate<number>(
    `fetch("/api/v1/setup/versions/1/restore", { method: "POST" }).then(({ status }) => status)`,
  );
  assert.equal(status, 403);
}
