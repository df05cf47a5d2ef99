import assert from "node:assert/strict";
import { test } from "node:test";
import { gatewayTime, retryAfter } from "../../../src/lib/response-headers.ts";

test("response headers – a Date that is not a usable calendar day is ignored", () => {
  assert.equal(gatewayTime({ date: "Fri, 20 Nov 2026 12:00:00 GMT" }), Date.UTC(2026, 10, 20, 12));
  for (const date of ["Fri, 31 Dec 9999 23:59:59 GMT", "1 Jan 12026 00:00:00 GMT", "soon", ""]) {
    assert.equal(gatewayTime({ date }), null, date);
  }
  assert.equal(gatewayTime({}), null);
});

test("response headers – Retry-After is seconds, or a date by the gateway's clock, however wrong ours is", () => {
  const ours = Date.UTC(1970, 0, 2);
  const date = "Fri, 20 Nov 2026 12:00:00 GMT";
  assert.equal(retryAfter({ "retry-after": "120", date }, ours), 120_000);
  assert.equal(retryAfter({ "retry-after": "0" }, ours), 0);
  assert.equal(retryAfter({ "retry-after": "Fri, 20 Nov 2026 12:01:30 GMT", date }, ours), 90_000);
  assert.equal(retryAfter({ "retry-after": "Fri, 02 Jan 1970 00:00:05 GMT" }, ours), 5_000);
  // The two older forms of HTTP's dates.
  assert.equal(retryAfter({ "retry-after": "Friday, 20-Nov-26 12:00:30 GMT", date }, ours), 30_000);
  assert.equal(retryAfter({ "retry-after": "Fri Nov 20 12:00:45 2026", date }, ours), 45_000);
});

test("response headers – a Retry-After of hours is ignored, as is one in the past or without a valid date", () => {
  const date = "Fri, 20 Nov 2026 12:00:00 GMT";
  const wait = (text: string) => retryAfter({ "retry-after": text, date }, 0);
  assert.equal(wait("86400"), 600_000);
  assert.equal(wait("Sat, 21 Nov 2026 12:00:00 GMT"), 600_000);
  for (const text of ["Fri, 20 Nov 2026 11:00:00 GMT", "5 minutes", "soon", "-3", "1.5", ""]) {
    assert.equal(wait(text), null, text);
  }
  assert.equal(retryAfter({ date }, 0), null);
});
