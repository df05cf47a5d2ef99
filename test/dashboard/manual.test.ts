import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { CHAPTERS, chapterAddress, SITE_FILE_CHAPTER } from "../../src/dashboard/chapter.ts";
import { excerptOf, findSections, type ManualSection } from "../../src/dashboard/manual/find.ts";
import { createApp } from "../../src/http/server.ts";
import { openBrowser, pageUntil, skipWithoutBrowser } from "../support/browser.ts";
import { deadlineMs } from "../support/deadline.ts";
import { OPTIONS, testParts } from "../support/http-parts.ts";
import { skipWithoutBuild } from "../support/plant.ts";

const skip = skipWithoutBuild;
const DASHBOARD = join("dist", "dashboard");
const PAGES = ["index", "site-file", ...markdownNames()].map((name) => `/manual/${name}.html`);

function markdownNames(): string[] {
  return readdirSync("docs")
    .filter((name) => name.endsWith(".md"))
    .map((name) => name.slice(0, -".md".length));
}

/** As their places declare them. */
function featurePages(): { at: string; chapter: string }[] {
  return readdirSync("src/features", { recursive: true, encoding: "utf8" })
    .filter((path) => path.endsWith("-place.ts"))
    .flatMap((path) => {
      const text = readFileSync(join("src/features", path), "utf8");
      const [, at = "", chapter = ""] = /at: "(.+)",\s+chapter: "(.+)"/.exec(text) ?? [];
      return at === "" ? [] : [{ at, chapter }];
    });
}

function boxWithToken(t: TestContext, publicUrls: readonly string[] = []) {
  const options = { ...OPTIONS, token: "t0ken-that-may-all", dashboardDir: DASHBOARD, publicUrls };
  const app = createApp(testParts(), options);
  t.after(() => app.close());
  return app;
}

/** The pages as served, by address. */
async function servedPages(t: TestContext): Promise<Map<string, string>> {
  const app = boxWithToken(t);
  const pages = new Map<string, string>();
  for (const url of PAGES) {
    const { statusCode, headers, body } = await app.inject({ url });
    assert.equal(statusCode, 200, url);
    assert.match(String(headers["content-type"]), /^text\/html/);
    assert.match(String(headers["content-security-policy"]), /default-src 'none'/);
    // "sparkplug-conformance.html" looks like a name with a hash.
    assert.equal(headers["cache-control"], "no-cache", url);
    pages.set(url, body);
  }
  return pages;
}

const attributes = (html: string, name: string) =>
  [...html.matchAll(new RegExp(` ${name}="([^"]*)"`, "g"))].map(([, value = ""]) => value);

test("manual – every document is a page that answers without a token, and nothing else does for that", {
  skip,
}, async (t) => {
  const pages = await servedPages(t);
  assert.equal(pages.size, markdownNames().length + 2);
  const app = boxWithToken(t);
  const index = await app.inject({ url: "/manual/" });
  assert.equal(index.body, pages.get("/manual/index.html"));
  assert.equal((await app.inject({ method: "HEAD", url: "/manual/" })).statusCode, 200);
  for (const url of ["/manual/nowhere.html", "/manual/..%2fmain.js", "/manual/images/"])
    assert.equal((await app.inject({ url })).statusCode, 404, url);
  for (const url of ["/api/v1/status", "/"])
    assert.equal((await app.inject({ url })).statusCode, 401, url);
  // What is nowhere is nowhere for everybody.
  for (const url of ["/manual.html", "/manuals/"])
    assert.equal((await app.inject({ url })).statusCode, 404, url);
});

