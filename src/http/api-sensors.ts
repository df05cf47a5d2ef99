import type { FastifyInstance } from "fastify";
import { SENSOR_STATES, type SensorState } from "../core/agent-status.ts";
import { readingZone } from "../core/query/reading-zone.ts";
import { SENSORS, SHOWN_SENSOR, type ShownSensor } from "../core/query/shown.ts";
import { successors } from "../core/replacement.ts";
import { input, type Of } from "../core/schema.ts";
import {
  isRead,
  type Kind,
  normalCode,
  type PolledKind,
  readingKinds,
  type Sensor,
} from "../core/sensor.ts";
import { fromSite } from "../core/site-source.ts";
import { storedValues } from "../core/stored-reading.ts";
import { YIELD_EVERY, yieldToLoop } from "../lib/yield-to-loop.ts";
import { BUSY, type Operation, serve } from "./api-operation.ts";
import { choice, integer, SENSOR_CODE, text } from "./api-schemas.ts";
import type { HttpParts } from "./parts.ts";
import { refuse } from "./problem.ts";
import { readingJson } from "./reading-json.ts";
import { JSON_UTF8, type SharedResponses } from "./shared-responses.ts";

const SENSOR_LIST = {
  path: "/api/v1/sensors",
  method: "get",
  summary: "Sensors by area and machine with state, zone and newest readings.",
  query: input({
    q: text(100, "Part of code, name, area or machine; any letter case."),
    area: integer(-1, 2_147_483_647),
    machine: integer(-1, 2_147_483_647),
    state: choice([...SENSOR_STATES, "removed"]),
    limit: integer(1, 2000, 500),
    cursor: integer(0, 1_000_000, 0),
  }),
  also: BUSY,
  response: "A page; `next` is the `cursor` of the next one, null on the last page.",
  schema: SENSORS,
} as const satisfies Operation;

const ONE_SENSOR = {
  path: "/api/v1/sensors/{code}",
  method: "get",
  summary: "One sensor, as in the list.",
  params: SENSOR_CODE,
  also: { 404: "No sensor of this code." },
  response: "The sensor.",
  schema: SHOWN_SENSOR,
} as const satisfies Operation;

export const SENSORS_OPERATIONS: readonly Operation[] = [SENSOR_LIST, ONE_SENSOR];

/** The sensors by area and machine with their newest readings. */
export function registerSensorsApi(
  app: FastifyInstance,
  parts: RemovedParts & Pick<HttpParts, "status">,
  responses: SharedResponses,
): void {
  const ordered = fromSite(parts.site, ({ sensors }) => inOrder(sensors));
  const replacedBy = fromSite(parts.site, ({ sensors }) => successors(sensors));
  const list = async (query: Of<(typeof SENSOR_LIST)["query"]>) => {
    const { limit, cursor } = query;
    const states = stateByCode(parts.status.status().sensors);
    const removed = removedSensors(parts);
    for (const { code } of removed) states.set(code, REMOVED);
    const all = [...ordered(), ...removed];
    const found = all.filter((sensor) => isWanted(sensor, states.get(sensor.code), query));
    const texts: string[] = [];
    for (const sensor of found.slice(cursor, cursor + limit)) {
      texts.push(sensorJson(sensor, states.get(sensor.code), replacedBy(), parts));
      if (texts.length % YIELD_EVERY === 0) await yieldToLoop();
    }
    const next = cursor + limit < found.length ? cursor + limit : null;
    return `{"total":${found.length},"next":${next},"sensors":[${texts.join(",")}]}`;
  };
  serve(app, SENSOR_LIST, (request, reply) => {
    const { query } = request;
    return responses.send(request, reply, `sensors ${JSON.stringify(query)}`, () => list(query));
  });
  serve(app, ONE_SENSOR, (request, reply) => {
    const code = normalCode(request.params.code);
    const isIt = (one: Sensor) => normalCode(one.code) === code;
    const known = parts.site.current.sensors.find(isIt);
    const sensor = known ?? removedSensors(parts).find(isIt);
    if (sensor === undefined) {
      const detail = "no sensor in the site file has this code, and no readings of it are stored";
      return refuse(reply, 404, detail);
    }
    const states = stateByCode(parts.status.status().sensors);
    const state = known === undefined ? REMOVED : states.get(sensor.code);
    const text = sensorJson(sensor, state, replacedBy(), parts);
    return reply.type(JSON_UTF8).send(text);
  });
}

type ShownState = Partial<Omit<SensorState, "state">> & {
  readonly state: SensorState["state"] | "removed";
};

