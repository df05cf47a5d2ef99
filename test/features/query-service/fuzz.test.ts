import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { queryRoutes } from "../../../src/features/query-service/query-service.ts";
import {
  OPERATION_KEYS,
  OPERATIONS,
} from "../../../src/features/query-service/rules/operations.ts";
import { createApp } from "../../../src/http/server.ts";
import { filledParts } from "../../support/filled-parts.ts";
import { OPTIONS } from "../../support/http-parts.ts";

/** Seeded by fast-check, which prints the seed and the smallest failing case. */
const RUNS = Number(process.env["FUZZ_RUNS"] ?? 500);

test("query service – fuzz, any request body and headers: no 5xx, no 9008, always the envelope", async (t) => {
  const app = createApp(filledParts({ routes: [queryRoutes(null)] }), OPTIONS);
  t.after(() => app.close());
  const names = OPERATION_KEYS.map((key) => OPERATIONS[key].name);
  const fields = [
    ...new Set(OPERATION_KEYS.flatMap((key) => OPERATIONS[key].fields.map(({ name }) => name))),
  ];
  const value = fc.oneof(
    fc.constantFrom(
      -1,
      0,
      1,
      2,
      3,
      5,
      6,
      7,
      40,
      41,
      10234,
      20871,
      30,
      null,
      true,
      false,
      "",
      "1",
      "-1",
    ),
    fc.constantFrom(
      "2026-11-20",
      "2026-11-20 11:30:00",
      "0001-01-01",
      "9999-12-31 23:59:59",
      "10234,20871",
      2 ** 31,
      2 ** 53,
      -(2 ** 31),
      1e308,
    ),
    fc.jsonValue(),
  );
  const likely = fc
    .dictionary(fc.constantFrom(...fields), value, { minKeys: 3, maxKeys: fields.length })
    .map((body) => JSON.stringify({ Token: "x", ...body }));
  const body = fc.oneof(
    { weight: 6, arbitrary: likely },
    { weight: 1, arbitrary: fc.json() },
    { weight: 1, arbitrary: fc.string({ unit: "binary", maxLength: 200 }) },
    {
      weight: 1,
      arbitrary: fc.constantFrom(
        "[".repeat(100_000),
        '{"a":'.repeat(50_000),
        '{"Token":"x","__proto__":{"Token":"y"}}',
        "\uFEFF{}",
        "1e999",
      ),
    },
  );
  const type = fc.oneof(
    { weight: 8, arbitrary: fc.constant("application/json") },
    {
      weight: 1,
      arbitrary: fc.constantFrom(
        "text/plain",
        "application/json; charset=utf-16",
        "application/json;;;",
        "a/b",
        "",
      ),
    },
  );
  const operation = fc.oneof(fc.constantFrom(...names), fc.webPath());
  await fc.assert(
    fc.asyncProperty(operation, body, type, async (path, payload, contentType) => {
      const answer = await app.inject({
        method: "POST",
        url: `/ApiWeb.svc/${path.replace(/^\/+/, "")}`,
        headers: { host: "localhost", ...(contentType && { "content-type": contentType }) },
        payload,
      });
      assert.ok(
        [200, 400, 404, 413, 415].includes(answer.statusCode),
        `${answer.statusCode} ${answer.body}`,
      );
      const [envelope] = answer.json();
      assert.deepEqual(Object.keys(envelope), ["Key", "Configs", "Value"]);
      assert.notEqual(envelope.Key.StatusNumber, 9008);
      assert.equal(
        answer.statusCode === 200 && envelope.Key.StatusNumber >= 9000
          ? (envelope.Value.length ?? 0)
          : 0,
        0,
      );
    }),
    { numRuns: RUNS },
  );
});
