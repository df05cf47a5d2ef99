/**
 * Asks the dashboard what a person on shift asks in one minute, at four sizes, light and dark, with axe, and takes the
 * pictures of docs/one-minute.md, over the same plant as the other pictures. Needs chromium and the built program.
 * Usage: npm run build && node --import tsx scripts/questions.ts
 */
import { join } from "node:path";
import { openBrowser, skipWithoutBrowser } from "../test/support/browser.ts";
import { askAll, QUESTIONS } from "../test/support/questions.ts";
import { onStage } from "./dashboard-stage.ts";

const IMAGES = join("docs", "images");
const SIZES = [
  [1280, 800],
  [1024, 768],
  [390, 844],
  [360, 640],
] as const;
/** The size whose pictures are kept. */
const PICTURED = SIZES[0];

async function main(): Promise<void> {
  if (skipWithoutBrowser !== false) throw new Error(skipWithoutBrowser);
  await onStage(ask);
}

async function ask(address: string): Promise<void> {
  // Once acknowledged, it is so at every size.
  const questions = QUESTIONS.filter(({ name }) => name !== "acknowledge");
  for (const [width, height] of SIZES) {
    for (const colorScheme of ["light", "dark"] as const) {
      const { page, close, findings, complaints } = await openBrowser(null, { width, height });
      await page.emulateMedia({ colorScheme });
      const isPictured = width === PICTURED[0] && colorScheme === "light";
      const isLast = width === SIZES[3][0] && colorScheme === "dark";
      try {
        const counts = await askAll(page, address, isLast ? QUESTIONS : questions, async (name) => {
          const violations = await findings();
          if (violations.length > 0)
            throw new Error(`${width} × ${height}, ${name}: ${violations.join("\n")}`);
          const path = join(IMAGES, `question-${name.replaceAll(" ", "-")}.png`);
          if (name === "why" || name === "since when") return;
          if (isPictured || (isLast && name === "acknowledge")) await page.screenshot({ path });
        });
        process.stdout.write(
          `${width} × ${height}, ${colorScheme}: ${Object.entries(counts)
            .map(([name, clicks]) => `${name} ${clicks}`)
            .join(", ")}${complaints.length > 0 ? `; console: ${complaints.join("; ")}` : ""}\n`,
        );
      } finally {
        await close();
      }
    }
  }
}

main().catch((error: unknown) => {
  process.stderr.write(`${(error as Error).stack ?? String(error)}\n`);
  process.exitCode = 1;
});
