import { messageOf } from "../../core/thrown.ts";
import {
  type AnalyticsClient,
  type Assignment,
  type ListedDevice,
  type ListedNode,
} from "./client.ts";
import { AnalyticsFailure } from "./failure.ts";

/** Limit of calls per survey: a runaway tree must not hammer a service that others use. */
const CALLS_MAX = 20_000;

interface SurveyPlace {
  readonly company: ListedNode;
  readonly area: ListedNode;
  readonly machine: ListedNode;
  readonly point: ListedNode;
}
export interface SurveyedDevice {
  readonly device: ListedDevice;
  readonly assignments: readonly Assignment[];
}
export interface Survey {
  readonly devices: readonly SurveyedDevice[];
  /** By `machine/point`. */
  readonly places: ReadonlyMap<string, SurveyPlace>;
  readonly companies: readonly ListedNode[];
  /** What the service did not provide, in plain words. */
  readonly notes: readonly string[];
}

export const placeKey = (machine: number, point: number): string => `${machine}/${point}`;

/**
 * Queries an analytics service for its devices, its tree and the location of each device. `progress` is called at every
 * step.
 */
export async function survey(
  client: AnalyticsClient,
  progress: (text: string) => void,
  signal: AbortSignal,
): Promise<Survey> {
  const notes: string[] = [];
  progress("devices");
  const listed = await client.devices(null, signal);
  const places = new Map<string, SurveyPlace>();
  let companies: ListedNode[] = [];
  try {
    companies = await walkTree(client, places, progress, signal);
  } catch (error) {
    notes.push(`names and locations are incomplete: ${messageOf(error)}`);
  }
  const assigned = await assignments(client, listed, places, progress, signal, notes);
  return {
    devices: listed.map((device) => ({ device, assignments: assigned.get(device.code) ?? [] })),
    places,
    companies,
    notes,
  };
}

async function walkTree(
  client: AnalyticsClient,
  places: Map<string, SurveyPlace>,
  progress: (text: string) => void,
  signal: AbortSignal,
): Promise<ListedNode[]> {
  const companies = await client.companies(signal);
  let calls = 1;
  const step = (): void => {
    signal.throwIfAborted();
    calls += 1;
    if (calls > CALLS_MAX) throw new Error(`the tree has more than ${CALLS_MAX} nodes`);
    progress(`tree: ${places.size} points`);
  };
  for (const company of companies) {
    step();
    for (const area of await client.areas(company.id, signal)) {
      step();
      for (const machine of await client.machines(area.id, signal)) {
        step();
        for (const point of await client.points(machine.id, signal)) {
          places.set(placeKey(machine.id, point.id), { company, area, machine, point });
        }
      }
    }
  }
  return companies;
}

/** Location of each device: queried per device; if the service does not support that, per point. */
async function assignments(
  client: AnalyticsClient,
  devices: readonly ListedDevice[],
  places: ReadonlyMap<string, SurveyPlace>,
  progress: (text: string) => void,
  signal: AbortSignal,
  notes: string[],
): Promise<Map<string, Assignment[]>> {
  const found = new Map<string, Assignment[]>();
  try {
    for (const [index, { code }] of devices.entries()) {
      signal.throwIfAborted();
      progress(`places: ${index} of ${devices.length} devices`);
      found.set(code, await client.assignments(code, signal));
    }
    return found;
  } catch (error) {
    if (!(error instanceof AnalyticsFailure)) throw error;
    notes.push(`queried point by point, because ${error.message}`);
  }
  found.clear();
  let done = 0;
  for (const { machine, point } of places.values()) {
    signal.throwIfAborted();
    progress(`places: ${done++} of ${places.size} points`);
    const place = { machine: machine.id, point: point.id };
    const there = await client.devices(place, signal);
    const codes = there.length === 0 ? [] : await client.axes(machine.id, point.id, signal);
    for (const { code } of there) {
      // The point does not show which of several devices measures the axes.
      const axes = there.length === 1 && codes.length > 0 ? codes : [null];
      const known = found.get(code) ?? [];
      found.set(code, [...known, ...axes.map((axis) => ({ ...place, axis }))]);
    }
  }
  return found;
}
