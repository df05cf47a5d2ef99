/** Requests and responses of the agent's /api/v1. */

import type { AgentStatus, SensorState } from "../core/agent-status.ts";
import type {
  AlarmAction,
  AlarmCounts,
  AlarmWord,
  BaselineView,
  LimitView,
} from "../core/alarm/shown.ts";
import type { Gap } from "../core/delivery.ts";
import type { KeptWhy } from "../core/kept/ports.ts";
import type { Machine } from "../core/machine.ts";
import type { CONDITIONS, UNKNOWN_REASONS } from "../core/machine-condition/words.ts";
import type { MachineOutlook } from "../core/outlook/words.ts";
import type { Doubt } from "../core/quality.ts";
import type { Fault } from "../core/query/fault.ts";
import type { Trend } from "../core/query/trend.ts";
import { textAsRead } from "../core/read-units.ts";
import type { Value } from "../core/reading.ts";
import type { ChannelConfig, Kind, MachineClass, SensorLocation } from "../core/sensor.ts";
import {
  alarmAsRead,
  baselineAsRead,
  findingAsRead,
  limitAsRead,
  sensorAsRead,
  trendAsRead,
} from "./as-read.ts";
import { noResponse } from "./no-response.ts";
import { unitsKept } from "./units-kept.ts";

export type Status = AgentStatus & {
  readonly faults: number;
  readonly alarms: AlarmCounts | null;
  /** SETUP_ENABLED. */
  readonly setup?: boolean;
};
export type {
  AlarmAction,
  AlarmCounts,
  AlarmWord,
  BaselineView,
  Doubt,
  Fault,
  Gap,
  Kind,
  LimitView,
  Machine,
  Trend,
  Value,
};

/** An entry of the list with the worst first. */
export interface RankedMachine {
  readonly id: number | null;
  readonly sensor: string | null;
  readonly name: string | null;
  readonly area: string | null;
  readonly sensors: readonly string[];
  readonly condition: (typeof CONDITIONS)[number];
  readonly order: number;
  readonly reason: string;
  readonly unknown: (typeof UNKNOWN_REASONS)[number] | null;
  readonly since: string | null;
  readonly sinceAtLeast: boolean;
  readonly acknowledged: boolean;
  readonly zone: string | null;
  readonly changed: { readonly text: string } | null;
  readonly zoneSince: string | null;
  readonly marks: readonly { readonly text: string }[];
  readonly alarms: readonly { readonly id: string; readonly acknowledged: boolean }[];
}

