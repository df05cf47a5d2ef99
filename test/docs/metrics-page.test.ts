import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { metricsPage } from "../../scripts/metrics-page.ts";

test("docs – the metrics page equals what the agent and the collector register", async () => {
  const page = await metricsPage();
  assert.equal(
    readFileSync("docs/metrics.md", "utf8"),
    page,
    "run: node --import tsx scripts/write-settings-doc.ts",
  );
  assert.match(page, /\| `gateside_delivery_failures_total` \| counter \| `reason`, `uplink` \|/);
});

test("docs – every credential of the units is named on a page", () => {
  const pages = ["docs/security.md", "docs/operations.md", "docs/settings.md"];
  const text = pages.map((page) => readFileSync(page, "utf8")).join("");
  const unit = readFileSync("systemd/gateside.service", "utf8");
  for (const [, name = ""] of unit.matchAll(/^LoadCredential=[^:]+:(\S+)$/gm))
    assert.ok(text.includes(`\`${name}\``), name);
});
