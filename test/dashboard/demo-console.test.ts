import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { test } from "node:test";
import { openBrowser, skipWithoutBrowser } from "../support/browser.ts";
import { deadlineMs } from "../support/deadline.ts";
import { PROGRAM, skipWithoutBuild } from "../support/plant.ts";

test("demo – no page has a complaint in the browser's console, and set-up that is off is not asked", {
  skip: skipWithoutBuild || skipWithoutBrowser,
  timeout: deadlineMs(60_000),
}, async (t) => {
  const demo = spawn(process.execPath, [PROGRAM, "demo", "--port", "0"], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const ended = new Promise<void>((resolve) => demo.once("exit", () => resolve()));
  t.after(async () => {
    demo.kill("SIGTERM");
    await ended;
  });
  const address = await new Promise<string>((resolve, reject) => {
    createInterface({ input: demo.stdout }).on("line", (line) => {
      const found = /dashboard +(\S+)\/$/.exec(line)?.[1];
      if (found !== undefined) resolve(found);
    });
    demo.once("exit", (code) => reject(new Error(`the demo ended with ${code}`)));
  });
  const { page, complaints } = await openBrowser(t);
  await page.goto(`${address}/`);
  await page.locator("tr.sensor").first().waitFor();
  const links = await page.evaluate<string[]>(
    `[...new Set([...document.querySelectorAll('a[href^="#/"]')].map((link) => link.getAttribute("href")))]`,
  );
  const first = (start: string) => links.filter((link) => link.startsWith(start)).slice(0, 2);
  const views = [...first("#/sensor/"), ...first("#/machine/"), "#/alarms", "#/setup"];
  assert.equal(views.length, 6, links.join(" "));
  for (const view of views) {
    await page.goto(`${address}/${view}`);
    await page.getByRole("heading", { level: 1 }).waitFor();
    await page.waitForLoadState("networkidle").catch(() => {});
  }
  await page.getByText("Set-up is off. Set SETUP_ENABLED=true").waitFor();
  // And there is something to see: the simulated plant's times are stored.
  await page.goto(`${address}/#/sensor/100200300`);
  await page.locator(".uplot canvas").first().waitFor();
  assert.deepEqual(complaints, []);
});
