/** The shapes of the query service's responses (services sections 4.2 and 6). Unknown is null, never 0. */

import { parsedObject } from "../../../core/parsed-json.ts";
import type { LocalTime } from "../../../core/query/dates.ts";
import { internalRms } from "../../../core/query/node-facts.ts";
import { conversionFactor, type UnitEntry } from "../../../core/query/units.ts";
import { memberText, numberText } from "../../../core/record/json-member.ts";
import {
  type StoredReading,
  storedAttributes,
  storedUnits,
  storedValues,
} from "../../../core/stored-reading.ts";
import { memberNumber } from "../../../core/value-number.ts";
import { zoneNumber } from "../../../pipeline/signal/severity.ts";
import {
  API_ASSIGNMENT,
  API_CHANNEL,
  API_EXTRA_VALUE,
  API_MEASURES,
  API_NODE,
  API_SIGNAL,
  ENVELOPE,
} from "../../../pipeline/wire/names.ts";
import type { AxisPlace, TreeNode } from "./site-tree.ts";

export type Cell = string | number | boolean | null;

/** A stored reading with its JSON texts parsed once. */
export interface OpenReading {
  readonly reading: StoredReading;
  readonly values: Readonly<Record<string, unknown>>;
  readonly attributes: Readonly<Record<string, unknown>>;
}
export function openReading(reading: StoredReading): OpenReading {
  return {
    reading,
    values: storedValues(reading),
    attributes: storedAttributes(reading),
  };
}

/** `[{"Key":…,"Configs":[],"Value":` and its closing text. */
export function envelopeHead(statusNumber: number, description: string): string {
  const key = JSON.stringify({
    [ENVELOPE.statusNumber]: statusNumber,
    [ENVELOPE.description]: description,
  });
  return `[{"${ENVELOPE.key}":${key},"${ENVELOPE.configs}":[],"${ENVELOPE.value}":`;
}
export const ENVELOPE_TAIL = "}]";

export function nodeResponse(node: TreeNode): object {
  return {
    [API_NODE.id]: node.id,
    [API_NODE.name]: node.name,
    [API_NODE.description]: node.description,
    [API_NODE.type]: node.type,
  };
}

/** True if the reading has this channel: a biaxial sensor has no third. */
export function hasChannel(open: OpenReading, channel: number): boolean {
  return Object.hasOwn(open.values, `channel${channel}_accel_rms`);
}

/** History operations return labels, the current measures return codes as text (services 4.2). */
const UNIT_FORMS = { label: ["G", "mm/s", "GE"], code: ["0", "2", "6"] } as const;

/** Past readings have no active alarm. */
const NO_ALARMS = { accel: null, envelope: null } as const;

export function processedReading(
  open: OpenReading,
  channel: number,
  unitForm: "label" | "code",
  time: LocalTime,
  hasFile: (fileId: number) => boolean,
  alarms: { readonly accel: number | null; readonly envelope: number | null } = NO_ALARMS,
): object {
  const { reading, values, attributes } = open;
  const file = reading.waveforms.find((ref) => ref.channel === channel);
  const [accelUnit, velocityUnit, envelopeUnit] = UNIT_FORMS[unitForm];
  const raw: Record<string, unknown> = parsedObject(reading.raw) ?? {};
  return {
    // 0 is the contract's word for "no stored waveform"; ids start at 1.
    [API_SIGNAL.fileId]: file !== undefined && hasFile(file.fileId) ? file.fileId : 0,
    [API_SIGNAL.date]: time.dashed(reading.timeMs),
    [API_SIGNAL.reason]: memberNumber(attributes, "recording_reason"),
    [API_SIGNAL.sampleRate]: memberNumber(attributes, "sample_rate"),
    [API_SIGNAL.calibration]: memberNumber(raw, "calibration"),
    [API_SIGNAL.sensitivity]: null,
    [API_SIGNAL.accelRms]: memberNumber(values, `channel${channel}_accel_rms`),
    [API_SIGNAL.accelUnit]: accelUnit,
    [API_SIGNAL.accelSeverity]: alarms.accel,
    [API_SIGNAL.velocityRms]: memberNumber(values, `channel${channel}_vel_rms`),
    [API_SIGNAL.velocityUnit]: velocityUnit,
    [API_SIGNAL.velocitySeverity]: zoneNumber(open.values[`channel${channel}_zone`]),
    [API_SIGNAL.envelopeRms]: memberNumber(values, `channel${channel}_env_rms`),
    [API_SIGNAL.envelopeUnit]: envelopeUnit,
    [API_SIGNAL.envelopeSeverity]: alarms.envelope,
  };
}

const CHANNEL_MEMBERS = new Map(
  [1, 2, 3].map((channel) => {
    const of = (name: string) => memberText(`channel${channel}_${name}`);
    return [
      channel,
      {
        accel: of("accel_rms"),
        velocity: of("vel_rms"),
        envelope: of("env_rms"),
        zone: of("zone"),
      },
    ];
  }),
);
const reasonOf = memberText("recording_reason");