export interface ApiReading {
  readonly seq: number;
  readonly id: string;
  readonly sensor: string;
  readonly kind: Kind;
  readonly time: string;
  readonly timeMs: number;
  readonly storedAtMs: number;
  readonly values: Readonly<Record<string, Value>>;
  readonly units: Readonly<Record<string, string>>;
  readonly quality: Readonly<Record<string, Doubt>>;
  readonly attributes: Readonly<Record<string, unknown>>;
  readonly waveforms: readonly WaveformRef[];
}
/** A line of a spectrum that shows a fault; `hz` and `order` as measured. */
export interface ApiEvidence {
  readonly name: string;
  readonly spectrum: "velocity" | "envelope" | "whitened envelope";
  readonly channel: number;
  readonly axis: string;
  readonly hz: number;
  readonly order: number;
  readonly amplitude: number;
  readonly unit: string;
  readonly sideBands: readonly { readonly hz: number }[];
}
export interface ApiFinding {
  readonly finding: string;
  readonly bearing: string | null;
  readonly sensor: string;
  readonly point: number | null;
  readonly stage: number;
  readonly since: string;
  readonly lastSeen: string;
  readonly readingId: string;
  readonly inRow: number;
  readonly speedRpm: number;
  readonly level: number;
  readonly unit: string;
  readonly limit: number;
  readonly evidence: readonly ApiEvidence[];
  readonly text: string;
}
export interface ApiMachineFindings {
  readonly findings: readonly ApiFinding[];
  readonly checked: readonly {
    readonly sensor: string;
    readonly time: string | null;
    readonly lookedFor: readonly string[];
    readonly cannotTell: readonly { readonly text: string }[];
  }[];
}
interface Said {
  readonly by: string;
  readonly time: string;
  readonly note: string | null;
}
/** The current state of an alarm, or one of its events: members of the payload in docs/alarms.md. */
export interface ApiAlarm {
  readonly id: string;
  readonly sensor: string;
  readonly name?: string;
  readonly kind: Kind;
  readonly value: string;
  readonly alarm: string;
  readonly severity?: "warning" | "alarm";
  readonly state: "active" | "cleared" | "normal";
  readonly time?: string;
  readonly limit?: number | null;
  readonly measured?: number | null;
  readonly unit: string | null;
  readonly raised?: string;
  readonly worst?: { readonly measured: number | null; readonly time: string };
  readonly acknowledged: Said | null;
  readonly shelved?: (Said & { readonly until: string }) | null;
  readonly note?: Said | null;
  readonly text?: string;
  readonly historical?: boolean;
}
export interface ApiAlarms {
  readonly active: readonly ApiAlarm[];
  readonly acknowledged: readonly ApiAlarm[];
  readonly shelved: readonly ApiAlarm[];
  readonly history: readonly ApiAlarm[];
  readonly before: number | null;
}
interface WaveformRef {
  readonly fileId: number;
  readonly channel: number;
  readonly axis: "H" | "V" | "A";
}
export interface ApiSensor {
  readonly code: string;
  readonly type: number;
  readonly name: string | null;
  readonly description: string | null;
  readonly model: string | null;
  readonly kinds: readonly Kind[];
  readonly enabled: boolean;
  readonly location: SensorLocation | null;
  readonly channels: Readonly<Record<string, ChannelConfig>>;
  readonly machineClass: MachineClass | null;
  readonly limits: readonly [number, number, number] | null;
  readonly speedRpm: number | null;
  readonly batteryLowV: number | null;
  /** removed: no longer in the site file, but readings of it are stored. */
  readonly state: SensorState["state"] | "removed";
  /** Sensors that were in its place before, and the one that is there now. */
  readonly replaces: readonly string[];
  readonly replacedBy: string | null;
  readonly lastReadingMs: number | null;
  readonly batteryV: number | null;
  readonly firmware: string | number | null;
  readonly signalDbm: number | null;
  readonly reads: SensorState["kinds"];
  readonly zone: string | null;
  readonly latest: Readonly<Partial<Record<Kind, ApiReading>>>;
}
export interface Measurement {
  readonly time: string;
  readonly timeMs: number;
  readonly reading: string;
  readonly channels: readonly WaveformRef[];
  readonly running: boolean | null;
  readonly speedRpm: number | null;
  readonly kept: readonly { readonly why: KeptWhy; readonly note: string | null }[];
}
export interface MeasurementPage {
  readonly measurements: readonly Measurement[];
  readonly next: string | null;
}
/** A measurement, null if it is gone, with its neighbours. */
export interface MeasurementAround {
  readonly measurement: Measurement | null;
  readonly older: Measurement | null;
  readonly newer: Measurement | null;
  /** Of the oldest one. */
  readonly since: string | null;
}
/** A spectrum of a waterfall. */
export interface FallSpectrum {
  readonly timeMs: number;
  readonly reading: string;
  readonly speedRpm: number | null;
  readonly running: boolean | null;
  readonly step: number;
  readonly values: Float32Array;
}
export interface Spectra {
  readonly label: string;
  /** Measurements in the range. */
  readonly total: number;
  readonly spectra: readonly FallSpectrum[];
}
export interface ApiSeries {
  readonly fileId: number;
  readonly timeMs: number;
  readonly channel: number;
  readonly axis: string;
  readonly sampleRateHz: number;
  readonly samples: number;
  readonly recordingReason: number | null;
  readonly unit: number;
  readonly label: string;
  readonly step: number;
  readonly doubt: Doubt | null;
  readonly count: number;
  readonly values: Float32Array;
}
export interface ApiWaveform extends ApiSeries {
  readonly firstIndex: number;
  /** The published value of this quantity. */
  readonly overall: { readonly value: number; readonly detection: "rms" | "pp" } | null;
}
export interface ApiSpectrum extends ApiSeries {
  readonly peaks: readonly { readonly frequencyHz: number; readonly amplitude: number }[];
  readonly speedHz: number | null;
}

