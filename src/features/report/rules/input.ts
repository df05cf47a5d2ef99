/** What a report tells of a machine. */

import type { StateLane, ZoneLevel } from "../../../core/drawing/figures.ts";
import type { ReadUnits } from "../../../core/read-units.ts";
import { type Of, object, TEXT } from "../../../core/schema.ts";

/** An HTML document. */
export const REPORT = object({ title: TEXT, html: TEXT });
export type Report = Of<typeof REPORT>;

export interface ReportFinding {
  /** As on the pages. */
  readonly title: string;
  /** What to do. */
  readonly action: string;
  readonly stage: number;
  readonly text: string;
  readonly sinceMs: number;
  readonly lastSeenMs: number;
  readonly speedRpm: number;
  readonly evidence: readonly {
    readonly name: string;
    readonly spectrum: string;
    readonly axis: string;
    readonly hz: number;
    readonly order: number;
    /** Peak. */
    readonly amplitude: number;
    readonly unit: string;
  }[];
  /** Null if the measurement is not stored any more. */
  readonly spectrum: {
    readonly timeMs: number;
    readonly unit: string;
    readonly stepHz: number;
    readonly values: ArrayLike<number>;
  } | null;
}

export interface ReportTrend {
  /** The one that says most of its sensor; the others stand in the appendix. */
  readonly isMain: boolean;
  /** Of the machine's worst value: it stands on the first page. */
  readonly isWorst: boolean;
  readonly title: string;
  readonly kind: string;
  /** The first of its values. */
  readonly value: string;
  readonly unit: string | null;
  /** Of a value that is an RMS: told beside the unit. */
  readonly isRms: boolean;
  readonly lines: readonly {
    readonly label: string;
    readonly points: readonly {
      readonly x: number;
      readonly y: number;
      /** Lowest and highest, where a point stands for more than one reading. */
      readonly low?: number;
      readonly high?: number;
    }[];
  }[];
  readonly levels: readonly ZoneLevel[];
  /** Of contacts, instead of lines: their states. */
  readonly lanes?: readonly StateLane[];
}

export interface ReportAlarm {
  readonly timeMs: number;
  readonly sensor: string;
  readonly alarm: string;
  readonly value: string;
  readonly severity: string;
  readonly state: string;
  readonly text: string;
  /** Who acknowledged it; null for nobody. */
  readonly by: string | null;
}

export interface ReportInput {
  readonly site: string;
  readonly machine: string;
  readonly area: string | null;
  readonly fromMs: number;
  readonly toMs: number;
  readonly madeMs: number;
  /** IANA zone of all times. */
  readonly zone: string;
  readonly version: string;
  readonly units: ReadUnits;
  /** The period ended before the report was made: state and alarms are those of its end. */
  readonly isOver: boolean;
  readonly condition: string;
  readonly reason: string;
  /** What to do; empty where nothing is. */
  readonly action: string;
  /** The alarm that is the reason; null if none is. */
  readonly worst: Pick<ReportAlarm, "alarm" | "value"> | null;
  readonly sinceMs: number | null;
  /** Storage begins there: it may be longer. */
  readonly isSinceAtLeast: boolean;
  readonly speedRpm: number | null;
  readonly sensors: readonly {
    readonly name: string;
    readonly zone: string | null;
    readonly lastMs: number | null;
    /** Heard of within three of its intervals: what it told is what is. */
    readonly isLive: boolean;
  }[];
  readonly findings: readonly ReportFinding[];
  readonly trends: readonly ReportTrend[];
  readonly outlook: readonly {
    readonly sensor: string;
    readonly value: string;
    readonly text: string;
  }[];
  /** Newest first. */
  readonly alarms: readonly ReportAlarm[];
  readonly alarmsCut: boolean;
  readonly notes: readonly {
    readonly subject: string;
    readonly by: string;
    readonly timeMs: number | null;
    readonly note: string;
  }[];
}
