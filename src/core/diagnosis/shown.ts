/** Machines and findings in the form of the API; free of Node, because the dashboard uses it too. */

import {
  INTEGER,
  known,
  list,
  NUMBER,
  named,
  type Of,
  object,
  oneOf,
  orNull,
  TEXT,
} from "../schema.ts";
import { CANNOT, EVIDENCE_LINE, FINDINGS, LINE_UNITS, type Stage } from "./finding.ts";

export const STAGE = known<Stage>(INTEGER);
export const MACHINE_STATE = {
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

export const MACHINE = named(
  "Machine",
  object({ id: INTEGER, name: orNull(TEXT), ...MACHINE_STATE }),
);
export type MachineView = Of<typeof MACHINE>;

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