/** The agent responded with an error. */
class ApiError extends Error {
  override readonly name = "ApiError";
  readonly status: number;
  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

/** A slow request is aborted, so that a dead link is shown as such. */
const TIMEOUT_MS = 20_000;
const SENSORS_PER_PAGE = 500;

export class Api {
  readonly #onSignedOut: () => void;
  readonly #onSignedIn: () => void;
  /** True once the agent said that this page signed in, so that it can offer to sign out. */
  hasSession = false;
  /** False once the agent said that this page may only look. */
  mayChange = true;
  /** Whom a proxy in front of the agent names. */
  person: string | null = null;

  /** `onSignedOut` is called when the agent no longer accepts the session, `onSignedIn` whenever it does. */
  constructor(onSignedOut: () => void, onSignedIn: () => void) {
    this.#onSignedOut = onSignedOut;
    this.#onSignedIn = onSignedIn;
  }

  status = (): Promise<Status> => this.#get("status", {});
  faults = async (): Promise<readonly Fault[]> =>
    (await this.#get<{ faults: readonly Fault[] }>("faults", {})).faults;
  gaps = async (): Promise<readonly Gap[]> =>
    (await this.#get<{ gaps: readonly Gap[] }>("gaps", { limit: 100 })).gaps;

  async sensors(): Promise<readonly ApiSensor[]> {
    const all: ApiSensor[] = [];
    let cursor: number | null = 0;
    while (cursor !== null) {
      const page: { sensors: readonly ApiSensor[]; next: number | null } = await this.#get(
        "sensors",
        { limit: SENSORS_PER_PAGE, cursor },
      );
      all.push(...page.sensors.map((sensor) => sensorAsRead(sensor, unitsKept())));
      cursor = page.next;
    }
    return all;
  }

  async trend(
    query: {
      readonly sensor: string;
      readonly kind: Kind;
      readonly values: readonly string[];
      readonly fromMs: number;
      readonly toMs: number;
      readonly buckets: number;
    },
    signal?: AbortSignal,
  ): Promise<Trend> {
    const { sensor, kind, values, fromMs, toMs, buckets } = query;
    const range = { from: instant(fromMs), to: instant(toMs), buckets };
    const trend = await this.#get<Trend>(
      "trend",
      { sensor, kind, values: values.join(","), ...range },
      signal,
    );
    return trendAsRead(trend, unitsKept());
  }

