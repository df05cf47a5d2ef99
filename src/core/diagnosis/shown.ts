/** Machines and findings in the form of the API; free of Node, because the dashboard uses it too. */

import { ZONES } from "../../pipeline/signal/severity.ts";
import { CHANGE, CONDITIONS, MARKS, UNKNOWN_REASONS } from "../machine-condition/words.ts";
import {
  INTEGER,
  ISO,
  known,
  list,
  NUMBER,
  named,
  type Of,
  object,
  oneOf,
  orNull,
  TEXT,
  YES_NO,
} from "../schema.ts";
import { CANNOT, EVIDENCE_LINE, FINDINGS, LINE_UNITS, type Stage } from "./finding.ts";

const STAGE = known<Stage>(INTEGER);
const STATE = {
  /** Null: no signal, or no recent value. */
  state: orNull(oneOf(["running", "standing"])),
  /** r/min, now; null while it is unknown. */
  speedRpm: orNull(NUMBER),
  /** Codes of the sensors that findings are based on. */
  sensors: list(TEXT),
  /** Active findings, and their worst stage. */
  findings: INTEGER,
  worstStage: orNull(STAGE),
};

const MACHINE = named("Machine", object({ id: INTEGER, name: orNull(TEXT), ...STATE }));
export type MachineView = Of<typeof MACHINE>;

/** An entry of the list with the worst first. */
const RANKED_MACHINE = named(
  "RankedMachine",
  object({
    id: { ...orNull(INTEGER), description: "Null for a sensor without a machine." },
    sensor: { ...orNull(TEXT), description: "Such a sensor; otherwise null." },
    name: orNull(TEXT),
    area: orNull(TEXT),
    ...STATE,
    condition: oneOf(CONDITIONS),
    order: { ...INTEGER, description: "1 is the worst." },
    reason: { ...TEXT, description: "The most severe reason as a sentence." },
    unknown: orNull(oneOf(UNKNOWN_REASONS)),
    since: orNull(ISO),
    sinceAtLeast: { ...YES_NO, description: "Storage begins there: it may be longer." },
    acknowledged: YES_NO,
    stage: orNull(STAGE),
    zone: orNull(oneOf(ZONES)),
    outlook: { ...orNull(ISO), description: "When the earliest outlook begins." },
    changed: orNull(CHANGE),
    zoneSince: { ...orNull(ISO), description: "Day of the last change of its zone." },
    marks: list(object({ sensor: TEXT, mark: oneOf(MARKS), text: TEXT })),
    alarms: list(
      object({
        id: TEXT,
        sensor: TEXT,
        alarm: TEXT,
        value: TEXT,
        severity: oneOf(["warning", "alarm"]),
        acknowledged: YES_NO,
        since: ISO,
        text: TEXT,
      }),
    ),
  }),
);
export type RankedMachine = Of<typeof RANKED_MACHINE>;

export const MACHINES = object({
  machines: list<MachineView | RankedMachine>({ anyOf: [MACHINE, RANKED_MACHINE] }),
});
/** An HTML document. */
export const REPORT = object({ title: TEXT, html: TEXT });

const FINDING = named(
  "Finding",
  object({
    /** Of the event that reported it. */
    id: TEXT,
    finding: oneOf(FINDINGS),
    bearing: orNull(TEXT),
    sensor: TEXT,
    point: orNull(INTEGER),
    stage: STAGE,
    worstStage: STAGE,
    /** Since when the machine has shown it, the reading with which it was told, and the newest that shows it, ISO. */
    since: TEXT,
    raised: TEXT,
    lastSeen: TEXT,
    readingId: TEXT,
    /** How many readings in a row showed it; 0: the newest ones did not. */
    inRow: INTEGER,
    speedRpm: NUMBER,
    level: NUMBER,
    unit: oneOf(LINE_UNITS),
    limit: NUMBER,
    evidence: list(EVIDENCE_LINE),
    text: TEXT,
  }),
);
export type FindingView = Of<typeof FINDING>;

const CHECKED_SENSOR = named(
  "CheckedSensor",
  object({
    sensor: TEXT,
    point: orNull(INTEGER),
    /** The newest reading evaluated since the agent started; null: none yet. */
    time: orNull(TEXT),
    readingId: orNull(TEXT),
    speedRpm: orNull(NUMBER),
    /** What was checked, as `finding` or `finding/bearing`. */
    lookedFor: list(TEXT),
    /** What was not, and why. */
    cannotTell: list(CANNOT),
  }),
);
export type CheckedSensor = Of<typeof CHECKED_SENSOR>;

export const MACHINE_FINDINGS = object({
  machine: MACHINE,
  findings: list(FINDING),
  checked: list(CHECKED_SENSOR),
});
export type MachineFindings = Of<typeof MACHINE_FINDINGS>;
