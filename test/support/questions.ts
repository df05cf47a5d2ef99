/** What a person on shift asks the dashboard in one minute, each answered from the start page in a few clicks. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import type { Page } from "playwright-core";

const CLICKS_MAX = 3;

/** Counts what a person does with the mouse; a choice from a list is one click. */
class Clicks {
  readonly page: Page;
  count = 0;
  constructor(page: Page) {
    this.page = page;
  }
  async on(role: "link" | "button" | "tab", name: string | RegExp): Promise<void> {
    this.count += 1;
    await this.page.getByRole(role, { name }).first().click();
  }
  async choose(label: string, wanted: (options: readonly string[]) => number): Promise<void> {
    this.count += 1;
    const panel = this.page.getByRole("region", { name: "Waveform and spectrum" });
    const control = panel.getByLabel(label, { exact: true });
    if (!(await control.isVisible())) {
      this.count += 1;
      await panel.getByText("Display", { exact: true }).click();
    }
    await control.selectOption({ index: wanted(await control.locator("option").allInnerTexts()) });
  }
  /** The measurement that shows the worst machine's finding, with all tools. */
  async spectrum(): Promise<void> {
    await this.on("link", "Pump 1");
    await this.on("link", /^Show BPFO/);
    await this.page.getByRole("img", { name: /^Spectrum of axis/ }).waitFor();
  }
}

export interface Question {
  /** Also the name of its picture. */
  readonly name: string;
  readonly ask: (clicks: Clicks) => Promise<void>;
}

const first = (page: Page) => page.locator("[data-machine]").first();

export const QUESTIONS: readonly Question[] = [
  {
    name: "worst",
    ask: async ({ page }) => {
      await first(page).getByRole("link", { name: "Pump 1" }).waitFor();
      const box = await first(page).boundingBox();
      const { height } = page.viewportSize() ?? { height: 0 };
      assert.ok(box !== null && box.y + box.height <= height, "whole without scrolling");
    },
  },
  {
    name: "why",
    ask: async ({ page }) =>
      first(page)
        .getByText(/damage, bearing 6205/)
        .waitFor(),
  },
  {
    name: "since when",
    ask: async ({ page }) =>
      first(page)
        .getByText(/since .+\(/)
        .waitFor(),
  },
  {
    name: "spectrum",
    ask: async (clicks) => {
      await clicks.on("link", "Pump 1");
      const plot = clicks.page
        .getByRole("img", { name: /^Evidence of the finding: .*BPFO/ })
        .first();
      await plot.scrollIntoViewIfNeeded();
    },
  },
  {
    name: "compare",
    ask: async (clicks) => {
      await clicks.spectrum();
      const isRunning = (text: string) => / rpm/.test(text) && !text.includes("standing");
      await clicks.choose("Compare with", (all) => all.findLastIndex(isRunning));
      await clicks.page.waitForFunction("location.hash.includes('against=')");
    },
  },
  {
    name: "waterfall",
    ask: async (clicks) => {
      await clicks.spectrum();
      await clicks.on("tab", "Waterfall");
      const plot = clicks.page.getByRole("img", { name: /^Waterfall of \d+ spectra/ });
      await plot.scrollIntoViewIfNeeded();
    },
  },
  {
    name: "waveform",
    ask: async (clicks) => {
      await clicks.spectrum();
      await clicks.on("tab", "Waveform");
      const wave = clicks.page.getByRole("img", { name: /^Waveform of axis/ });
      await wave.scrollIntoViewIfNeeded();
    },
  },
  {
    name: "cursors",
    ask: async (clicks) => {
      await clicks.spectrum();
      const plot = clicks.page.getByRole("img", { name: /^Spectrum of axis/ });
      clicks.count += 1;
      await plot.click({ position: { x: 150, y: 120 } });
      await clicks.page
        .locator(".readout", { hasText: /Hz.*gE/ })
        .first()
        .waitFor();
    },
  },
  {
    name: "export",
    ask: async (clicks) => {
      await clicks.spectrum();
      const download = clicks.page.waitForEvent("download");
      await clicks.on("button", "Save the numbers as CSV, spectrum");
      const file = await (await download).path();
      assert.match(readFileSync(file, "utf8"), /^\ufeff.*Frequency/);
    },
  },
  {
    name: "report",
    ask: async (clicks) => {
      await clicks.on("link", "Report");
      await clicks.page.getByRole("heading", { name: "Open notes" }).waitFor();
    },
  },
  {
    // Last: the others then see an acknowledged alarm no more.
    name: "acknowledge",
    ask: async (clicks) => {
      await clicks.on("button", "Acknowledge");
      await clicks.page.getByLabel("Your name").fill("Anna");
      await clicks.page.getByLabel("Note (optional)").fill("bearing ordered");
      await clicks.on("button", "Acknowledge");
      await first(clicks.page).getByText("acknowledged").waitFor();
      await first(clicks.page)
        .getByText(/^Done for \d/)
        .waitFor();
      await first(clicks.page).scrollIntoViewIfNeeded();
    },
  },
];

/** @param asked after each answer @returns clicks of each question */
export async function askAll(
  page: Page,
  address: string,
  questions: readonly Question[],
  asked: (name: string) => Promise<void>,
): Promise<Readonly<Record<string, number>>> {
  const counts: Record<string, number> = {};
  for (const { name, ask } of questions) {
    // A page of its own: what the one before has chosen counts for nothing.
    await page.goto("about:blank");
    await page.goto(`${address}/`);
    await first(page).waitFor();
    const clicks = new Clicks(page);
    await ask(clicks);
    counts[name] = clicks.count;
    assert.ok(clicks.count <= CLICKS_MAX, `${name}: ${clicks.count} clicks`);
    await asked(name);
  }
  return counts;
}
