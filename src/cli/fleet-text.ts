/** Boxes as lines of a terminal: of a large fleet, those that need attention, and the others as a number. */
import type { FleetBox, FleetMachines } from "../collect/main.ts";
import { inLine, table } from "./table.ts";
import { duration } from "./times.ts";

/** A fleet that is larger than a screen shows its healthy boxes as one line. */
const FOLDED_FROM = 20;

const MACHINES_HEAD = ["SITE", "MACHINE", "AREA", "CONDITION", "SINCE", "REASON"];

/** The worst machines of all boxes. */
export function machinesText({ machines, total, unacknowledged }: FleetMachines): string {
  const rows = machines.map((one) => [
    one.site,
    one.name ?? `${one.machine}`,
    one.area ?? "-",
    one.condition === "unknown" && one.last_condition !== "unknown"
      ? `unknown (was ${one.last_condition}; not heard since ${minuteOf(one.heard)})`
      : `${one.condition}${one.acknowledged ? ", acknowledged" : ""}`,
    minuteOf(one.since),
    one.reason ?? "-",
  ]);
  const listed = rows.length === 0 ? "" : `${table([MACHINES_HEAD, ...rows], "")}\n`;
  const left = total > machines.length ? `; ${total - machines.length} more (--worst N)` : "";
  return `${listed}${total} ${total === 1 ? "machine" : "machines"}, ${unacknowledged} in alarm and not acknowledged${left}\n`;
}

const minuteOf = (time: string | null) =>
  time === null ? "-" : new Date(time).toISOString().slice(0, 16).replace("T", " ");

const HEAD = [
  "SITE",
  "STATE",
  "VERSION",
  "CONFIGURATION",
  "NEWEST READING",
  "BACKLOG",
  "HOURS LEFT",
  "SILENT",
  "ALARMS + WARNINGS",
  "NEEDS ATTENTION",
];

/** @param which `folded`: all of a small fleet */
export function fleetText(
  boxes: readonly FleetBox[],
  which: "all" | "attention" | "folded",
): string {
  const ill = boxes.filter(({ needsHands }) => needsHands.length > 0);
  const isFolded = which === "folded" && boxes.length >= FOLDED_FROM;
  const shown = which === "attention" || isFolded ? ill : boxes;
  const listed = shown.length === 0 ? "" : `${table([HEAD, ...shown.map(rowOf)], "")}\n`;
  const well = boxes.length - ill.length;
  const rest = isFolded && well > 0 ? `${well} more work (--all lists them)\n` : "";
  return `${listed}${rest}${sumOf(boxes, ill)}`;
}

function rowOf(box: FleetBox): string[] {
  const age = box.newestReadingAgeS === null ? "-" : duration(box.newestReadingAgeS * 1000);
  return [
    box.site,
    box.state ?? "unknown",
    box.version ?? "-",
    box.configuration ?? "-",
    box.isClockAhead && box.newestReadingAgeS === null ? "clock ahead" : age,
    box.backlog === null ? "-" : String(box.backlog),
    box.hoursUntilFull === null ? "-" : String(Math.floor(box.hoursUntilFull)),
    `${box.silentSensors.length} of ${box.sensors}`,
    `${box.alarms.alarm} + ${box.alarms.warning}`,
    [
      ...box.needsHands.map((text) => withSince(text, box)),
      ...box.pendingRestart.map((name) => `${name} needs a restart`),
    ].join("; "),
  ];
}

const withSince = (text: string, { offlineSince }: FleetBox) =>
  text.startsWith("offline") && offlineSince !== null
    ? `${text} since ${minuteOf(offlineSince)} UTC`
    : text;

/** How many of what; the versions of a fleet that has several. */
function sumOf(boxes: readonly FleetBox[], ill: readonly FleetBox[]): string {
  const total = `${boxes.length} ${boxes.length === 1 ? "box" : "boxes"}`;
  // Each box counts once, by the first that holds.
  const faultOf = ({ state, behindS, isUnheard, silentSensors }: FleetBox) => {
    if (state === "offline") return "offline";
    if (behindS !== null) return "behind";
    if (isUnheard) return "not heard from";
    return silentSensors.length > 0 ? "silent sensors" : "with other faults";
  };
  const countOf = (fault: ReturnType<typeof faultOf>) =>
    [ill.filter((box) => faultOf(box) === fault).length, fault] as const;
  const silent = ill.reduce((sum, { silentSensors }) => sum + silentSensors.length, 0);
  const alarms = boxes.reduce((sum, box) => sum + box.alarms.alarm, 0);
  const parts = [
    countOf("offline"),
    countOf("behind"),
    countOf("not heard from"),
    countOf("with other faults"),
    [silent, silent === 1 ? "silent sensor" : "silent sensors"],
    [alarms, alarms === 1 ? "machine alarm" : "machine alarms"],
  ] as const;
  const counts = parts.flatMap(([count, word]) => (count > 0 ? [`${count} ${word}`] : []));
  const reasons = counts.length === 0 || boxes.length < FOLDED_FROM ? "" : `: ${counts.join(", ")}`;
  const line = `${total}, ${ill.length} ${ill.length === 1 ? "needs" : "need"} attention${reasons}\n`;
  return boxes.length < FOLDED_FROM ? line : `${line}${versionsOf(boxes)}`;
}

function versionsOf(boxes: readonly FleetBox[]): string {
  const counts = new Map<string, number>();
  for (const { version } of boxes) {
    const name = version ?? "unknown version";
    counts.set(name, (counts.get(name) ?? 0) + 1);
  }
  if (counts.size < 2) return "";
  const sorted = [...counts].toSorted(([, a], [, b]) => b - a);
  return `versions: ${sorted.map(([version, count]) => `${inLine(version)} (${count})`).join(", ")}\n`;
}
