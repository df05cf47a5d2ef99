import assert from "node:assert/strict";
import { test } from "node:test";
import {
  memberText,
  numberText,
  textNumber,
  textValue,
} from "../../../src/core/record/json-member.ts";
import { numberOf } from "../../../src/core/value-number.ts";

/** Each of these is near to what the cut looks for. */
const NAMES = ["rpm", "rpm2", 'x"rpm', "x,rpm", 'rpm"', "", "__proto__", "channel1_accel_rms"];
const SCALARS = [
  0,
  -0,
  -1.5,
  1e21,
  1.2e-7,
  true,
  false,
  null,
  "",
  "A",
  '"rpm":1',
  ',"rpm":2,',
  '{"rpm":3}',
  "12",
  "-",
  "a,b}c",
  "\\",
];
const NESTED = [{ rpm: 4 }, ["rpm", 5], { a: { rpm: 6 } }, [{ rpm: 7 }]];

test("member of a JSON object – is cut from the text as parsing finds it, whatever stands around it", () => {
  let state = 64;
  const draw = <T>(list: readonly T[]): T => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return list[(state >>> 8) % list.length] as T;
  };
  for (let run = 0; run < 20_000; run += 1) {
    const entries = Array.from({ length: draw([0, 1, 2, 5]) }, () => [
      draw(NAMES),
      draw([...SCALARS, ...SCALARS, ...NESTED]),
    ]);
    const text = JSON.stringify(Object.fromEntries(entries));
    const object = JSON.parse(text);
    for (const name of NAMES) {
      const cut = memberText(name)(text);
      assert.equal(cut !== null, Object.hasOwn(object, name), `${name} of ${text}`);
      const value = Object.hasOwn(object, name) ? object[name] : null;
      assert.equal(textValue(cut) ?? "none", numberOf(value) ?? "none", `${name} of ${text}`);
      assert.equal(textNumber(cut) !== null, typeof value === "number", `${name} of ${text}`);
      assert.equal(numberText(cut), JSON.stringify(typeof value === "number" ? value : null));
      if (value === "A") assert.equal(cut, '"A"');
    }
  }
});

test("member of a JSON object – a number beyond all numbers is none", () => {
  const cut = memberText("rpm")('{"rpm":1e999}');
  assert.deepEqual([textNumber(cut), textValue(cut), numberText(cut)], [null, null, "null"]);
});
