/** The machines with their conditions in the form of the API; free of Node, because the dashboard uses it too. */

import { ZONES } from "../../pipeline/signal/severity.ts";
import { FINDINGS } from "../diagnosis/finding.ts";
import { MACHINE, MACHINE_STATE, type MachineView, STAGE } from "../diagnosis/shown.ts";
import {
  INTEGER,
  ISO,
  list,
  named,
  type Of,
  object,
  oneOf,
  orNull,
  TEXT,
  YES_NO,
} from "../schema.ts";
import { CHANGE, CONDITIONS, MARKS, UNKNOWN_REASONS } from "./words.ts";

/** A finding that stands and is not shelved. */
const ACTIVE_FINDING = object({
  finding: oneOf(FINDINGS),
  bearing: orNull(TEXT),
  shaft: { ...orNull(TEXT), description: "Null: that of the measured speed." },
  sensor: TEXT,
  stage: STAGE,
  since: ISO,
  text: TEXT,
});

/** An entry of the list with the worst first. */
const RANKED_MACHINE = named(
  "RankedMachine",
  object({
    id: { ...orNull(INTEGER), description: "Null for a sensor without a machine." },
    sensor: { ...orNull(TEXT), description: "Such a sensor; otherwise null." },
    name: orNull(TEXT),
    area: orNull(TEXT),
    ...MACHINE_STATE,
    running: { ...orNull(YES_NO), description: "Null: no signal, or no recent value." },
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
    zoneSince: {
      ...orNull(ISO),
      description:
        "Day of the last change of its zone by the gateway's calendar, written as 00:00 UTC.",
    },
    alarmCount: {
      ...object({ alarm: INTEGER, warning: INTEGER }),
      description:
        "Open alarms and warnings, findings among them, acknowledged or not; without shelved ones and those that are marks.",
    },
    activeFindings: list(ACTIVE_FINDING),
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
