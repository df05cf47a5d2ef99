import assert from "node:assert/strict";
import { test } from "node:test";
import { listenFailure } from "../../src/config/listen-failure.ts";

const PLACE = { httpHost: "127.0.0.1", httpPort: 8080 };

function failureOf(code: string): Error & { code?: string } {
  const raw = Object.assign(new Error(`listen ${code}: of Node's`), { code });
  const failure = listenFailure(raw, PLACE);
  assert.ok(failure instanceof Error);
  return failure;
}

test("listening – a port in use is reported with the setting, the address and the remedy, and keeps its code", () => {
  const failure = failureOf("EADDRINUSE");
  assert.match(failure.message, /^HTTP_PORT: 127\.0\.0\.1:8080 is in use .*set another port/);
  assert.equal(failure.code, "EADDRINUSE");
});

test("listening – an address of another machine names HTTP_HOST, an unknown error stays as it is", () => {
  assert.match(
    failureOf("EADDRNOTAVAIL").message,
    /^HTTP_HOST: 127\.0\.0\.1 is not an address .*; set /,
  );
  assert.match(failureOf("EACCES").message, /above 1023/);
  assert.match(failureOf("EMFILE").message, /of Node's/);
});
