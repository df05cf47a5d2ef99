/** Operations that answer from the site file and the newest readings. */

import { startMs } from "../../core/query/dates.ts";
import type { HistoryRange } from "../../core/query/ports.ts";
import { type Kind, normalCode, type Sensor, streamsOf } from "../../core/sensor.ts";
import type { StoredReading } from "../../core/stored-reading.ts";
import { YIELD_EVERY, yieldToLoop } from "../../lib/yield-to-loop.ts";
import {
  API_CHANNEL,
  API_DEVICE,
  API_HISTORY_COLUMNS,
  API_NODE,
  API_REQUEST,
  API_TABLE,
} from "../../pipeline/wire/names.ts";
import { jsonResponse, type QueryContext, type QueryResponse, rowPieces } from "./context.ts";
import { factReadings, measuredChannels } from "./measured.ts";
import { deviceFacts, deviceResponse } from "./rules/device-response.ts";
import type { QueryFields } from "./rules/request.ts";
import {
  assignmentResponse,
  type Cell,
  currentMeasures,
  hasChannel,
  historyRows,
  nodeResponse,
  type OpenReading,
  openReading,
  processedReading,
} from "./rules/responses.ts";
import { type AxisPlace, axisNodes, type TreeFilter } from "./rules/site-tree.ts";

const F = API_REQUEST;

export function companies({ tree }: QueryContext): QueryResponse {
  return jsonResponse(tree.nodes("company", {}).map(nodeResponse));
}
export function areas({ tree }: QueryContext, fields: QueryFields): QueryResponse {
  return jsonResponse(
    tree.nodes("area", { company: fields.filter(F.idcompany) }).map(nodeResponse),
  );
}
export function machines({ tree }: QueryContext, fields: QueryFields): QueryResponse {
  return jsonResponse(tree.nodes("machine", { area: fields.filter(F.idarea) }).map(nodeResponse));
}
export function points({ tree }: QueryContext, fields: QueryFields): QueryResponse {
  const machine = fields.filter(F.machinecode);
  return jsonResponse(tree.nodes("point", { machine }).map(nodeResponse));
}
export function axes({ tree, parts }: QueryContext, fields: QueryFields): QueryResponse {
  const measured = tree
    .sensors({ machine: fields.filter(F.machinecode), point: fields.filter(F.pointindex) })
    .filter(({ location }) => location !== undefined)
    .flatMap((sensor) => measuredChannels(parts, sensor));
  return jsonResponse(axisNodes(measured.map(({ axis }) => axis)).map(nodeResponse));
}
export function units({ units: table }: QueryContext): QueryResponse {
  return jsonResponse(
    table.entries.map(({ code, label }) => ({ [API_NODE.id]: code, [API_NODE.name]: label })),
  );
}

export async function currentMeasuresOf(
  context: QueryContext,
  fields: QueryFields,
): Promise<QueryResponse> {
  const filter: TreeFilter = {
    company: fields.filter(F.companyID),
    area: fields.filter(F.areaID),
    machine: fields.filter(F.machineCode),
    point: fields.filter(F.pointIndex),
  };
  const newest = await newestByPlace(context, filter, fields.filter(F.axis));
  const entries = newest.map(({ place, open }) => ({
    place,
    signal: processedReading(
      open,
      place.channel,
      "code",
      context.time,
      (fileId) => context.parts.waveforms.has(fileId),
      severitiesOf(context, open.reading.sensor, place.channel),
    ),
  }));
  return jsonResponse(currentMeasures(entries));
}

/** The worst active alarm on the acceleration and on the envelope of a channel (plant section 11). */
function severitiesOf({ alarms }: QueryContext, sensor: string, channel: number) {
  const of = (part: string) =>
    alarms?.severity(sensor, (value) => value.startsWith(`channel${channel}_${part}`)) ?? null;
  return { accel: of("accel_"), envelope: of("env_") };
}

/** Every newest measurement of the site; with `dateTime`, those measured since. */
export async function allCurrentMeasures(
  context: QueryContext,
  fields: QueryFields,
): Promise<QueryResponse> {
  const since = fields.date(F.dateTime);
  const fromMs = since === null ? Number.NEGATIVE_INFINITY : startMs(since, context.timezone);
  const newest = await newestByPlace(context, {}, null);
  const rows = newest
    .filter(({ open }) => open.reading.timeMs >= fromMs)
    .flatMap(({ place, open }) => historyRows(open.reading, place, context.time));
  const [open, close] = tableFrame(API_HISTORY_COLUMNS);
  return { pieces: [open, rows.join(), close] };
}

