import assert from "node:assert/strict";
import { test } from "node:test";
import {
  type CertificateState,
  endingOf,
  endingText,
} from "../../../src/core/status/certificate.ts";

const DAY_MS = 86_400_000;

for (const [lifeDays, leftDays, state] of [
  [365, 14.001, "valid"],
  [365, 14, "ending"],
  [42, 14, "ending"],
  [30, 10.001, "valid"],
  [30, 10, "ending"],
  [7, 3, "valid"],
  [7, 2, "ending"],
  [365, 0, "ended"],
  [365, -3, "ended"],
] as const)
  test(`certificate – with ${leftDays} of ${lifeDays} days left it is ${state}`, () => {
    const untilMs = Date.UTC(2026, 11, 31);
    const certificate = { fromMs: untilMs - lifeDays * DAY_MS, untilMs };
    assert.equal(endingOf(certificate, untilMs - leftDays * DAY_MS).state, state);
  });

test("certificate – the text says when it ends, and what only a restart renews", () => {
  const untilMs = Date.UTC(2026, 11, 31, 12);
  const text = (leftMs: number, isRenewedByRestart = false) =>
    endingText({
      untilMs,
      isRenewedByRestart,
      ...endingOf({ fromMs: 0, untilMs }, untilMs - leftMs),
    } as CertificateState);
  assert.equal(text(12.9 * DAY_MS), "ends in 12 days, on 2026-12-31");
  assert.equal(text(1.5 * DAY_MS), "ends in 1 day, on 2026-12-31");
  assert.equal(text(1000), "ends in less than a day, on 2026-12-31");
  assert.equal(text(0, true), "ended on 2026-12-31; renewed by a restart");
});