  measurements(
    sensor: string,
    query: {
      readonly limit: number;
      readonly toMs?: number;
      readonly cursor?: string;
      readonly kept?: true;
    },
  ): Promise<MeasurementPage> {
    const { toMs, ...rest } = query;
    const to = toMs === undefined ? {} : { to: instant(toMs) };
    return this.#get(`${measurementsOf(sensor)}`, { ...rest, ...to });
  }
  /** Null if it is gone and no time is given. */
  async measurement(
    sensor: string,
    reading: string,
    atMs: number | null,
  ): Promise<MeasurementAround | null> {
    const query: Record<string, string> = atMs === null ? {} : { at: instant(atMs) };
    try {
      return await this.#get(`${measurementsOf(sensor)}/${encodeURIComponent(reading)}`, query);
    } catch (error) {
      if (error instanceof ApiError && error.status < 500) return null;
      throw error;
    }
  }
  async measurementDays(sensor: string, fromMs: number, toMs: number): Promise<readonly string[]> {
    const range = { from: instant(fromMs), to: instant(toMs) };
    const path = `${measurementsOf(sensor)}/days`;
    return (await this.#get<{ days: readonly string[] }>(path, range)).days;
  }
  /** @param note null removes the pin */
  async pin(sensor: string, reading: string, note: string | null): Promise<void> {
    const path = `${measurementsOf(sensor)}/${encodeURIComponent(reading)}/pin`;
    const result =
      note === null ? await this.send("DELETE", path) : await this.send("POST", path, { note });
    if (result.status >= 300) throw new ApiError(result.status, messageOf(result.body));
  }
  /** For a waterfall, newest first. */
  async spectra(
    sensor: string,
    query: {
      readonly fromMs: number;
      readonly toMs: number;
      readonly channel: number;
      readonly unit: number;
      readonly count: number;
    },
    signal?: AbortSignal,
  ): Promise<Spectra> {
    const { fromMs, toMs, ...rest } = query;
    const range = { from: instant(fromMs), to: instant(toMs) };
    type Answer = Omit<Spectra, "spectra"> & {
      readonly spectra: readonly (Omit<FallSpectrum, "values"> & { readonly base64: string })[];
    };
    const path = `sensors/${encodeURIComponent(sensor)}/spectra`;
    const result = await this.#get<Answer>(path, { ...range, ...rest }, signal);
    const spectra = result.spectra.map(({ base64, ...one }) => ({
      ...one,
      values: floats(base64),
    }));
    return { ...result, spectra };
  }
  waveform = (fileId: number, unit: number, signal?: AbortSignal): Promise<ApiWaveform> =>
    this.#series<ApiWaveform>(`waveform/${fileId}`, unit, signal);
  spectrum = (fileId: number, unit: number, signal?: AbortSignal): Promise<ApiSpectrum> =>
    this.#series<ApiSpectrum>(`spectrum/${fileId}`, unit, signal);

  async alarms(history: number, before: number | null = null): Promise<ApiAlarms> {
    const lists = await this.#get<ApiAlarms>("alarms", {
      history,
      ...(before !== null && { before }),
    });
    const all = (list: readonly ApiAlarm[]) => list.map((one) => alarmAsRead(one, unitsKept()));
    return {
      ...lists,
      active: all(lists.active),
      acknowledged: all(lists.acknowledged),
      shelved: all(lists.shelved),
      history: all(lists.history),
    };
  }
  alarmActions = async (limit: number): Promise<readonly AlarmAction[]> =>
    (await this.#get<{ actions: readonly AlarmAction[] }>("alarms/audit", { limit })).actions;
  limits = async (sensor: string): Promise<readonly LimitView[]> =>
    (await this.#get<{ limits: readonly LimitView[] }>("alarms/limits", { sensor })).limits.map(
      (limit) => limitAsRead(limit, unitsKept()),
    );
  baselines = async (sensor: string): Promise<readonly BaselineView[]> =>
    (
      await this.#get<{ baselines: readonly BaselineView[] }>("baselines", { sensor })
    ).baselines.map((baseline) => baselineAsRead(baseline, unitsKept()));
  /** Machine data of the site file; none if it has none. */
  machines = async (): Promise<readonly Machine[]> => {
    type Answer = { readonly site: { readonly machines?: readonly Machine[] } };
    return (await this.#get<Answer>("configuration", {})).site.machines ?? [];
  };

  worstMachines = async (): Promise<readonly RankedMachine[]> =>
    (
      await this.#get<{ machines: readonly RankedMachine[] }>("machines", { sort: "worst" })
    ).machines.map((machine) => {
      const asRead = (text: string) => textAsRead(text, unitsKept());
      const changed = machine.changed && { text: asRead(machine.changed.text) };
      return { ...machine, reason: asRead(machine.reason), changed };
    });

  async findings(machine: number): Promise<ApiMachineFindings> {
    const found = await this.#get<ApiMachineFindings>(`machines/${machine}/findings`, {});
    return { ...found, findings: found.findings.map((one) => findingAsRead(one, unitsKept())) };
  }

  outlook = (machine: number): Promise<MachineOutlook> =>
    this.#get(`machines/${machine}/outlook`, {});

  /** For people, made by the agent. */
  report = (
    machine: string,
    query: { readonly from?: string; readonly to?: string; readonly units: string },
    signal: AbortSignal,
  ): Promise<{ readonly title: string; readonly html: string }> =>
    this.#get(`machines/${encodeURIComponent(machine)}/report`, query, signal);

  /** Acknowledges, shelves or notes an alarm; rejects with ApiError if the agent refuses. */
  async sayOfAlarm(id: string, word: AlarmWord, body: object): Promise<void> {
    const result = await this.send("POST", `alarms/${id}/${word}`, body);
    if (result.status >= 300) throw new ApiError(result.status, messageOf(result.body));
  }

  /** Any request; an error response is returned with its body. Rejects if there is no response. */
  async send<T = unknown>(
    method: "GET" | "POST" | "PUT" | "DELETE",
    path: string,
    body?: object,
    options: { readonly ifMatch?: string; readonly timeoutMs?: number } = {},
  ): Promise<{ readonly status: number; readonly body: T }> {
    const response = await request(`api/v1/${path}`, {
      method,
      credentials: "same-origin",
      headers: {
        accept: "application/json",
        ...(body !== undefined && { "content-type": "application/json" }),
        ...(options.ifMatch !== undefined && { "if-match": `"${options.ifMatch}"` }),
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
      signal: AbortSignal.timeout(options.timeoutMs ?? TIMEOUT_MS),
    });
    this.#heed(response);
    const result = (await response.json().catch(() => null)) as T;
    return { status: response.status, body: result };
  }

  async signOut(): Promise<void> {
    await fetch(withoutLogin("sign-out"), { method: "POST", credentials: "same-origin" });
  }

  /** Every response says whether the page is signed in, and with which token. */
  #heed({ status, headers }: Response): void {
    if (status === 401) return this.#onSignedOut();
    this.#onSignedIn();
    if (headers.has("x-gateside-session")) this.hasSession = true;
    const role = headers.get("x-gateside-role");
    if (role !== null) this.mayChange = role === "all";
    const person = headers.get("x-gateside-person");
    if (person !== null) this.person = decodeURIComponent(person);
  }

  async #series<T extends ApiSeries>(path: string, unit: number, signal?: AbortSignal): Promise<T> {
    const result = await this.#get<Omit<T, "values"> & { base64: string }>(path, { unit }, signal);
    return { ...result, values: floats(result.base64) } as unknown as T;
  }

  async #get<T>(
    path: string,
    query: Readonly<Record<string, string | number | boolean>>,
    signal?: AbortSignal,
  ): Promise<T> {
    const search = new URLSearchParams(
      Object.entries(query).map(([name, value]): [string, string] => [name, String(value)]),
    ).toString();
    const limit = AbortSignal.timeout(TIMEOUT_MS);
    const response = await request(`api/v1/${path}${search === "" ? "" : `?${search}`}`, {
      credentials: "same-origin",
      headers: { accept: "application/json" },
      signal: signal === undefined ? limit : either(signal, limit),
    });
    this.#heed(response);
    if (!response.ok) throw new ApiError(response.status, await problemText(response));
    return (await response.json().catch(rethrow)) as T;
  }
}