/** One row per quantity, as JSON in the order of API_HISTORY_COLUMNS; none without this channel. */
export function historyRows(
  { timeMs, values, attributes }: Pick<StoredReading, "timeMs" | "values" | "attributes">,
  { machine, point, axis, channel }: AxisPlace,
  time: LocalTime,
): string[] {
  const members = CHANNEL_MEMBERS.get(channel);
  const accel = members?.accel(values) ?? null;
  // Null is written as such: the channel is there.
  if (members === undefined || accel === null) return [];
  const head = `[${machine},${point},${axis},"${time.dashed(timeMs)}"`;
  const reason = numberText(reasonOf(attributes));
  const zone = zoneNumber(members.zone(values)?.slice(1, -1));
  const [accelUnit, velocityUnit, envelopeUnit] = UNIT_FORMS.label;
  return [
    `${head},"${accelUnit}",null,${numberText(accel)},${reason}]`,
    `${head},"${velocityUnit}",${zone},${numberText(members.velocity(values))},${reason}]`,
    `${head},"${envelopeUnit}",null,${numberText(members.envelope(values))},${reason}]`,
  ];
}

const INTERNAL_RMS = 7;
/** Of a register for which the site file gives none. */
const NO_UNIT = "1";

/**
 * Rows of values that the node measures itself, for `getRMS`: in the same columns and units, with the reason code for
 * internal RMS. A value in a unit of another quantity keeps its own label.
 */
export function internalRmsRows(
  reading: StoredReading,
  { machine, point, axis, channel }: AxisPlace,
  time: LocalTime,
): string[] {
  const head = [machine, point, axis, time.dashed(reading.timeMs)];
  const [accel, vel, env] = UNIT_FORMS.label;
  const served = { accel, vel, env };
  const units = storedUnits(reading);
  return internalRms(storedValues(reading), channel).map(({ name, quantity, value }) => {
    const unit = served[quantity];
    const own = units[name] ?? NO_UNIT;
    const factor = own === NO_UNIT ? 1 : conversionFactor(own, unit);
    const shown = value === null ? null : value * (factor ?? 1);
    return JSON.stringify([...head, factor === null ? own : unit, null, shown, INTERNAL_RMS]);
  });
}

/** Nested as machines > points > axes; the entries are sorted that way. */
export function currentMeasures(
  entries: readonly { readonly place: AxisPlace; readonly signal: object }[],
): object[] {
  const machines = new Map<number, Map<number, object[]>>();
  for (const { place, signal } of entries) {
    const points = machines.get(place.machine) ?? new Map<number, object[]>();
    machines.set(place.machine, points);
    const axes = points.get(place.point) ?? [];
    points.set(place.point, axes);
    axes.push({ [API_MEASURES.axis]: place.axis, [API_MEASURES.signal]: signal });
  }
  return [...machines].map(([machine, points]) => ({
    [API_MEASURES.machineCode]: String(machine),
    [API_MEASURES.pointList]: [...points].map(([point, axes]) => ({
      [API_MEASURES.pointIndex]: point,
      [API_MEASURES.axisList]: axes,
    })),
  }));
}

/** Which stored value a channel object or extra value shows: only the main ones, not every minimum and peak. */
export function mainValue(name: string): { readonly channel: number | null } | null {
  const channel =
    /^(?:channel([1-4])(?:_(?:accel_rms|vel_rms|env_rms|ma))?|current([1-4])(?:_avg)?|accumulated_current([1-4])|input([1-4]))$/.exec(
      name,
    );
  if (channel !== null) {
    return { channel: Number(channel[1] ?? channel[2] ?? channel[3] ?? channel[4]) };
  }
  return name === "rpm" ? { channel: 1 } : null;
}

/** Values of the sensor itself, and the displacement: only as extra values. */
const EXTRA = /^(battery|temperature|module_temperature|channel[1-3]_disp_pp)$/;
export function isExtraValue(name: string): boolean {
  return EXTRA.test(name) || mainValue(name) !== null;
}

export function channelElement(
  date: string,
  label: string,
  unit: UnitEntry | null,
  value: number | null,
): object {
  return {
    [API_CHANNEL.date]: date,
    [API_CHANNEL.descUnit]: label,
    [API_CHANNEL.value]: value,
    [API_CHANNEL.unit]: unit?.code ?? null,
  };
}

/** Makes the JSON of an extra value of this unit. */
export function extraValue(unit: UnitEntry): (date: string, value: number | null) => string {
  const tail = JSON.stringify({
    [API_EXTRA_VALUE.unit]: unit.code,
    [API_EXTRA_VALUE.descUnit]: unit.label,
  }).slice(1);
  return (date, value) => {
    const shown = value !== null && Number.isFinite(value) ? value : null;
    return `{"${API_EXTRA_VALUE.date}":"${date}","${API_EXTRA_VALUE.value}":${shown},${tail}`;
  };
}

export function assignmentResponse(machine: number, point: number, axis: number | null): object {
  return {
    [API_ASSIGNMENT.machineCode]: machine,
    [API_ASSIGNMENT.pointIndex]: point,
    [API_ASSIGNMENT.axis]: axis,
  };
}
