/**
 * What the first page costs: bytes over the wire and time until the sensors can be read and searched, compared with a bare page
 * of the same kind of server, in pairs with empty caches; then how long a plot takes from key press to paint.
 * Needs chromium and the built program. Usage: node --import tsx scripts/bench/dashboard.ts [sensors] [runs] [times by which the browser's CPU is slowed down]
 */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { BrowserContext, Page } from "playwright-core";
import { startBroker } from "../../src/simulator/broker.ts";
import { startSimulator } from "../../src/simulator/server.ts";
import { openBrowser, skipWithoutBrowser } from "../../test/support/browser.ts";
import { spawnAgent } from "../../test/support/plant.ts";

const BARE = `<!doctype html><html lang="en"><title>Bare</title><main><h1>Sensors</h1><ol><li data-machine="1">1</li></ol></main></html>`;
/** Readable and usable: an entry of the start page is there, and the frame that shows it was painted. */
const WATCH = `(() => {
  const seen = () => document.querySelector("[data-machine]") !== null;
  const look = () => (seen() ? requestAnimationFrame(() => setTimeout(() => { window.usableMs = performance.now(); })) : setTimeout(look, 1));
  look();
})()`;

interface Look {
  readonly usableMs: number;
  readonly bytes: number;
  readonly requests: number;
}

async function main(): Promise<void> {
  if (skipWithoutBrowser !== false) throw new Error(skipWithoutBrowser);
  const sensors = Number(process.argv[2] ?? 14);
  const runs = Number(process.argv[3] ?? 11);
  const slowdown = Number(process.argv[4] ?? 1);
  const bare = createServer((_request, response) => {
    response.writeHead(200, { "content-type": "text/html; charset=utf-8" }).end(BARE);
  });
  await new Promise<void>((resolve) => bare.listen(0, "127.0.0.1", resolve));
  const directory = mkdtempSync(join(tmpdir(), "gateside-look-"));
  const simulator = await startSimulator({ zone: "UTC", sensors, historyDays: 1 });
  const broker = await startBroker();
  const siteFile = join(directory, "site.json");
  writeFileSync(siteFile, JSON.stringify(simulator.siteFile("plant")));
  const agent = spawnAgent(
    {
      GATEWAY_URL: simulator.url,
      GATEWAY_TIMEZONE: "UTC",
      MQTT_URL: broker.url,
      MQTT_VERSION: "4",
      SITE_FILE: siteFile,
      DATA_DIR: join(directory, "data"),
      HTTP_PORT: "0",
      BACKFILL_DAYS: "0",
    },
    directory,
  );
  const { context, close } = await openBrowser(null);
  try {
    const address = await agent.address;
    await allRead(address, sensors);
    const pairs: { bare: Look; dashboard: Look }[] = [];
    for (let i = 0; i < runs; i++) {
      const { port } = bare.address() as AddressInfo;
      pairs.push({
        bare: await look(context, `http://127.0.0.1:${port}/`, slowdown),
        dashboard: await look(context, `${address}/`, slowdown),
      });
    }
    report(sensors, pairs, slowdown);
    await plots(context, address);
  } finally {
    await close();
    await agent.stop();
    await broker.close();
    await simulator.close();
    bare.close();
    rmSync(directory, { recursive: true, force: true });
  }
}

async function allRead(address: string, sensors: number): Promise<void> {
  for (let i = 0; i < 300; i++) {
    const answer = await fetch(`${address}/api/v1/status`);
    const status = (await answer.json()) as { sensors: { lastReadingMs: number | null }[] };
    const read = status.sensors.filter(({ lastReadingMs }) => lastReadingMs !== null).length;
    if (read >= sensors) return;
    await new Promise((resolve) => setTimeout(resolve, 500));
  }
}

/** One visit with nothing cached. */
async function look(context: BrowserContext, url: string, slowdown: number): Promise<Look> {
  const page = await context.newPage();
  const session = await context.newCDPSession(page);
  await session.send("Network.enable");
  await session.send("Network.setCacheDisabled", { cacheDisabled: true });
  await session.send("Emulation.setCPUThrottlingRate", { rate: slowdown });
  await page.addInitScript(WATCH);
  await page.goto(url);
  // Evaluated from outside: the page's policy does not allow text to become code.
  for (let i = 0; i < 600 && !(await page.evaluate<boolean>("window.usableMs > 0")); i++) {
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  const looked = await page.evaluate<Look>(`(() => {
    const entries = [...performance.getEntriesByType("navigation"), ...performance.getEntriesByType("resource")]
      .filter(({ name }) => !name.includes("/api/"));
    return { usableMs: window.usableMs, bytes: entries.reduce((sum, { encodedBodySize }) => sum + encodedBodySize, 0), requests: entries.length };
  })()`);
  await page.close();
  return looked;
}

function report(
  sensors: number,
  pairs: readonly { bare: Look; dashboard: Look }[],
  slowdown: number,
): void {
  const ratios = pairs.map(({ bare, dashboard }) => dashboard.usableMs / bare.usableMs);
  const of = (pick: (pair: (typeof pairs)[number]) => number) => median(pairs.map(pick));
  print(
    `${sensors} sensors, ${pairs.length} pairs, a CPU ${slowdown} times slower, medians:`,
    `  first load      ${(of(({ dashboard }) => dashboard.bytes) / 1024).toFixed(1)} KiB in ${of(({ dashboard }) => dashboard.requests)} files (as encoded for this browser)`,
    `  usable after    ${of(({ dashboard }) => dashboard.usableMs).toFixed(0)} ms; bare page ${of(({ bare }) => bare.usableMs).toFixed(0)} ms; ratio ${median(ratios).toFixed(1)} (${Math.min(...ratios).toFixed(1)} to ${Math.max(...ratios).toFixed(1)})`,
  );
}

/** From key press to painted frame, zooming in and out of a spectrum and a waveform of 4096 samples. */
async function plots(context: BrowserContext, address: string): Promise<void> {
  const page: Page = await context.newPage();
  await page.goto(`${address}/#/sensor/100200300`);
  await page.locator(".peaks tbody tr").first().waitFor();
  const times = await page.evaluate<number[]>(`(async () => {
    const times = [];
    const plot = document.querySelectorAll(".plot")[1];
    for (let i = 0; i < 40; i++) {
      await new Promise((resolve) => requestAnimationFrame(resolve));
      const from = performance.now();
      plot.dispatchEvent(new KeyboardEvent("keydown", { key: i % 2 === 0 ? "+" : "-" }));
      await new Promise((resolve) => setTimeout(resolve));
      times.push(performance.now() - from);
    }
    return times;
  })()`);
  print(
    `  plot of 4096    ${median(times).toFixed(1)} ms from key to drawn, worst ${Math.max(...times).toFixed(1)} ms`,
  );
  await page.close();
}

function median(values: readonly number[]): number {
  return [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN;
}
function print(...lines: readonly string[]): void {
  process.stdout.write(`${lines.join("\n")}\n`);
}

main().catch((error: unknown) => {
  process.stderr.write(`${(error as Error).stack ?? String(error)}\n`);
  process.exitCode = 1;
});
