import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestContext } from "node:test";
import { type BrowserContext, chromium, type Page } from "playwright-core";
import { deadlineMs } from "./deadline.ts";
import { OTHER_PAUSE_MS, waitUntil } from "./wait-until.ts";

/** Without a window, where that is installed: it takes a quarter less CPU. */
export const CHROMIUM = [
  "/usr/bin/chromium-headless-shell",
  "/usr/bin/chromium",
  "/usr/bin/chromium-browser",
].find((path) => existsSync(path));
const DASHBOARD = join("dist", "dashboard", "index.html");

/** What to give node:test as `skip`: false where chromium and the built dashboard are there, else the reason. */
export const skipWithoutBrowser: string | false =
  CHROMIUM === undefined
    ? "chromium is not installed"
    : existsSync(DASHBOARD)
      ? false
      : "the dashboard is not built (npm run build)";

/** Quiet and self-contained: whatever it asks for is the page's own doing. */
const FLAGS = [
  "--no-sandbox",
  "--disable-gpu",
  // Containers give /dev/shm 64 MB, which a few pages at a time fill.
  "--disable-dev-shm-usage",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
];

export interface Browser {
  readonly context: BrowserContext;
  readonly page: Page;
  /** Errors and warnings of the console, uncaught exceptions, breaches of the content security policy. */
  readonly complaints: readonly string[];
  /** Addresses of all requests. */
  readonly requests: readonly string[];
  /** What axe-core finds wrong with the page as it is: rule, why, where. */
  findings(): Promise<string[]>;
}

/** How many times slower than it is the processor of every page is (`GATESIDE_TEST_CPU=6`), as of a cheap tablet. */
const CPU_SLOWDOWN = Math.max(1, Number(process.env["GATESIDE_TEST_CPU"] ?? 1) || 1);

async function slowDown(page: Page): Promise<void> {
  const session = await page.context().newCDPSession(page);
  await session.send("Emulation.setCPUThrottlingRate", { rate: CPU_SLOWDOWN });
}

/** A browser with its own profile; gone when the test ends. Give `t` null to close it yourself. */
export async function openBrowser(
  t: TestContext | null,
  options: {
    readonly width?: number;
    readonly height?: number;
    /** Starts it; by default the installed one. */
    readonly program?: string;
    /** Goes on where a person would, past the warning of a self-signed certificate. */
    readonly trustsAll?: boolean;
    /** The browser's zone; by default not the gateway's: the page must show the gateway's times all the same. */
    readonly zone?: string;
    /** Further flags of Chromium. */
    readonly flags?: readonly string[];
  } = {},
): Promise<Browser & { close(): Promise<void> }> {
  const profile = mkdtempSync(join(tmpdir(), "gateside-browser-"));
  const context = await chromium.launchPersistentContext(profile, {
    executablePath: options.program ?? CHROMIUM ?? "chromium",
    ignoreHTTPSErrors: options.trustsAll ?? false,
    args: [...FLAGS, ...(options.flags ?? [])],
    headless: true,
    viewport: { width: options.width ?? 1280, height: options.height ?? 900 },
    colorScheme: "light",
    timezoneId: options.zone ?? "Asia/Tokyo",
    locale: "en-GB",
  });
  const close = async (): Promise<void> => {
    await context.close();
    rmSync(profile, { recursive: true, force: true });
  };
  const page = context.pages()[0] ?? (await context.newPage());
  page.setDefaultTimeout(deadlineMs(30_000));
  if (CPU_SLOWDOWN > 1) await slowDown(page);
  const complaints: string[] = [];
  const requests: string[] = [];
  const unanswered: string[] = [];
  t?.after(async () => {
    // Node 20 has it, its types do not.
    if ((t as { passed?: boolean }).passed === false) {
      for (const one of context.pages()) t.diagnostic(await shown(one));
      t.diagnostic(`The page complained:\n${[...complaints, ...unanswered].slice(-20).join("\n")}`);
    }
    await close();
  });
  context.on("requestfailed", (request) =>
    unanswered.push(`${request.url()}: ${request.failure()?.errorText}`),
  );
  page.on("console", (message) => {
    if (["error", "warning"].includes(message.type())) complaints.push(message.text());
  });
  page.on("pageerror", (error) => complaints.push(error.message));
  page.on("request", (request) => requests.push(request.url()));
  return { context, page, complaints, requests, close, findings: () => findings(page) };
}

/** What a person would see, for the report of a test that failed. */
async function shown(page: Page): Promise<string> {
  const loaded = `performance.getEntriesByType("resource").map(({ name, responseStatus }) => responseStatus + " " + name).slice(-12).join("\\n")`;
  const text = await page
    .locator("body")
    .innerText({ timeout: 5000 })
    .catch((error: Error) => error.message);
  const files = await page.evaluate<string>(loaded).catch((error: Error) => error.message);
  return `The page ${page.url()} showed:\n${text.slice(0, 2000)}\nand had loaded:\n${files}`;
}

/** Waits for a state of a page that no event of the browser announces. */
export function pageUntil(
  what: string | (() => string),
  holds: () => Promise<boolean>,
): Promise<void> {
  return waitUntil(what, holds, 30_000, OTHER_PAUSE_MS);
}

const AXE = readFileSync(
  createRequire(join(process.cwd(), "package.json")).resolve("axe-core"),
  "utf8",
);

async function findings(page: Page): Promise<string[]> {
  // As text: the page's policy would refuse it as its own script.
  if ((await page.evaluate("typeof axe")) === "undefined") await page.evaluate(AXE);
  const rules = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"];
  const run = `axe.run(document, { runOnly: ${JSON.stringify(rules)}, resultTypes: ["violations"] })`;
  return page.evaluate<string[]>(
    `${run}.then(({ violations }) => violations.flatMap(({ id, nodes }) =>
      nodes.map(({ target, failureSummary }) => id + " " + target + ": " + failureSummary)))`,
  );
}

/** The page's intervals are so much shorter than their figures. */
const HURRY = 20;

/** From the next load on, every answer at `address` takes longer than the page's interval of `ms`. */
export async function answerSlowly(page: Page, address: string, ms: number): Promise<void> {
  await page.addInitScript(`{
    const start = (window.usualInterval ??= setInterval);
    window.setInterval = (act, ms) => start(act, ms / ${HURRY});
  }`);
  await page.route(address, async (route) => {
    // By the page's own clock, started later than the interval: that one has come twice.
    const passed = `new Promise((resolve) => {
      let left = 2;
      setInterval(() => --left === 0 && resolve(), ${ms});
    })`;
    await page.evaluate(passed).catch(() => {});
    await route.continue().catch(() => {});
  });
}