const REMOVED: ShownState = { state: "removed" };
const EVER_MS = { fromMs: -8.64e15, toMs: 8.64e15 };

type RemovedParts = Pick<HttpParts, "site" | "history" | "hours" | "measurements" | "formerName">;

/** Sensors that left the site file, as long as anything of them is stored: readings, hourly values or kept measurements. */
function removedSensors(parts: RemovedParts): Sensor[] {
  const { site, history, hours, measurements, formerName } = parts;
  const known = new Set(site.current.sensors.map(({ code }) => normalCode(code)));
  const kinds = new Map<string, Kind[]>();
  const isStored = (sensor: string, kind: Kind) =>
    history.latest(sensor, kind) !== null ||
    hours.firstMs(sensor, kind) !== null ||
    (kind === "accel" && measurements.extent({ sensor, ...EVER_MS }) !== null);
  for (const { sensor, kind } of history.streams()) {
    if (known.has(normalCode(sensor))) continue;
    const own = kinds.get(sensor) ?? [];
    if (!own.includes(kind) && isStored(sensor, kind)) kinds.set(sensor, [...own, kind]);
  }
  return [...kinds].map(([code, own]) => ({
    code,
    ...nameMember(formerName?.(code)),
    type: 0,
    enabled: false,
    kinds: own as PolledKind[],
    channels: {},
  }));
}

const nameMember = (name: string | null | undefined) =>
  name === null || name === undefined ? {} : { name };

function stateByCode(states: readonly SensorState[]): Map<string, ShownState> {
  return new Map(states.map((state) => [state.code, state]));
}

/** By area, machine and point; sensors without a location last. */
function inOrder(sensors: readonly Sensor[]): Sensor[] {
  const place = ({ location }: Sensor): number[] =>
    location === undefined
      ? [Infinity]
      : [location.company, location.area, location.machine, location.point];
  return [...sensors].sort((a, b) => {
    const [left, right] = [place(a), place(b)];
    for (let i = 0; i < 4; i++) {
      const [l, r] = [left[i] ?? 0, right[i] ?? 0];
      if (l !== r) return l < r ? -1 : 1;
    }
    return 0;
  });
}

function isWanted(
  sensor: Sensor,
  state: ShownState | undefined,
  query: Of<(typeof SENSOR_LIST)["query"]>,
): boolean {
  const { location } = sensor;
  if ((query.area ?? -1) !== -1 && location?.area !== query.area) return false;
  if ((query.machine ?? -1) !== -1 && location?.machine !== query.machine) return false;
  if (query.state !== undefined && (state?.state ?? "unknown") !== query.state) return false;
  if (query.q === undefined) return true;
  const names = [sensor.code, sensor.name, ...Object.values(location?.names ?? {})];
  const wanted = query.q.toLowerCase();
  return names.some((name) => name?.toLowerCase().includes(wanted) === true);
}

function sensorJson(
  sensor: Sensor,
  state: ShownState | undefined,
  next: ReadonlyMap<string, Sensor>,
  parts: Pick<HttpParts, "history">,
): string {
  const latest: string[] = [];
  let zone: ShownSensor["zone"] = null;
  let newestMs: number | null = null;
  for (const kind of readingKinds(sensor)) {
    const reading = parts.history.latest(sensor.code, kind);
    if (reading === null) continue;
    newestMs = Math.max(newestMs ?? reading.timeMs, reading.timeMs);
    if (kind === "accel") zone = readingZone(storedValues(reading));
    latest.push(`"${kind}":${readingJson(reading)}`);
  }
  const { code, type, name, description, model, kinds, location, channels } = sensor;
  const { machineClass, speedRpm, batteryLowV } = sensor;
  const shown: Omit<ShownSensor, "latest"> = {
    code,
    type,
    name: name ?? null,
    description: description ?? null,
    model: model ?? null,
    kinds,
    enabled: isRead(sensor),
    replaces: sensor.replaces ?? [],
    replacedBy: next.get(normalCode(code))?.code ?? null,
    location: location ?? null,
    channels,
    machineClass: machineClass ?? null,
    limits: sensor.limits ?? null,
    speedRpm: speedRpm ?? null,
    batteryLowV: batteryLowV ?? null,
    state: state?.state ?? "unknown",
    lastReadingMs: state?.state === "removed" ? newestMs : (state?.lastReadingMs ?? null),
    batteryV: state?.batteryV ?? null,
    firmware: state?.firmware ?? null,
    signalDbm: state?.signalDbm ?? null,
    reads: state?.kinds ?? [],
    zone,
  };
  return `${JSON.stringify(shown).slice(0, -1)},"latest":{${latest.join(",")}}}`;
}
