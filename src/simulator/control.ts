/**
 * The simulator's control interface under /sim/: faults, the truth and what was served, for a campaign in another
 * process.
 */

import type { IncomingMessage, ServerResponse } from "node:http";
import { isJsonObject, type JsonObject } from "../core/record.ts";
import { POLLED_KINDS } from "../core/sensor.ts";
import { DAY_MS } from "../core/time-units.ts";
import { FAULTS } from "./faults.ts";
import { parseFault } from "./parse-fault.ts";
import { toTransport } from "./plain-record.ts";
import { BadRequest, readText } from "./request.ts";
import type { Simulator } from "./simulator.ts";

const HOURS_DEFAULT_MS = DAY_MS;

/** Answers a request under /sim/. Throws BadRequest for an invalid one. */
export async function handleControl(
  simulator: Simulator,
  url: URL,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const route = `${request.method} ${url.pathname.replace(/\/\d+$/, "/:id")}`;
  switch (route) {
    case "GET /sim/faults":
      return json(response, 200, { faults: simulator.faults.list(), known: FAULTS });
    case "POST /sim/faults":
      return addFaults(simulator, await readText(request), response);
    case "DELETE /sim/faults":
      simulator.faults.clear();
      return json(response, 200, { removed: "all" });
    case "DELETE /sim/faults/:id": {
      const id = Number(url.pathname.split("/").at(-1));
      return json(response, simulator.faults.remove(id) ? 200 : 404, { removed: id });
    }
    case "GET /sim/truth":
      return lines(response, truthLines(simulator, url.searchParams));
    case "GET /sim/served":
      return lines(response, servedLines(simulator, url.searchParams));
    case "GET /sim/calls":
      return lines(response, simulator.calls);
    case "GET /sim/site":
      return json(response, 200, simulator.siteFile());
    case "GET /sim/status":
      return json(response, 200, simulator.status());
    case "POST /sim/clock": {
      const { offsetMs } = parseObject(await readText(request));
      if (typeof offsetMs !== "number") throw new BadRequest(400, "offsetMs must be a number");
      simulator.clock.setOffset(offsetMs);
      return json(response, 200, { offsetMs });
    }
    default:
      throw new BadRequest(404, `no ${route}`);
  }
}

function addFaults(simulator: Simulator, text: string, response: ServerResponse): void {
  const value = parse(text);
  const specs = (Array.isArray(value) ? value : [value]).map((given) => {
    const spec = parseFault(given);
    if (typeof spec === "string") throw new BadRequest(400, spec);
    return spec;
  });
  json(response, 201, { ids: specs.map((spec) => simulator.faults.add(spec).id) });
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new BadRequest(400, "the body is not JSON");
  }
}

function parseObject(text: string): JsonObject {
  const value = parse(text);
  return isJsonObject(value) ? value : {};
}

function* truthLines(simulator: Simulator, query: URLSearchParams): Generator<object> {
  const wanted = selection(query);
  const toMs = wanted.toMs ?? simulator.clock.now() + 1;
  const fromMs = wanted.fromMs ?? toMs - HOURS_DEFAULT_MS;
  for (const sensor of simulator.plant.sensors) {
    if (wanted.sensor !== null && wanted.sensor !== sensor.code) continue;
    for (const kind of sensor.kinds) {
      if (wanted.kind !== null && wanted.kind !== kind) continue;
      for (const truth of simulator.truth(sensor.code, kind, fromMs, toMs)) {
        yield { ...truth, record: toTransport(truth.record, wanted.withSamples) };
      }
    }
  }
}

function* servedLines(simulator: Simulator, query: URLSearchParams): Generator<object> {
  const wanted = selection(query);
  for (const shown of simulator.served()) {
    if (wanted.sensor !== null && wanted.sensor !== shown.sensor) continue;
    if (wanted.kind !== null && wanted.kind !== shown.kind) continue;
    if (wanted.fromMs !== null && shown.timeMs < wanted.fromMs) continue;
    if (wanted.toMs !== null && shown.timeMs >= wanted.toMs) continue;
    const { record, ...rest } = shown;
    yield { ...rest, record: toTransport(record, wanted.withSamples) };
  }
}

function selection(query: URLSearchParams) {
  const kind = query.get("kind");
  const known = POLLED_KINDS.find((name) => name === kind);
  if (kind !== null && !known) throw new BadRequest(400, `there is no kind named ${kind}`);
  return {
    sensor: query.get("sensor"),
    kind: known ?? null,
    fromMs: timeOf(query, "from"),
    toMs: timeOf(query, "to"),
    withSamples: query.get("samples") === "1",
  };
}

function timeOf(query: URLSearchParams, name: string): number | null {
  const text = query.get(name);
  if (text === null) return null;
  const ms = /^-?\d+$/.test(text) ? Number(text) : Date.parse(text);
  if (Number.isNaN(ms))
    throw new BadRequest(400, `${name} is not a time: use ms since 1970 or ISO 8601`);
  return ms;
}

function json(response: ServerResponse, status: number, value: unknown): void {
  response.statusCode = status;
  response.setHeader("Content-Type", "application/json");
  response.end(`${JSON.stringify(value)}\n`);
}

/** One JSON object per line, as fast as the client reads. */
async function lines(response: ServerResponse, values: Iterable<object>): Promise<void> {
  response.setHeader("Content-Type", "application/x-ndjson");
  let text = "";
  for (const value of values) {
    text += `${JSON.stringify(value)}\n`;
    if (text.length < 65_536) continue;
    const part = text;
    text = "";
    await new Promise<void>((resolve) => response.write(part, () => resolve()));
    if (response.destroyed) return;
  }
  response.end(text);
}
