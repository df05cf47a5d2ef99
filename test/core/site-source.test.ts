import assert from "node:assert/strict";
import { test } from "node:test";
import type { Site } from "../../src/core/site.ts";
import { fixedSite, fromSite, ReplaceableSite } from "../../src/core/site-source.ts";

const siteOf = (...codes: string[]): Site => ({
  site: "plant-7",
  sensors: codes.map((code) => ({ code, type: 1, kinds: ["rpm"], channels: {} })),
});

test("site source – listeners hear of a replacement when it is in effect, with the site before", () => {
  const source = new ReplaceableSite(siteOf("1"));
  const heard: unknown[] = [];
  source.onChange((site, before) => {
    heard.push([site.sensors.length, before.sensors.length, source.current === site]);
  });
  source.replace(siteOf("1", "2"));
  assert.deepEqual(heard, [[2, 1, true]]);
});

test("site source – a listener that was taken away hears nothing more", () => {
  const source = new ReplaceableSite(siteOf("1"));
  let calls = 0;
  const end = source.onChange(() => {
    calls += 1;
  });
  source.replace(siteOf("2"));
  end();
  source.replace(siteOf("3"));
  assert.equal(calls, 1);
});

test("site source – what is made of a site is made once for each", () => {
  const source = new ReplaceableSite(siteOf("1"));
  let made = 0;
  const codes = fromSite(source, ({ sensors }) => {
    made += 1;
    return sensors.map(({ code }) => code);
  });
  assert.deepEqual([codes(), codes()], [["1"], ["1"]]);
  source.replace(siteOf("1", "2"));
  assert.deepEqual(
    [codes(), codes()],
    [
      ["1", "2"],
      ["1", "2"],
    ],
  );
  assert.equal(made, 2);
  assert.equal(fixedSite(siteOf("7")).current.sensors[0]?.code, "7");
});
