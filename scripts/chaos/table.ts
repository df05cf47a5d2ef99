import type { CampaignResult } from "./campaign.ts";
import type { EventName } from "./events.ts";

const EVENTS: readonly (readonly [EventName, string])[] = [
  ["agent killed", "kill -9"],
  ["agent stopped", "stop"],
  ["broker killed", "broker killed"],
  ["broker frozen", "broker frozen"],
  ["link silent", "link silent"],
  ["link reset", "link reset"],
  ["gateway fault", "gateway faults"],
  ["odd records", "odd records"],
  ["gateway clock set", "gateway clock"],
  ["disk full", "disk full"],
  ["box clock set", "box clock"],
  ["host offline", "host offline"],
  ["site file changes", "site file"],
  ["uplinks change", "uplinks"],
  ["other uplink fault", "other uplink"],
];
const COUNTS: readonly (readonly [string, (result: CampaignResult) => number])[] = [
  ["served", ({ shown }) => shown],
  ["received", ({ received }) => received],
  ["repeats", ({ repeats }) => repeats],
  ["dropped", ({ dropped }) => dropped],
  ["withdrawn", ({ takenBack }) => takenBack],
  ["lost", ({ lost }) => lost.length],
  ["invented", ({ invented }) => invented.length],
  ["duplicated", ({ doubled }) => doubled.length],
  ["other faults", ({ faults }) => faults.length],
  ["alarm events", ({ alarms }) => alarms.received],
  ["s", ({ seconds }) => seconds],
];
const DETAILS_MAX = 5;

export function headLines(): string[] {
  const titles = ["seed", "formats", ...EVENTS.map(([, title]) => title)];
  const all = [...titles, ...COUNTS.map(([title]) => title)];
  return [`| ${all.join(" | ")} |`, `|${" --- |".repeat(all.length)}`];
}

/** The row of a seed, followed by its problems. */
export function resultLines(result: CampaignResult): string[] {
  const { lost, invented, doubled, faults } = result;
  const happened = EVENTS.map(([name]) => result.events.get(name) ?? 0);
  const counts = COUNTS.map(([, count]) => count(result));
  const formats = result.formats.join("+");
  const lines = [`| ${[result.seed, formats, ...happened, ...counts].join(" | ")} |`];
  for (const { uplink, due, received, repeats, dropped, ...wrong } of result.uplinks) {
    const dark = uplink === result.dark ? ", dark to the end" : "";
    const bad = `${wrong.lost.length} lost, ${wrong.invented.length} invented, ${wrong.doubled.length} duplicated`;
    lines.push(
      `  ${uplink}${dark}: ${received} of ${due}, ${repeats} repeats, ${dropped} dropped, ${bad}`,
    );
  }
  for (const [what, list] of Object.entries({ lost, invented, doubled, faults })) {
    for (const item of list.slice(0, DETAILS_MAX)) lines.push(`  ${what}: ${item}`);
    if (list.length > DETAILS_MAX) lines.push(`  ${what}: … ${list.length - DETAILS_MAX} more`);
  }
  return lines;
}

export const isWell = ({ lost, invented, doubled, faults }: CampaignResult): boolean =>
  lost.length + invented.length + doubled.length + faults.length === 0;
