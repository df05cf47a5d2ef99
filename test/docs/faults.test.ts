import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { test } from "node:test";

const DOCUMENT = "docs/faults.md";
const CASES = "test/agent/faults.test.ts";
const EVENTS = "scripts/chaos/events.ts";

/** A fault, and the tests that show what happens then; the page has the first 70 or so, the list further ones. */
interface Shown {
  readonly fault: string;
  readonly tests: readonly string[];
}
const SHOWN = JSON.parse(readFileSync("test/docs/fault-tests.json", "utf8")) as readonly Shown[];

function proofs(): { readonly row: string; readonly proof: string }[] {
  return SHOWN.map(({ fault, tests }) => ({ row: fault, proof: tests.join(" · ") }));
}

/** First cells of the tables of faults on the page. */
function faultsOfPage(): string[] {
  const found: string[] = [];
  let isOfFaults = false;
  for (const line of readFileSync(DOCUMENT, "utf8").split("\n")) {
    if (!line.startsWith("|")) isOfFaults = false;
    else if (line.startsWith("| fault |")) isOfFaults = true;
    else if (isOfFaults && !/^\|[ :|-]+\|$/.test(line))
      found.push(line.split(/(?<!\\)\|/)[1]?.trim() ?? "");
  }
  return found;
}

test("docs/faults.md – each fault has a test in the list", () => {
  const listed = new Set(SHOWN.map(({ fault }) => fault));
  const page = faultsOfPage();
  assert.ok(page.length >= 70, `${page.length} faults`);
  assert.deepEqual(
    page.filter((fault) => !listed.has(fault)),
    [],
  );
});

/** `place`: “name” “name” · `place`: word, word */
function citations(proof: string): { readonly place: string; readonly names: string[] }[] {
  return proof.split(" · ").map((citation) => {
    const [, place, rest] = /^`([^`]+)`(?:: (.*))?$/.exec(citation) ?? [];
    assert.ok(place !== undefined, `not understood: ${citation}`);
    const quoted = [...(rest ?? "").matchAll(/“([^”]+)”/g)].map(([, name = ""]) => name);
    const words = (rest ?? "").split(", ").filter((word) => word !== "");
    return { place, names: quoted.length > 0 ? quoted : words };
  });
}

const titlesOf = (path: string): string[] =>
  [...readFileSync(path, "utf8").matchAll(/(?:\bit|\btest|\bt\.test)\(\s*(["'`])(.*?)\1,/gs)].map(
    ([, , title = ""]) => title,
  );

test("docs/faults.md – every test, case and event of the list exists", () => {
  const rows = proofs();
  assert.ok(rows.length >= 40, `${rows.length} rows`);
  const cases = readFileSync(CASES, "utf8");
  const events = readFileSync(EVENTS, "utf8");
  for (const { row, proof } of rows) {
    for (const { place, names } of citations(proof)) {
      if (place === "faults" || place === "campaign") {
        const source = place === "faults" ? cases : events;
        assert.ok(names.length > 0, `${row}: which of ${place}?`);
        for (const name of names) assert.ok(source.includes(`"${name}"`), `${row}: ${name}`);
        continue;
      }
      assert.ok(existsSync(place), `${row}: ${place}`);
      assert.ok(names.length > 0, `${row}: which test of ${place}?`);
      const titles = titlesOf(place);
      for (const name of names) {
        assert.ok(
          titles.some((title) => title.includes(name)),
          `${row}: ${place} has no “${name}”`,
        );
      }
    }
  }
});

test("docs/faults.md – contains every case of the gateway's faults and every event of the campaign", () => {
  const cited = new Map<string, Set<string>>();
  for (const { proof } of proofs()) {
    for (const { place, names } of citations(proof)) {
      const known = cited.get(place) ?? new Set();
      for (const name of names) known.add(name);
      cited.set(place, known);
    }
  }
  const cases = [
    ...readFileSync(CASES, "utf8").matchAll(/(?:reads|waits)\("([\w-]+)"|name: "([\w-]+)"/g),
  ].map(([, one, other]) => one ?? other ?? "");
  assert.ok(cases.length > 60, `${cases.length} cases`);
  for (const name of cases) assert.ok(cited.get("faults")?.has(name), `${name} is not in it`);
  const events = [...readFileSync(EVENTS, "utf8").matchAll(/readonly name: "([^"]+)"/g)];
  assert.ok(events.length >= 12, `${events.length} events`);
  for (const [, name = ""] of events) {
    assert.ok(cited.get("campaign")?.has(name), `${name} is not in it`);
  }
});
