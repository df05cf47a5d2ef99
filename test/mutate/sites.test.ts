import assert from "node:assert/strict";
import { test } from "node:test";
import { SeededRandom } from "../../scripts/chaos/random.ts";
import { draw, listed, sitesOf, switched } from "../../scripts/mutate/sites.ts";

const SOURCE = `
import { wake } from "./wake.ts";
type Size = 1 | 2;
export function next(list: readonly number[], at: number, logger: { warn(text: string): void }): number {
  logger.warn("0" + 1);
  if (at >= list.length && !list.includes(1)) wake(at.toString());
  for (const item of list) if (item === at) return Math.max(item + 1, at);
  throw new Error("nothing after " + at);
}
`;
const sites = sitesOf("src/next.ts", SOURCE);
const plus = (source: string) => {
  const found = sitesOf("src/next.ts", source).find(({ from }) => from === "item + 1");
  assert.ok(found);
  return found;
};

test("mutate – comparisons, signs, conditions, booleans and calls are broken; types, texts and logs are not", () => {
  assert.deepEqual(
    sites.map(({ line, from, to }) => `${line} ${from} → ${to}`),
    [
      "6 at >= list.length && !list.includes(1) → !(at >= list.length && !list.includes(1))",
      "6 at >= list.length && !list.includes(1) → at >= list.length || !list.includes(1)",
      "6 at >= list.length → at > list.length",
      "6 !list.includes(1) → list.includes(1)",
      "6 1 → 2",
      "6 wake(at.toString()) → undefined",
      "7 item === at → !(item === at)",
      "7 item === at → item !== at",
      "7 Math.max(item + 1, at) → Math.min(item + 1, at)",
      "7 item + 1 → item - 1",
      "7 1 → 2",
    ],
  );
});

test("mutate – with no switch on, the file does what it did; with one on, that place is broken", () => {
  const broken = switched(SOURCE, [{ ...plus(SOURCE), number: 7 }]);
  assert.match(
    broken,
    /Math\.max\(\(globalThis\.gatesideMutant\(7\) \? \(item - 1\) : \(item \+ 1\)\), at\)/,
  );
  assert.equal(switched(SOURCE, []), SOURCE);
});

test("mutate – a seed draws the same places each time, none within another, each folder its share", () => {
  const other = sites.map((site) => ({ ...site, file: "src/other.ts" }));
  const drawn = (seed: number) => {
    const random = new SeededRandom(seed);
    return draw([sites, other], 6, () => random.next());
  };
  assert.deepEqual(drawn(3), drawn(3));
  assert.notDeepEqual(drawn(3), drawn(4));
  const own = drawn(3).filter(({ file }) => file === "src/next.ts");
  assert.equal(own.length, 3);
  for (const [i, a] of own.entries())
    for (const b of own.slice(i + 1)) assert.ok(a.end <= b.start || b.end <= a.start);
});

test("mutate – what a run lists is found again, also where lines were added before it", () => {
  const line = "survived  src/next.ts:7  item + 1  →  item - 1";
  const now = SOURCE.replace("type Size", "type Length = 3;\ntype Size");
  const found = (text: string, source: string) => listed(text, () => source);
  assert.deepEqual(found(line, now), { ...plus(now), line: 8 });
  assert.equal(found(line, SOURCE.replace("item + 1", "item")), "gone");
  assert.equal(found("seed 1: 2 of 3 noticed", SOURCE), null);
});
