/** The list of sensors on paper, over several sheets. */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { skipWithoutBrowser } from "../support/browser.ts";
import { deadlineMs } from "../support/deadline.ts";
import { openHouse, placeOf, vibration } from "../support/page-house.ts";
import { tempDirectory } from "../support/temp-database.ts";

const skipWithoutPoppler = existsSync("/usr/bin/pdftotext") ? false : "needs poppler-utils";
const MACHINES = 15;
const EACH = 3;

test("dashboard – sensors on paper: each sheet has the heads of the table, and no machine's name stands alone at its end", {
  skip: skipWithoutBrowser || skipWithoutPoppler,
  timeout: deadlineMs(60_000),
}, async (t) => {
  const sensors = Array.from({ length: MACHINES * EACH }, (_, i) => ({
    code: `${1001 + i}`,
    type: 3,
    name: `Point ${i + 1}`,
    kinds: ["accel" as const],
    channels: {},
    machineClass: "group2-rigid" as const,
    location: placeOf(40 + Math.floor(i / EACH), i + 1),
  }));
  const house = await openHouse(t, { sensors });
  for (const { code } of sensors) house.reading(vibration(code, 1, "A"));
  const { page, url } = house;
  await page.goto(`${url}/#/sensors`);
  await page
    .locator("tr.sensor")
    .nth(sensors.length - 1)
    .waitFor();
  const file = join(tempDirectory(t), "sensors.pdf");
  let sheets = 0;
  // Margins move the break by less than a row: it comes at every place of a group.
  for (const topMm of [10, 16, 22, 28, 34, 40]) {
    const margin = { top: `${topMm}mm`, bottom: "10mm" };
    writeFileSync(file, await page.pdf({ format: "A4", margin }));
    const text = execFileSync("pdftotext", ["-layout", file, "-"], { encoding: "utf8" });
    const parts = text.split("\f").filter((part) => /Point \d/.test(part));
    sheets += parts.length;
    for (const part of parts) {
      assert.match(part, /Sensor +.*State/, "heads of the table");
      const lines = part.split("\n").filter((line) => /Machine \d+|Point \d+/.test(line));
      assert.match(lines.at(-1) ?? "", /Point \d+/, `${topMm} mm:\n${part}`);
    }
  }
  assert.ok(sheets > 6, `${sheets} sheets`);
});
