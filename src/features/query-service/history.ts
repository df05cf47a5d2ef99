/** Operations that answer from stored readings over time. */

import { grouped } from "../../core/lists/grouped.ts";
import { unitFactor } from "../../core/query/units.ts";
import { type MemberText, memberText, textValue } from "../../core/record/json-member.ts";
import type { Kind } from "../../core/sensor.ts";
import { type StoredReading, storedUnits, storedValues } from "../../core/stored-reading.ts";
import { numberOf } from "../../core/value-number.ts";
import { API_CHANNEL, API_HISTORY_COLUMNS, API_REQUEST } from "../../pipeline/wire/names.ts";
import { jsonResponse, type QueryContext, type QueryResponse, rangeOf } from "./context.ts";
import { tableFrame } from "./lists.ts";
import { answerRows, listShape, type PutRow, type ResponseShape } from "./rows.ts";
import { isFault, type QueryFault, type QueryFields } from "./rules/request.ts";
import {
  channelElement,
  extraValue,
  hasChannel,
  historyRows,
  internalRmsRows,
  isExtraValue,
  mainValue,
  openReading,
  processedReading,
} from "./rules/responses.ts";
import type { AxisPlace } from "./rules/site-tree.ts";

const F = API_REQUEST;
type HistoryOutcome = Promise<QueryResponse | QueryFault>;

/** `getRMS` adds the nodes' own RMS if state reads of the site file supply it. */
export function allHistoryMeasures(context: QueryContext, fields: QueryFields): HistoryOutcome {
  const { time } = context;
  const kinds = fields.boolean(F.getRms) ? (["accel", "node"] as const) : (["accel"] as const);
  return axisHistory(context, fields, {
    kinds,
    needs: "attributes",
    shape: listShape(...tableFrame(API_HISTORY_COLUMNS)),
    rowsOf: (reading) =>
      reading.kind === "node"
        ? (place) => internalRmsRows(reading, place, time)
        : (place) => historyRows(reading, place, time),
  });
}
export function historyMeasures(context: QueryContext, fields: QueryFields): HistoryOutcome {
  const hasFile = (fileId: number) => context.parts.waveforms.has(fileId);
  return axisHistory(context, fields, {
    kinds: ["accel"],
    needs: "all",
    shape: listShape("[", "]"),
    rowsOf(reading) {
      const open = openReading(reading);
      return ({ channel }) =>
        hasChannel(open, channel)
          ? [JSON.stringify(processedReading(open, channel, "label", context.time, hasFile))]
          : [];
    },
  });
}

interface AxisQuestion {
  readonly kinds: readonly Kind[];
  readonly needs: "attributes" | "all";
  readonly shape: ResponseShape;
  /** JSON of the rows of a reading at a place. */
  readonly rowsOf: (reading: StoredReading) => (place: AxisPlace) => readonly string[];
}

async function axisHistory(
  context: QueryContext,
  fields: QueryFields,
  { kinds, needs, shape, rowsOf }: AxisQuestion,
): HistoryOutcome {
  const range = rangeOf(fields, context);
  if (isFault(range)) return range;
  const places = context.tree.places(
    { machine: fields.filter(F.machinecode), point: fields.filter(F.pointindex) },
    fields.filter(F.axis),
  );
  const bySensor = grouped(places, ({ sensor }) => sensor.code);
  const streams = [...bySensor.keys()].flatMap((sensor) => kinds.map((kind) => ({ sensor, kind })));
  const putRows = (reading: StoredReading, put: PutRow): void => {
    const textsAt = rowsOf(reading);
    for (const place of bySensor.get(reading.sensor) ?? [])
      for (const text of textsAt(place)) put(0, text);
  };
  return await answerRows(context, { ...range, streams, needs, rowsOf: putRows }, shape);
}

/** Channels of a sensor of any kind. */
const CHANNELS = [1, 2, 3, 4];

