import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { outlineOf } from "../../../src/features/query-service/rules/outline.ts";

test("outline of a body – finds the token as JSON.parse does, in any letter case, escaped, at any position", () => {
  for (const [body, text] of [
    ['{"Token":"a"}', "a"],
    [' {\n"x" : [1,{"Token":"no"},"]"] , "Token"\t:\r "a\\"b\\u0063" } ', 'a"bc'],
    ['{"\\u0054oken":"a"}', "a"],
    ['{"token":"low","Token":"exact","TOKEN":"up"}', "exact"],
    ['{"Token":"first","Token":"last"}', "last"],
    ['{"a":"\\\\","b":"\\\\\\"","Token":"x"}', "x"],
    ['{"a":-1.5e3,"b":null,"c":true,"TOKEN":"x"}', "x"],
    ['{"Token":""}', ""],
    ['{"Token":5}', null],
    ['{"Token":["a"]}', null],
    ['{"a":{"Token":"inner"}}', null],
    ["{}", null],
  ] as const)
    assert.deepEqual(outlineOf(body, "Token"), { isObject: true, text }, body);
});

test("outline of a body – a body that is not an object is rejected", () => {
  const deep = "[".repeat(60_000);
  for (const body of [
    "",
    " ",
    "[]",
    "null",
    '"x"',
    "{",
    '{"a"',
    '{"a":',
    '{"a":}',
    '{"a":1',
    '{"a":1,',
    "{,}",
    "{1:2}",
    "{a:1}",
    '{"a":1,}',
    '{"a":1}{',
    '{"a":[}',
    '{"a":"',
    '{"a":"\\"}',
    '{"a" "b"}',
    '{"a":1 "b":2}',
    `{"a":${deep}`,
    `{${Array.from({ length: 257 }, (_, n) => `"${n}":1`).join()}}`,
  ])
    assert.equal(outlineOf(body, "Token").isObject, false, body.slice(0, 40));
});

test("outline of a body – every object that JSON writes is accepted, with its text", () => {
  const object = fc.dictionary(fc.constantFrom("Token", "a", "", '"', "\\", "ü"), fc.jsonValue());
  fc.assert(
    fc.property(object, fc.constantFrom(0, 2), (value, indent) => {
      const token = value["Token"];
      assert.deepEqual(outlineOf(JSON.stringify(value, null, indent), "Token"), {
        isObject: true,
        text: typeof token === "string" ? token : null,
      });
    }),
    { seed: 5, numRuns: 300 },
  );
  // Whatever is taken for no object, JSON.parse refuses too.
  fc.assert(
    fc.property(fc.string({ unit: fc.constantFrom(...'{}[],:"\\1a '.split("")) }), (text) => {
      if (outlineOf(text, "Token").isObject) return;
      let parsed: unknown = null;
      try {
        parsed = JSON.parse(text);
      } catch {}
      assert.ok(typeof parsed !== "object" || parsed === null || Array.isArray(parsed), text);
    }),
    { seed: 5, numRuns: 2_000 },
  );
});