/** The browser's; tests in Node load this file, too. */
declare const location: { readonly origin: string; readonly pathname: string };

/** Where the page is, as the browser was given it: it makes no request to an address with a name and a password. */
function withoutLogin(path: string): string {
  return new URL(path, location.origin + location.pathname).href;
}

function request(address: string, options: RequestInit): Promise<Response> {
  return fetch(withoutLogin(address), options).catch(rethrow);
}

function rethrow(error: unknown): never {
  throw noResponse(error);
}

/** Aborts with either signal. A wall display runs for weeks: `AbortSignal.any` of the browser drops signals that ended. */
function either(a: AbortSignal, b: AbortSignal): AbortSignal {
  if ("any" in AbortSignal) return AbortSignal.any([a, b]);
  const controller = new AbortController();
  for (const signal of [a, b]) {
    if (signal.aborted) controller.abort(signal.reason);
    signal.addEventListener("abort", () => controller.abort(signal.reason), { once: true });
  }
  return controller.signal;
}

async function problemText(response: Response): Promise<string> {
  return messageOf(await response.json().catch(() => null));
}

/** The message of an error response. */
export function messageOf(body: unknown): string {
  const { error } = (body ?? {}) as { error?: { message?: string } };
  return error?.message ?? "the agent returned no reason";
}

function measurementsOf(sensor: string): string {
  return `sensors/${encodeURIComponent(sensor)}/measurements`;
}

function instant(ms: number): string {
  return new Date(ms).toISOString();
}

/** Little-endian 32-bit floats in base64. */
function floats(base64: string): Float32Array {
  const text = atob(base64);
  const bytes = new Uint8Array(text.length);
  for (let i = 0; i < text.length; i++) bytes[i] = text.charCodeAt(i);
  const view = new DataView(bytes.buffer);
  const values = new Float32Array(bytes.length >> 2);
  for (let i = 0; i < values.length; i++) values[i] = view.getFloat32(4 * i, true);
  return values;
}