test("manual – pages load only what the box serves without a token, and their links lead to a page and a heading", {
  skip,
}, async (t) => {
  const pages = await servedPages(t);
  const app = boxWithToken(t);
  const loaded = new Set<string>();
  for (const [url, html] of pages) {
    const addresses = [
      ...attributes(html, "src"),
      ...[...html.matchAll(/<link [^>]*>/g)].flatMap(([tag]) => attributes(tag, "href")),
    ];
    for (const address of addresses) {
      const { origin, pathname } = new URL(address, `http://box${url}`);
      assert.equal(origin, "http://box", `${url}: ${address}`);
      loaded.add(pathname);
    }
    assert.doesNotMatch(html, /<style| style="|<script>| on[a-z]+="/, url);
    const links = [...html.matchAll(/<a [^>]*>/g)].flatMap(([tag]) => attributes(tag, "href"));
    for (const link of links) {
      const { origin, pathname, hash } = new URL(link, `http://box${url}`);
      if (origin !== "http://box" || pathname === "/") continue;
      const target = pages.get(pathname === "/manual/" ? "/manual/index.html" : pathname);
      assert.ok(target !== undefined, `${url}: ${link}`);
      const id = decodeURIComponent(hash.slice(1));
      if (id !== "") assert.ok(attributes(target, "id").includes(id), `${url}: ${link}`);
    }
  }
  for (const url of loaded) assert.equal((await app.inject({ url })).statusCode, 200, url);
  const style = (await app.inject({ url: "/manual/manual.css" })).body;
  assert.doesNotMatch(style, /url\(|@import/);
});

test("manual – below the path of HTTP_PUBLIC_URL it is found with and without that path, and leads nowhere else", {
  skip,
}, async (t) => {
  const app = boxWithToken(t, ["https://gw.plant.example/boxes/7/"]);
  const headers = { host: "gw.plant.example" };
  for (const path of ["/boxes/7/manual", "/manual"]) {
    const { statusCode, headers: answered } = await app.inject({ url: path, headers });
    assert.equal(statusCode, 308);
    const target = new URL(String(answered.location), `https://gw.plant.example${path}`);
    assert.equal(target.pathname, `${path}/`);
    for (const url of [`${path}/`, `${path}/alarms.html`, `${path}/images/dashboard.png`])
      assert.equal((await app.inject({ url, headers })).statusCode, 200, url);
  }
  const { body } = await app.inject({ url: "/boxes/7/manual/alarms.html", headers });
  for (const address of [...attributes(body, "href"), ...attributes(body, "src")])
    assert.doesNotMatch(address, /^\//);
});

test("manual – every view of the dashboard has a chapter, which is there", { skip }, async (t) => {
  const views = [
    ...readFileSync("src/dashboard/main.ts", "utf8").matchAll(/case "([\w/]+)":/g),
  ].map(([, view = ""]) => view);
  assert.deepEqual(Object.keys(CHAPTERS).toSorted(), ["", ...views].toSorted());
  const pages = await servedPages(t);
  const added = featurePages();
  const addresses = ["", "no-such-view", ...views, ...added.map(({ at }) => at)].map((view) =>
    chapterAddress(view, added),
  );
  for (const address of [...addresses, `manual/${SITE_FILE_CHAPTER}`]) {
    const { pathname, hash } = new URL(address, "http://box/");
    const page = pages.get(pathname);
    assert.ok(page !== undefined, address);
    if (hash !== "") assert.ok(attributes(page, "id").includes(hash.slice(1)), address);
  }
});

test("manual – the search finds words of headings and text, those in headings first", {
  skip,
}, async (t) => {
  const response = await boxWithToken(t).inject({ url: "/manual/sections.json" });
  assert.equal(response.statusCode, 200);
  const sections = response.json<ManualSection[]>();
  const [first] = findSections(sections, "SHELVE");
  assert.equal(first?.page, "alarms.html");
  assert.equal(first.anchor, "acknowledge-shelve-note");
  const both = findSections(sections, "mosquitto password");
  assert.ok(both.length > 0);
  for (const { title, heading, text } of both)
    assert.match(`${title} ${heading} ${text}`, /mosquitto/i);
  const [setting] = findSections(sections, "HTTP_SESSION_DAYS");
  assert.match(
    setting === undefined ? "" : excerptOf(setting, "HTTP_SESSION_DAYS"),
    /SESSION_DAYS/,
  );
  assert.deepEqual(findSections(sections, "zzyzx"), []);
  assert.deepEqual(findSections(sections, " "), []);
  for (const page of PAGES.slice(1))
    assert.ok(
      sections.some((section) => `/manual/${section.page}` === page),
      page,
    );
});

test("manual – in a browser the search lists sections while typing, and opens one", {
  skip: skip || skipWithoutBrowser,
  timeout: deadlineMs(60_000),
}, async (t) => {
  const app = boxWithToken(t);
  const address = await app.listen({ host: "127.0.0.1", port: 0 });
  const { page, complaints, findings } = await openBrowser(t);
  await page.goto(`${address}/manual/`);
  assert.deepEqual(await findings(), []);
  await page.getByRole("searchbox").fill("shelve");
  const link = page.getByRole("link", { name: /Acknowledge, shelve, note/ }).first();
  await link.waitFor();
  assert.deepEqual(await findings(), []);
  await link.click();
  const there = `location.pathname === "/manual/alarms.html"`;
  await pageUntil(there, () => page.evaluate<boolean>(there));
  assert.deepEqual(await findings(), []);
  assert.deepEqual(complaints, []);
});

test("dashboard – the link to the manual follows the view", {
  skip: skip || skipWithoutBrowser,
  timeout: deadlineMs(60_000),
}, async (t) => {
  const app = createApp(testParts(), { ...OPTIONS, dashboardDir: DASHBOARD });
  t.after(() => app.close());
  const address = await app.listen({ host: "127.0.0.1", port: 0 });
  const { page } = await openBrowser(t);
  for (const view of ["units", "log"]) {
    await page.goto(`${address}/#/${view}`);
    await page.locator(`.places a[href="${chapterAddress(view, [])}"]`).waitFor();
  }
});