/** The newest reading of each axis; if two sensors share an axis, the later measurement. */
async function newestByPlace(
  { tree, parts }: QueryContext,
  filter: TreeFilter,
  axis: number | null,
): Promise<{ readonly place: AxisPlace; readonly open: OpenReading }[]> {
  const opened = new Map<string, OpenReading | null>();
  const newest = new Map<string, { place: AxisPlace; open: OpenReading }>();
  for (const place of tree.places(filter, axis)) {
    const { code } = place.sensor;
    let open = opened.get(code);
    if (open === undefined) {
      const reading = parts.history.latest(code, "accel");
      open = reading === null ? null : openReading(reading);
      opened.set(code, open);
      if (opened.size % YIELD_EVERY === 0) await yieldToLoop();
    }
    if (open === null || !hasChannel(open, place.channel)) continue;
    const key = `${place.machine}/${place.point}/${place.axis}`;
    const rival = newest.get(key);
    if (rival === undefined || rival.open.reading.timeMs < open.reading.timeMs) {
      newest.set(key, { place, open });
    }
  }
  return [...newest.values()];
}

export async function devices(context: QueryContext, fields: QueryFields): Promise<QueryResponse> {
  const sensors = context.tree.sensors({
    company: fields.filter(F.companyId),
    area: fields.filter(F.areaId),
    machine: fields.filter(F.machineCode),
    point: fields.filter(F.pointIndex),
  });
  return jsonResponse(await devicesOf(context, sensors));
}
export async function devicesByCode(
  context: QueryContext,
  fields: QueryFields,
): Promise<QueryResponse> {
  const wanted = new Set(fields.text(F.sensorCodes).split(",").map(normalCode));
  const sensors = context.tree.sensors({}).filter(({ code }) => wanted.has(normalCode(code)));
  return jsonResponse(await devicesOf(context, sensors));
}
export async function allDevices(
  context: QueryContext,
): Promise<{ readonly pieces: Iterable<string> }> {
  const columns = Object.values(API_DEVICE);
  const found = await devicesOf(context, context.tree.sensors({}));
  return tableResponse(
    columns,
    found.map((device) => columns.map((column) => device[column] ?? null)),
  );
}

async function devicesOf(
  { parts, time, absentFacts }: QueryContext,
  sensors: readonly Sensor[],
): Promise<Record<string, Cell>[]> {
  const deviceRows: Record<string, Cell>[] = [];
  let newest = newestOf(parts, []);
  for (const [index, sensor] of sensors.entries()) {
    if (index % YIELD_EVERY === 0)
      newest = newestOf(parts, sensors.slice(index, index + YIELD_EVERY));
    const facts = deviceFacts(factReadings(newest, sensor, absentFacts));
    const axisCount = measuredChannels(newest, sensor).length;
    const queuedAtMs = parts.lastQueuedAtMs(sensor.code);
    const lastUpdate = queuedAtMs === null ? "" : time.dashed(queuedAtMs);
    deviceRows.push(deviceResponse(sensor, axisCount, facts, lastUpdate));
    // Each may have searched a page of every kind, which is as much as YIELD_EVERY rows of other queries.
    await yieldToLoop();
  }
  return deviceRows;
}

/** The newest readings of these sensors, looked up together: a look-up each takes twice the time. */
function newestOf({ clock, history }: QueryContext["parts"], sensors: readonly Sensor[]) {
  const found = new Map<string, StoredReading>();
  for (const [{ sensor, kind }, reading] of history.latestOf(streamsOf(sensors)))
    found.set(`${kind} ${sensor}`, reading);
  const latest = (sensor: string, kind: Kind) => found.get(`${kind} ${sensor}`) ?? null;
  const page = (range: HistoryRange) => history.page(range);
  return { clock, history: { latest, page } };
}

/**
 * Where a sensor is mounted: a row per axis, and one without for sensors that measure no vibration. An empty code
 * requests all sensors; each row then contains its sensor's code.
 */
export function assignedMachines(
  { tree, parts, names }: QueryContext,
  fields: QueryFields,
): QueryResponse {
  const code = fields.text(F.code);
  if (code === "") {
    const sensorCode = names.wire(API_CHANNEL.sensorCode);
    const all = tree
      .sensors({})
      .flatMap((sensor) =>
        assignments(parts, sensor).map((row) => ({ ...row, [sensorCode]: sensor.code })),
      );
    return jsonResponse(all);
  }
  const sensor = tree.sensor(code);
  return jsonResponse(sensor === null ? [] : assignments(parts, sensor));
}

function assignments(parts: QueryContext["parts"], sensor: Sensor): object[] {
  const { location } = sensor;
  if (location === undefined) return [];
  const channels = measuredChannels(parts, sensor);
  const codes = channels.length > 0 ? channels.map(({ axis }) => axis) : [null];
  return codes.map((axis) => assignmentResponse(location.machine, location.point, axis));
}

function tableResponse(
  columns: readonly string[],
  rows: readonly (readonly Cell[])[],
): { readonly pieces: Iterable<string> } {
  const [open, close] = tableFrame(columns);
  return { pieces: rowPieces(open, rows, close) };
}
/** The text before and after the rows of a table. */
export function tableFrame(columns: readonly string[]): [open: string, close: string] {
  return [`[{"${API_TABLE.columns}":${JSON.stringify(columns)},"${API_TABLE.data}":[`, "]}]"];
}