/** One object per channel; `values` holds one inner array. */
export async function dataBySensor(context: QueryContext, fields: QueryFields): HistoryOutcome {
  const range = rangeOf(fields, context);
  if (isFault(range)) return range;
  const sensor = context.tree.sensor(String(fields.integer(F.sensorCode)));
  if (sensor === null) return jsonResponse([]);
  const { names, time, units, tree } = context;
  const rowsOf = (reading: StoredReading, put: PutRow): void => {
    const labels = storedUnits(reading);
    const date = time.slashed(reading.timeMs);
    for (const { name, channel, value } of mainValues(reading)) {
      const label = labels[name] ?? "";
      put(channel, JSON.stringify(channelElement(date, label, units.ofLabel(label), value)));
    }
  };
  const openPart = (channel: number): string => {
    const head = {
      [API_CHANNEL.channel]: channel,
      [names.wire(API_CHANNEL.sensorCode)]: fields.integer(F.sensorCode),
      [names.wire(API_CHANNEL.sensorName)]: sensor.name ?? "",
      [API_CHANNEL.machineName]: tree.nameOf(sensor, "machine"),
      [API_CHANNEL.pointName]: tree.nameOf(sensor, "point"),
    };
    return `${JSON.stringify(head).slice(0, -1)},"${API_CHANNEL.values}":[[`;
  };
  const streams = sensor.kinds.map((kind) => ({ sensor: sensor.code, kind }));
  return await answerRows(
    context,
    { ...range, streams, needs: "values", rowsOf },
    {
      parts: CHANNELS,
      areEmptyPartsLeftOut: true,
      open: "[",
      openPart,
      closePart: "]]}",
      close: "]",
    },
  );
}

function mainValues(
  reading: StoredReading,
): { readonly name: string; readonly channel: number; readonly value: number | null }[] {
  const found = [];
  for (const [name, value] of Object.entries(storedValues(reading))) {
    const channel = mainValue(name)?.channel ?? null;
    if (channel !== null) found.push({ name, channel, value: numberOf(value) });
  }
  return found;
}

interface WantedValue {
  readonly textOf: MemberText;
  readonly factor: number;
}

/**
 * Every main value of the unit at that machine and point, including those stored in another unit of the same quantity.
 */
export async function extraValues(context: QueryContext, fields: QueryFields): HistoryOutcome {
  const range = rangeOf(fields, context);
  if (isFault(range)) return range;
  const unit = context.units.ofCode(fields.integer(F.unit) ?? -1);
  if (unit === null) return jsonResponse([]);
  const sensors = context.tree.sensors({
    machine: fields.filter(F.machinecode),
    point: fields.filter(F.pointindex),
  });
  // A store has few different ones, and most readings have no value of the unit.
  const wantedByUnits = new Map<string, readonly WantedValue[]>();
  const wantedOf = (units: string): readonly WantedValue[] => {
    const known = wantedByUnits.get(units);
    if (known !== undefined) return known;
    const wanted = Object.entries(storedUnits({ units })).flatMap(([name, label]) => {
      const factor = isExtraValue(name) ? unitFactor(label, unit.label) : null;
      return factor === null ? [] : [{ textOf: memberText(name), factor }];
    });
    wantedByUnits.set(units, wanted);
    return wanted;
  };
  const textOf = extraValue(unit);
  const rowsOf = (reading: StoredReading, put: PutRow): void => {
    const wanted = wantedOf(reading.units);
    if (wanted.length === 0) return;
    const date = context.time.slashed(reading.timeMs);
    for (const one of wanted) {
      const value = textValue(one.textOf(reading.values));
      put(0, textOf(date, value === null ? null : value * one.factor));
    }
  };
  const streams = sensors.flatMap(({ code, kinds }) =>
    kinds.map((kind) => ({ sensor: code, kind })),
  );
  const question = { ...range, streams, needs: "values" as const, rowsOf };
  return await answerRows(context, question, listShape("[", "]"));
}
