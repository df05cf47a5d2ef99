import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { CHROMIUM, openBrowser, skipWithoutBrowser } from "../support/browser.ts";
import { deadlineMs } from "../support/deadline.ts";
import { type Firefox, openFirefox, skipWithoutFirefox } from "../support/firefox.ts";
import {
  type OtherComputer,
  openOtherComputer,
  skipWithoutNamespaces,
} from "../support/other-computer.ts";
import { PROGRAM, skipWithoutBuild, spawnAgent } from "../support/plant.ts";
import { tempDirectory } from "../support/temp-database.ts";
import { until } from "../support/wait-until.ts";

const skip = skipWithoutBuild || skipWithoutNamespaces;
const TOKEN = "a-token-of-the-site";
const LIVE = `document.documentElement.dataset.live === "live" ? "Live" : document.querySelector(".state-link")?.textContent`;

/** An agent on another computer, at every address that this one has for it. Its gateway and broker are away. */
async function startBox(
  t: TestContext,
  box: OtherComputer,
  isTls: boolean,
): Promise<readonly string[]> {
  const directory = tempDirectory(t);
  const env: Record<string, string> = {
    GATEWAY_URL: "http://127.0.0.1:9",
    MQTT_URL: "mqtt://127.0.0.1:9",
    DATA_DIR: join(directory, "data"),
    SETUP_ENABLED: "true",
    HTTP_HOST: "::",
    HTTP_PORT: "0",
    HTTP_TOKEN: TOKEN,
    DISK_FREE_MIN_MB: "0",
  };
  if (isTls) {
    const hosts = [box.ipv4, box.ipv6, box.name].join(",");
    const out = join(directory, "box");
    execFileSync(process.execPath, [PROGRAM, "certificate", "--host", hosts, "--out", out], {
      stdio: "ignore",
    });
    env["HTTP_CERT_FILE"] = `${out}.cert.pem`;
    env["HTTP_KEY_FILE"] = `${out}.key.pem`;
  }
  const agent = spawnAgent(env, directory, undefined, box.prefix);
  t.after(() => agent.kill());
  const { protocol, port } = new URL(await agent.address);
  return [box.ipv4, `[${box.ipv6}]`, box.name].map((host) => `${protocol}//${host}:${port}/`);
}

async function firefoxSignsIn(firefox: Firefox, address: string): Promise<void> {
  await firefox.goto(address);
  await firefox.type("#token", `${TOKEN}\n`);
  await until(`Live at ${address}`, async () =>
    (await firefox.evaluate(`return ${LIVE}`)) === "Live" ? true : undefined,
  );
  assert.equal(await firefox.evaluate("return location.href"), address);
}

for (const scheme of ["http", "https"] as const) {
  test(`sign-in – in Chromium, over ${scheme} from another computer, by IPv4, IPv6 and name`, {
    skip: skip || skipWithoutBrowser,
    timeout: deadlineMs(60_000),
  }, async (t) => {
    const box = openOtherComputer(t);
    const addresses = await startBox(t, box, scheme === "https");
    const program = box.knowing(CHROMIUM ?? "");
    const { page, complaints } = await openBrowser(t, { program, trustsAll: true });
    for (const address of addresses) {
      await page.goto(address);
      await page.getByLabel("Access token").fill(TOKEN);
      await page.getByLabel("Access token").press("Enter");
      await page.locator("html[data-live=live]").waitFor();
      assert.equal(page.url(), address);
    }
    // The browser itself reports the first page, which asks for the token.
    const others = complaints.filter((text) => !/status of 401/.test(text));
    assert.deepEqual(others, []);
  });

  test(`sign-in – in Firefox, over ${scheme} from another computer, by IPv4, IPv6 and name`, {
    skip: skip || skipWithoutFirefox,
    timeout: deadlineMs(60_000),
  }, async (t) => {
    const box = openOtherComputer(t);
    const addresses = await startBox(t, box, scheme === "https");
    const firefox = await openFirefox(t, box.knowing("/usr/bin/firefox-esr"), box.nearPrefix);
    for (const address of addresses) await firefoxSignsIn(firefox, address);
  });
}
