import assert from "node:assert/strict";
import { test } from "node:test";
import { gatewayTime } from "../../src/gateway/response-headers.ts";

test("response headers – a Date that no calendar day can be asked for is none", () => {
  assert.equal(gatewayTime({ date: "Fri, 20 Nov 2026 12:00:00 GMT" }), Date.UTC(2026, 10, 20, 12));
  for (const date of ["Fri, 31 Dec 9999 23:59:59 GMT", "1 Jan 12026 00:00:00 GMT", "soon", ""]) {
    assert.equal(gatewayTime({ date }), null, date);
  }
  assert.equal(gatewayTime({}), null);
});
