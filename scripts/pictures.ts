/**
 * Pictures of every page of the dashboard in three sizes, light and dark, over a simulated plant, and of some with the broker and the gateway
 * stopped: to be looked at before and after a change.
 * Needs chromium and the built program. Usage: npm run pictures [-- FOLDER]
 */
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { openBrowser, skipWithoutBrowser } from "../test/support/browser.ts";
import { type Failures, onStage } from "./dashboard-stage.ts";

const SIZES = [
  [390, 844],
  [1024, 768],
  [1440, 900],
] as const;
/** Plots are drawn, and highlights have faded. */
const SETTLE_MS = 3_000;
/** So long an uplink may be down before the page says so. */
const GRACE_MS = 30_000;

async function main(): Promise<void> {
  if (skipWithoutBrowser !== false) throw new Error(skipWithoutBrowser);
  const folder = process.argv[2] ?? "pictures";
  mkdirSync(folder, { recursive: true });
  await onStage((address, failures) => takeAll(address, failures, folder));
}

async function takeAll(address: string, failures: Failures, folder: string): Promise<void> {
  const { page, close, findings } = await openBrowser(null, { width: 1440, height: 900 });
  const faults: string[] = [];
  try {
    const pages = await pagesOf(address);
    await takeEach(pages);
    const shownWhenDown = pages.filter(([name]) => ["start", "machine", "sensor"].includes(name));
    const named = (state: string) =>
      shownWhenDown.map(([name, hash]) => [`${state}-${name}`, hash] as const);
    await failures.stopBroker();
    await takeEach(named("no-broker"), "broker_down");
    await failures.stopGateway();
    await takeEach(named("no-gateway"), "gateway_down");
  } finally {
    await close();
  }
  process.stdout.write(`${faults.length} faults\n${faults.map((one) => `${one}\n`).join("")}`);

  /** @param fault stands before the first picture */
  async function takeEach(
    pages: readonly (readonly [string, string])[],
    fault: string | null = null,
  ): Promise<void> {
    if (fault !== null) await standing(address, fault);
    for (const [name, hash] of pages) {
      for (const [width, height] of SIZES) {
        for (const colorScheme of ["light", "dark"] as const) {
          await page.emulateMedia({ colorScheme, reducedMotion: "reduce" });
          await page.setViewportSize({ width, height });
          await shown(page, `${address}/${hash}`);
          const file = `${name}-${width}-${colorScheme}`;
          await page.screenshot({ path: join(folder, `${file}.png`), fullPage: true });
          for (const fault of await findings()) faults.push(`${file}: ${fault}`);
          const wide = await page.evaluate<number>("document.documentElement.scrollWidth");
          if (wide > width) faults.push(`${file}: ${wide} px wide`);
        }
      }
    }
  }
}

/** Resolves once the agent reports the fault, and the page, which waits for an uplink to come back, shows it. */
async function standing(address: string, code: string): Promise<void> {
  for (;;) {
    const answer = await fetch(`${address}/api/v1/faults`);
    const { faults } = (await answer.json()) as {
      faults: readonly { code: string; sinceMs: number | null }[];
    };
    const fault = faults.find((one) => one.code === code);
    if (fault !== undefined && Date.now() - (fault.sinceMs ?? 0) > GRACE_MS) return;
    await new Promise((resolve) => setTimeout(resolve, 1_000));
  }
}

/** Every page by its name. */
async function pagesOf(address: string): Promise<readonly (readonly [string, string])[]> {
  const answer = await fetch(`${address}/api/v1/machines?sort=worst`);
  const { machines } = (await answer.json()) as {
    machines: readonly { id: number; sensors: readonly string[] }[];
  };
  const worst = machines[0];
  const sensor = worst?.sensors[0] ?? "";
  return [
    ["start", "#/"],
    ["sensors", "#/sensors"],
    ["machine", `#/machine/${worst?.id}`],
    ["report", `#/machine/${worst?.id}/report`],
    ["sensor", `#/sensor/${sensor}`],
    ["waveform", `#/sensor/${sensor}?tab=waveform`],
    ["waterfall", `#/sensor/${sensor}?tab=waterfall`],
    ["alarms", "#/alarms"],
    ["history", "#/alarms?list=history"],
    ["log", "#/log"],
    ["setup", "#/setup"],
    ["setup-sensor", `#/setup/sensor?key=${sensor}`],
    ["setup-machine", `#/setup/machine?key=${worst?.id}`],
    ["setup-alarm", "#/setup/alarm"],
    ["setup-versions", "#/setup/versions"],
    ["units", "#/units"],
    ["unknown", "#/no-such-page"],
  ];
}

async function shown(page: Page, address: string): Promise<void> {
  await page.goto("about:blank");
  await page.goto(address);
  await page.locator("html[data-live=live]").waitFor();
  await page.waitForTimeout(SETTLE_MS);
}

main().catch((error: unknown) => {
  process.stderr.write(`${(error as Error).stack ?? String(error)}\n`);
  process.exitCode = 1;
});
