import assert from "node:assert/strict";
import { test } from "node:test";
import { rootCertificates } from "node:tls";
import { withPublicAuthorities } from "../../src/lib/authorities.ts";
import { clientOptions } from "../../src/pipeline/link/link-options.ts";

test("authorities – a private CA is added to the public ones, for every broker session", () => {
  assert.equal(withPublicAuthorities("own").length, rootCertificates.length + 1);
  const options = { name: "mqtt", version: 5, clientId: "a", inflight: 1 } as const;
  const { ca } = clientOptions(
    { ...options, urls: ["mqtts://broker"], tls: { ca: "own" } },
    "mqtts://broker",
    null,
  );
  assert.ok(Array.isArray(ca));
  assert.equal(ca.at(-1), "own");
  assert.deepEqual(ca.slice(0, -1), rootCertificates);
});
