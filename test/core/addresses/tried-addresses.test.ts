import assert from "node:assert/strict";
import { test } from "node:test";
import { triedAddresses } from "../../../src/core/addresses/tried-addresses.ts";
import { messageOf } from "../../../src/core/thrown.ts";
import { networkFailure } from "../../../src/pipeline/gateway/network-failure.ts";
import { transportFailure } from "../../../src/pipeline/link/link-errors.ts";

const attempt = (code: string, address: string) =>
  Object.assign(new Error(`connect ${code} ${address}`), { code, address, port: 1883 });

/** As the runtime reports a name none of whose addresses could be reached. */
const BOTH = Object.assign(
  new AggregateError([attempt("ETIMEDOUT", "10.9.0.2"), attempt("ENETUNREACH", "fd00::2")], ""),
  { code: "ETIMEDOUT" },
);
const TRIED =
  "(tried 10.9.0.2:1883: no answer within 2 s; [fd00::2]:1883: this machine has no route to its network)";

test("tried addresses – the reason of every client names them, and the time each was given", () => {
  assert.equal(triedAddresses(BOTH), ` ${TRIED}`);
  const wrapped = new Error("fetch failed", { cause: BOTH });
  for (const text of [
    transportFailure(BOTH).text,
    networkFailure(BOTH, false).message,
    triedAddresses(wrapped),
    messageOf(BOTH),
  ])
    assert.ok(text.endsWith(TRIED), text);
});

test("tried addresses – one address alone is in the message already, and other failures have none", () => {
  for (const error of [attempt("ECONNREFUSED", "127.0.0.1"), new Error("x"), null, "text"])
    assert.equal(triedAddresses(error), "");
});
