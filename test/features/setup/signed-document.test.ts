import assert from "node:assert/strict";
import { generateKeyPairSync } from "node:crypto";
import { test } from "node:test";
import {
  isRefusal,
  openDocument,
  readPublicKeys,
  signDocument,
} from "../../../src/features/setup/signed-document.ts";

const NOW = Date.parse("2026-11-20T12:00:00Z");
const ours = generateKeyPairSync("ed25519");
const theirs = generateKeyPairSync("ed25519");
const EXPECTED = { site: "plant-7", nowMs: NOW, version: 4 };
const DOCUMENT = {
  site: "plant-7",
  version: 5,
  notAfterMs: NOW + 1000,
  content: { site: { site: "plant-7", sensors: [] } },
};

function reasonOf(bytes: Uint8Array | string, keys = [ours.publicKey], expected = EXPECTED) {
  const opened = openDocument(Buffer.from(bytes), keys, expected);
  return isRefusal(opened) ? opened.reason : "taken";
}
const signed = (change: Partial<typeof DOCUMENT> = {}, key = ours.privateKey) =>
  signDocument({ ...DOCUMENT, ...change }, key);

test("signed document – a valid one is accepted with its content", () => {
  const opened = openDocument(Buffer.from(signed()), [theirs.publicKey, ours.publicKey], EXPECTED);
  assert.ok(!isRefusal(opened));
  assert.deepEqual(opened.content, DOCUMENT.content);
  assert.equal(opened.version, 5);
});

test("signed document – each rule rejects under its own name", () => {
  assert.equal(reasonOf(signed({}, theirs.privateKey)), "signature");
  const bent = JSON.parse(signed()) as { payload: string; signature: string };
  const other = JSON.parse(signed({ version: 6 })) as { payload: string };
  assert.equal(reasonOf(JSON.stringify({ ...bent, payload: other.payload })), "signature");
  assert.equal(reasonOf(JSON.stringify({ ...bent, signature: "AAAA" })), "signature");
  assert.equal(reasonOf(signed({ site: "plant-8" })), "site");
  assert.equal(reasonOf(signed({ notAfterMs: NOW - 1 })), "time");
  assert.equal(reasonOf(signed({ version: 4 })), "version");
  assert.equal(reasonOf(signed({ version: 3 })), "version");
});

test("signed document – anything that is not such a document is rejected", () => {
  for (const text of [
    "",
    "null",
    "[]",
    "{}",
    '{"payload":7,"signature":[]}',
    "\u0000",
    '{"payload":"*","signature":"*"}',
  ])
    assert.equal(reasonOf(text), "not_a_document", text);
  const content = (value: unknown) => signed({ content: value as typeof DOCUMENT.content });
  const misspelt = { site: {}, uplink: {} };
  for (const value of [{}, [], null, { site: [] }, { site: "text" }, { uplinks: 7 }, misspelt])
    assert.equal(reasonOf(content(value)), "not_a_document", JSON.stringify(value));
  assert.equal(reasonOf(signed({ version: 1.5 })), "not_a_document");
  assert.equal(reasonOf(signed({ version: 0 })), "not_a_document");
  assert.equal(reasonOf(Buffer.alloc(1_000_001, 0x20)), "too_large");
  assert.equal(reasonOf(Buffer.alloc(1_000_000, 0x20)), "not_a_document");
  // Deep, and yet far below the size that is taken.
  let deep: unknown[] = [];
  for (let level = 0; level < 1_000; level++) deep = [deep];
  assert.equal(reasonOf(content({ site: { site: "plant-7", sensors: deep } })), "too_deep");
});

test("signed document – a key file may hold several keys, but only of the supported type", () => {
  const pem = (key: { export(options: object): string | Buffer }) =>
    String(key.export({ type: "spki", format: "pem" }));
  assert.equal(readPublicKeys(pem(ours.publicKey) + pem(theirs.publicKey)).length, 2);
  const rsa = generateKeyPairSync("rsa", { modulusLength: 1024 });
  assert.throws(() => readPublicKeys(pem(rsa.publicKey)), /type rsa; only Ed25519 is accepted/);
  assert.throws(() => readPublicKeys("nothing"), /contains 0 public keys/);
});
