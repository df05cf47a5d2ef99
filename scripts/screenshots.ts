/**
 * Screenshots of the dashboard for the docs: a real agent over a simulated plant with some days of history.
 * Needs chromium and the built program. Usage: npm run build && node --import tsx scripts/screenshots.ts
 */
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { openBrowser, skipWithoutBrowser } from "../test/support/browser.ts";
import { onStage } from "./dashboard-stage.ts";

const IMAGES = join("docs", "images");

async function main(): Promise<void> {
  if (skipWithoutBrowser !== false) throw new Error(skipWithoutBrowser);
  await onStage(takePictures);
}

async function takePictures(address: string): Promise<void> {
  mkdirSync(IMAGES, { recursive: true });
  const { page, close } = await openBrowser(null, { width: 1440, height: 1000 });
  try {
    await page.goto(`${address}/`);
    await settled(page);
    await page.screenshot({ path: join(IMAGES, "dashboard.png") });
    await page.setViewportSize({ width: 1120, height: 620 });
    await page.goto(`${address}/#/alarms`);
    await settled(page);
    await page.screenshot({ path: join(IMAGES, "alarms.png") });
    const answer = await fetch(`${address}/api/v1/machines`);
    const machines = (await answer.json()) as { machines: { id: number; findings: number }[] };
    const faulty = machines.machines.find(({ findings }) => findings > 0);
    await page.goto(`${address}/#/machine/${faulty?.id ?? 0}`);
    await page.getByRole("link", { name: "Show BPFO", exact: true }).first().click();
    await settled(page);
    await page.locator(".signal").screenshot({ path: join(IMAGES, "finding-spectrum.png") });
    await page.emulateMedia({ colorScheme: "dark" });
    await page.setViewportSize({ width: 360, height: 780 });
    await page.goto(`${address}/#/`);
    await settled(page);
    await page.screenshot({ path: join(IMAGES, "dashboard-mobile.png") });
  } finally {
    await close();
  }
}

/** Plots are drawn, and highlights have faded. */
async function settled(page: Page): Promise<void> {
  await page.locator("html[data-live=live]").waitFor();
  await page.waitForTimeout(8_000);
}

main().catch((error: unknown) => {
  process.stderr.write(`${(error as Error).stack ?? String(error)}\n`);
  process.exitCode = 1;
});
