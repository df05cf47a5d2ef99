import assert from "node:assert/strict";
import { test } from "node:test";
import { openGate, SecretGate } from "../../src/lib/secrets.ts";

const SECRET = 'Kx9/"q+TÜ&z%7 pLw2Vn';
const gate = new SecretGate([SECRET]);

const base64At = (shift: number) =>
  Buffer.from(`${"ab".slice(0, shift)}${SECRET}`).toString("base64");
const FORMS: readonly (readonly [string, string])[] = [
  ["plain", SECRET],
  ["upper case", SECRET.toUpperCase()],
  ["base64", Buffer.from(SECRET).toString("base64")],
  ["base64 one byte in", base64At(1)],
  ["base64 two bytes in", base64At(2)],
  ["base64url", Buffer.from(SECRET).toString("base64url")],
  ["percent-encoded", encodeURIComponent(SECRET)],
  ["percent-encoded, lower case", encodeURIComponent(SECRET).toLowerCase()],
  ["form-encoded", encodeURIComponent(SECRET).replaceAll("%20", "+")],
  ["hexadecimal", Buffer.from(SECRET).toString("hex")],
  ["hexadecimal, upper case", Buffer.from(SECRET).toString("hex").toUpperCase()],
  ["JSON", JSON.stringify(SECRET)],
  ["JSON with escaped slashes", JSON.stringify(SECRET).replaceAll("/", "\\/")],
  ["HTML", SECRET.replaceAll("&", "&amp;").replaceAll('"', "&quot;")],
];

for (const [name, form] of FORMS) {
  test(`secret gate – a secret in ${name} is masked completely, the text around it is not`, () => {
    const clean = gate.redact(`before ${form} after`);
    assert.match(clean, /^before .*\*\*\*.* after$/);
    // At the edges of base64 a character or two belong to what stands around the secret.
    for (let at = 0; at + 6 <= form.length; at++) {
      const part = form.slice(at, at + 6);
      assert.ok(!clean.includes(part), `${part} in ${clean}`);
    }
  });

  test(`secret gate – a truncated secret in ${name} is masked too`, () => {
    for (let length = 12; length < form.length; length += 5) {
      const clean = gate.redact(`x ${form.slice(0, length)}`);
      assert.ok(!clean.includes(form.slice(2, 10)), `${length}: ${clean}`);
    }
  });
}

test("secret gate – several secrets, nested ones, and repeated ones in a text", () => {
  const both = new SecretGate(["hunter2-long-password", "user:hunter2-long-password"]);
  const clean = both.redact("user:hunter2-long-password and hunter2-long-password, user: hunter");
  assert.equal(clean, "*** and ***, user: hunter");
});

test("secret gate – names and texts of a value are masked, its numbers and shape stay", () => {
  const value = { a: [SECRET, 1, null], [SECRET]: { b: true } };
  assert.deepEqual(gate.redactValue(value), { a: ["***", 1, null], "***": { b: true } });
});

test("secret gate – ordinary text, and a gate without secrets, change nothing", () => {
  const text = "the gateway returned HTTP 500: Kx9 is a machine İ";
  assert.equal(gate.redact(text), text);
  assert.equal(openGate.redact(SECRET), SECRET);
  assert.equal(new SecretGate(["ab", ""]).redact("ab"), "ab");
});

test("secret gate – a text of megabytes is masked quickly, to its end", () => {
  const clean = gate.redact(`${SECRET}${"Kx9/".repeat(2_000_000)}`);
  assert.ok(clean.length <= 65_536);
  assert.ok(!clean.includes(SECRET));
});
