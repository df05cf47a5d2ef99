/** Operations that answer from stored readings over time. */

import type { StoredReading } from "../core/ports.ts";
import {
  cellOf,
  channelElement,
  extraValue,
  hasChannel,
  historyRows,
  isExtraValue,
  mainValue,
  openReading,
  processedReading,
} from "../core/query/answers.ts";
import { newestRows } from "../core/query/newest-rows.ts";
import { isFault, type QueryFault, type QueryFields } from "../core/query/request.ts";
import type { AxisPlace } from "../core/query/site-tree.ts";
import { normalUnit } from "../core/query/units.ts";
import { API_CHANNEL, API_HISTORY_COLUMNS, API_REQUEST } from "../core/wire/names.ts";
import { breathe } from "./breath.ts";
import {
  jsonAnswer,
  type QueryAnswer,
  type QueryContext,
  rangeOf,
  rowPieces,
} from "./query-context.ts";
import { tableAnswer } from "./query-lists.ts";

const F = API_REQUEST;
type Outcome = Promise<QueryAnswer | QueryFault>;

/** `getRMS` adds rows only where a source of internal RMS is configured; no read operation gives one. */
export async function allHistoryMeasures(context: QueryContext, fields: QueryFields): Outcome {
  const rows = await axisHistory(context, fields, (reading, place) =>
    historyRows(reading, place, context.time),
  );
  return "statusNumber" in rows ? rows : tableAnswer(API_HISTORY_COLUMNS, rows);
}
export async function historyMeasures(context: QueryContext, fields: QueryFields): Outcome {
  const rows = await axisHistory(context, fields, (open, place) => [
    processedReading(open, place.channel, "label", context.time, (fileId) =>
      context.parts.waveforms.has(fileId),
    ),
  ]);
  return "statusNumber" in rows ? rows : { pieces: rowPieces("[", rows, "]") };
}

async function axisHistory<Row>(
  context: QueryContext,
  fields: QueryFields,
  rowsOf: (open: ReturnType<typeof openReading>, place: AxisPlace) => readonly Row[],
): Promise<Row[] | QueryFault> {
  const range = rangeOf(fields, context);
  if (isFault(range)) return range;
  const places = context.tree.places(
    { machine: fields.filter(F.machinecode), point: fields.filter(F.pointindex) },
    fields.filter(F.axis),
  );
  const bySensor = grouped(places, ({ sensor }) => sensor.code);
  return await newestRows(
    context.parts.history,
    {
      ...range,
      streams: [...bySensor.keys()].map((sensor) => ({ sensor, kind: "accel" })),
      rowsMax: context.rowsMax,
      rowsOf(reading: StoredReading) {
        const open = openReading(reading);
        return (bySensor.get(reading.sensor) ?? [])
          .filter(({ channel }) => hasChannel(open, channel))
          .flatMap((place) => rowsOf(open, place));
      },
    },
    breathe,
  );
}

/** One object per channel; `values` holds one inner array. */
export async function dataBySensor(context: QueryContext, fields: QueryFields): Outcome {
  const range = rangeOf(fields, context);
  if (isFault(range)) return range;
  const sensor = context.tree.sensor(String(fields.integer(F.sensorCode)));
  if (sensor === null) return jsonAnswer([]);
  const { names, time, units } = context;
  const rows = await newestRows(
    context.parts.history,
    {
      ...range,
      streams: sensor.kinds.map((kind) => ({ sensor: sensor.code, kind })),
      rowsMax: context.rowsMax,
      rowsOf(reading: StoredReading) {
        const labels = JSON.parse(reading.units) as Record<string, string>;
        const date = time.slashed(reading.timeMs);
        return mainValues(reading).map(({ name, channel, value }) => {
          const label = labels[name] ?? "";
          return { channel, element: channelElement(date, label, units.ofLabel(label), value) };
        });
      },
    },
    breathe,
  );
  const byChannel = grouped(rows, ({ channel }) => channel);
  const machineName = context.tree.nameOf(sensor, "machine");
  const pointName = context.tree.nameOf(sensor, "point");
  const objects = [...byChannel].sort(([a], [b]) => a - b);
  return jsonAnswer(
    objects.map(([channel, elements]) => ({
      [API_CHANNEL.channel]: channel,
      [names.wire(API_CHANNEL.sensorCode)]: fields.integer(F.sensorCode),
      [names.wire(API_CHANNEL.sensorName)]: sensor.name ?? "",
      [API_CHANNEL.machineName]: machineName,
      [API_CHANNEL.pointName]: pointName,
      [API_CHANNEL.values]: [elements.map(({ element }) => element)],
    })),
  );
}

function mainValues(
  reading: StoredReading,
): { readonly name: string; readonly channel: number; readonly value: number | null }[] {
  const found = [];
  for (const [name, value] of Object.entries(openReading(reading).values)) {
    const channel = mainValue(name)?.channel ?? null;
    if (channel !== null) found.push({ name, channel, value: cellOf(value) });
  }
  return found;
}

/** Every main value of the unit at that machine and point. */
export async function extraValues(context: QueryContext, fields: QueryFields): Outcome {
  const range = rangeOf(fields, context);
  if (isFault(range)) return range;
  const unit = context.units.ofCode(fields.integer(F.unit) ?? -1);
  if (unit === null) return jsonAnswer([]);
  const wanted = normalUnit(unit.label);
  const sensors = context.tree.sensors({
    machine: fields.filter(F.machinecode),
    point: fields.filter(F.pointindex),
  });
  const rows = await newestRows(
    context.parts.history,
    {
      ...range,
      streams: sensors.flatMap(({ code, kinds }) => kinds.map((kind) => ({ sensor: code, kind }))),
      rowsMax: context.rowsMax,
      rowsOf(reading: StoredReading) {
        const labels = JSON.parse(reading.units) as Record<string, string>;
        const { values } = openReading(reading);
        const date = context.time.slashed(reading.timeMs);
        return Object.entries(labels)
          .filter(([name, label]) => normalUnit(label) === wanted && isExtraValue(name))
          .map(([name]) => extraValue(date, unit, cellOf(values[name])));
      },
    },
    breathe,
  );
  return { pieces: rowPieces("[", rows, "]") };
}

function grouped<Item, Key>(items: readonly Item[], keyOf: (item: Item) => Key): Map<Key, Item[]> {
  const groups = new Map<Key, Item[]>();
  for (const item of items) {
    const key = keyOf(item);
    const group = groups.get(key);
    if (group === undefined) groups.set(key, [item]);
    else group.push(item);
  }
  return groups;
}
