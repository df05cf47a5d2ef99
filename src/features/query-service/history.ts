/** Operations that answer from stored readings over time. */

import { grouped } from "../../core/grouped.ts";
import { unitFactor } from "../../core/query/units.ts";
import { type StoredReading, storedUnits } from "../../core/stored-reading.ts";
import { numberOf } from "../../core/value-number.ts";
import { API_CHANNEL, API_HISTORY_COLUMNS, API_REQUEST } from "../../pipeline/wire/names.ts";
import { jsonResponse, type QueryContext, type QueryResponse, rangeOf } from "./context.ts";
import { tableFrame } from "./lists.ts";
import { answerRows, listShape, type ResponseShape, type TableRow } from "./rows.ts";
import { isFault, type QueryFault, type QueryFields } from "./rules/request.ts";
import {
  channelElement,
  extraValue,
  hasChannel,
  historyRows,
  internalRmsRows,
  isExtraValue,
  mainValue,
  type OpenReading,
  openReading,
  processedReading,
} from "./rules/responses.ts";
import type { AxisPlace } from "./rules/site-tree.ts";

const F = API_REQUEST;
type HistoryOutcome = Promise<QueryResponse | QueryFault>;

/** `getRMS` adds the nodes' own RMS if state reads of the site file supply it. */
export function allHistoryMeasures(context: QueryContext, fields: QueryFields): HistoryOutcome {
  const shape = listShape(...tableFrame(API_HISTORY_COLUMNS));
  const rowsOf = (open: OpenReading, place: AxisPlace) =>
    open.reading.kind === "node"
      ? internalRmsRows(open, place, context.time)
      : historyRows(open, place, context.time);
  return axisHistory(context, fields, shape, rowsOf, fields.boolean(F.getRms));
}
export function historyMeasures(context: QueryContext, fields: QueryFields): HistoryOutcome {
  const hasFile = (fileId: number) => context.parts.waveforms.has(fileId);
  return axisHistory(context, fields, listShape("[", "]"), (open, place) => [
    processedReading(open, place.channel, "label", context.time, hasFile),
  ]);
}

async function axisHistory(
  context: QueryContext,
  fields: QueryFields,
  shape: ResponseShape,
  rowsOf: (open: OpenReading, place: AxisPlace) => readonly unknown[],
  withNodes = false,
): HistoryOutcome {
  const range = rangeOf(fields, context);
  if (isFault(range)) return range;
  const places = context.tree.places(
    { machine: fields.filter(F.machinecode), point: fields.filter(F.pointindex) },
    fields.filter(F.axis),
  );
  const bySensor = grouped(places, ({ sensor }) => sensor.code);
  const kinds = withNodes ? (["accel", "node"] as const) : (["accel"] as const);
  const streams = [...bySensor.keys()].flatMap((sensor) => kinds.map((kind) => ({ sensor, kind })));
  const textsOf = (reading: StoredReading): TableRow[] => {
    const open = openReading(reading);
    return (bySensor.get(reading.sensor) ?? [])
      .filter(({ channel }) => reading.kind === "node" || hasChannel(open, channel))
      .flatMap((place) => rowsOf(open, place))
      .map((row) => ({ part: 0, text: JSON.stringify(row) }));
  };
  return await answerRows(context, { ...range, streams, rowsOf: textsOf }, shape);
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
  const rowsOf = (reading: StoredReading): TableRow[] => {
    const labels = storedUnits(reading);
    const date = time.slashed(reading.timeMs);
    return mainValues(reading).map(({ name, channel, value }) => {
      const label = labels[name] ?? "";
      const element = channelElement(date, label, units.ofLabel(label), value);
      return { part: channel, text: JSON.stringify(element) };
    });
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
    { ...range, streams, rowsOf },
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
  for (const [name, value] of Object.entries(openReading(reading).values)) {
    const channel = mainValue(name)?.channel ?? null;
    if (channel !== null) found.push({ name, channel, value: numberOf(value) });
  }
  return found;
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
  const wantedByUnits = new Map<string, readonly (readonly [string, number])[]>();
  const wantedOf = (units: string): readonly (readonly [string, number])[] => {
    const known = wantedByUnits.get(units);
    if (known !== undefined) return known;
    const wanted = Object.entries(storedUnits({ units })).flatMap(([name, label]) => {
      const factor = isExtraValue(name) ? unitFactor(label, unit.label) : null;
      return factor === null ? [] : [[name, factor] as const];
    });
    wantedByUnits.set(units, wanted);
    return wanted;
  };
  const rowsOf = (reading: StoredReading): TableRow[] => {
    const wanted = wantedOf(reading.units);
    if (wanted.length === 0) return [];
    const { values } = openReading(reading);
    const date = context.time.slashed(reading.timeMs);
    const rows: TableRow[] = [];
    for (const [name, factor] of wanted) {
      const value = numberOf(values[name]);
      const extra = extraValue(date, unit, value === null ? null : value * factor);
      rows.push({ part: 0, text: JSON.stringify(extra) });
    }
    return rows;
  };
  const streams = sensors.flatMap(({ code, kinds }) =>
    kinds.map((kind) => ({ sensor: code, kind })),
  );
  return await answerRows(context, { ...range, streams, rowsOf }, listShape("[", "]"));
}
