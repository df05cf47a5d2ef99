/** Requests and responses of the agent's /api/v1. In one file: a line or two for each request. */

import type { ShownStatus } from "../core/agent-status.ts";
import type {
  ALARM_ACTIONS,
  AlarmAction,
  AlarmActionName,
  AlarmLists,
  BASELINES,
  BaselineView,
  LIMITS,
  LimitView,
  ShownAlarm,
} from "../core/alarm/shown.ts";
import type { GAPS, Gap } from "../core/delivery.ts";
import type { MachineFindings } from "../core/diagnosis/shown.ts";
import type { Machine } from "../core/machine.ts";
import type { FAULTS, Fault } from "../core/query/fault.ts";
import type {
  MEASUREMENT_DAYS,
  MEASUREMENTS,
  MeasurementAround,
  SENSORS,
  ShownSensor,
  SPECTRUM,
  Trend,
  WAVEFORM,
} from "../core/query/shown.ts";
import { alarmTextAsRead } from "../core/read-units.ts";
import type { Of } from "../core/schema.ts";
import type { Kind } from "../core/sensor.ts";
import type { RankedMachine } from "../features/condition/rules/shown.ts";
import type { Change } from "../features/condition/rules/words.ts";
import {
  alarmAsRead,
  baselineAsRead,
  findingAsRead,
  limitAsRead,
  sensorAsRead,
  trendAsRead,
} from "./as-read.ts";
import { noResponse } from "./no-response.ts";
import { askedEarly, request, TIMEOUT_MS, withoutLogin } from "./request.ts";
import {
  type PackedSpectra,
  type SpectrumSeries,
  unpacked,
  type WaterfallData,
  type WaveformSeries,
} from "./series.ts";
import { unitsKept } from "./units-kept.ts";

/** The agent responded with an error. */
export class ApiError extends Error {
  override readonly name = "ApiError";
  readonly status: number;
  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

const SENSORS_PER_PAGE = 500;

/** What becomes of the page's access. */
export interface AccessHooks {
  /** The agent no longer accepts the session. */
  readonly onSignedOut: () => void;
  /** Whenever it does. */
  readonly onSignedIn: () => void;
  /** A proxy in front of the agent wants people to sign in there: it redirects, which the agent never does. */
  readonly onRedirected: () => void;
}

export class Api {
  readonly #hooks: AccessHooks;
  /** True once the agent said that this page signed in, so that it can offer to sign out. */
  hasSession = false;
  /** False once the agent said that this page may only look. */
  mayChange = true;
  /** Whom a proxy in front of the agent names. */
  person: string | null = null;

  constructor(hooks: AccessHooks) {
    this.#hooks = hooks;
  }

  status = (): Promise<ShownStatus> => this.get("status", {});
  faults = async (): Promise<readonly Fault[]> =>
    (await this.get<Of<typeof FAULTS>>("faults", {})).faults;
  gaps = async (): Promise<readonly Gap[]> =>
    (await this.get<Of<typeof GAPS>>("gaps", { limit: 100 })).gaps;

  async sensors(): Promise<readonly ShownSensor[]> {
    const all: ShownSensor[] = [];
    const units = unitsKept();
    let cursor: number | null = 0;
    while (cursor !== null) {
      const page: Of<typeof SENSORS> = await this.get("sensors", {
        limit: SENSORS_PER_PAGE,
        cursor,
      });
      all.push(...page.sensors.map((sensor) => sensorAsRead(sensor, units)));
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
    const trend = await this.get<Trend>(
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
  ): Promise<Of<typeof MEASUREMENTS>> {
    const { toMs, ...rest } = query;
    const to = toMs === undefined ? {} : { to: instant(toMs) };
    return this.get(`${measurementsOf(sensor)}`, { ...rest, ...to });
  }
  /** Null if it is gone and no time is given. */
  async measurement(
    sensor: string,
    reading: string,
    atMs: number | null,
  ): Promise<MeasurementAround | null> {
    const query: Record<string, string> = atMs === null ? {} : { at: instant(atMs) };
    try {
      return await this.get(`${measurementsOf(sensor)}/${encodeURIComponent(reading)}`, query);
    } catch (error) {
      if (error instanceof ApiError && error.status < 500) return null;
      throw error;
    }
  }
  async measurementDays(sensor: string, fromMs: number, toMs: number): Promise<readonly string[]> {
    const range = { from: instant(fromMs), to: instant(toMs) };
    const path = `${measurementsOf(sensor)}/days`;
    return (await this.get<Of<typeof MEASUREMENT_DAYS>>(path, range)).days;
  }
  /** @param note null removes the pin */
  async pin(sensor: string, reading: string, note: string | null): Promise<void> {
    const path = `${measurementsOf(sensor)}/${encodeURIComponent(reading)}/pin`;
    const result =
      note === null ? await this.send("DELETE", path) : await this.send("POST", path, { note });
    if (result.status >= 300) throw new ApiError(result.status, refusalText(result.body));
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
  ): Promise<WaterfallData> {
    const { fromMs, toMs, ...rest } = query;
    const range = { from: instant(fromMs), to: instant(toMs) };
    const path = `sensors/${encodeURIComponent(sensor)}/spectra`;
    const result = await this.get<PackedSpectra>(path, { ...range, ...rest }, signal);
    const spectra = result.spectra.map(unpacked);
    return { ...result, spectra };
  }
  waveform = async (fileId: number, unit: number, signal?: AbortSignal): Promise<WaveformSeries> =>
    unpacked(await this.get<Of<typeof WAVEFORM>>(`waveform/${fileId}`, { unit }, signal));
  spectrum = async (fileId: number, unit: number, signal?: AbortSignal): Promise<SpectrumSeries> =>
    unpacked(await this.get<Of<typeof SPECTRUM>>(`spectrum/${fileId}`, { unit }, signal));

  async alarms(history: number, before: number | null = null): Promise<AlarmLists> {
    const lists = await this.get<AlarmLists>("alarms", {
      history,
      ...(before !== null && { before }),
    });
    const all = <T extends ShownAlarm>(list: readonly T[]) =>
      list.map((one) => alarmAsRead(one, unitsKept()));
    return {
      ...lists,
      active: all(lists.active),
      acknowledged: all(lists.acknowledged),
      shelved: all(lists.shelved),
      history: all(lists.history),
    };
  }
  alarmActions = async (limit: number): Promise<readonly AlarmAction[]> =>
    (await this.get<Of<typeof ALARM_ACTIONS>>("alarms/audit", { limit })).actions;
  limits = async (sensor: string): Promise<readonly LimitView[]> =>
    (await this.get<Of<typeof LIMITS>>("alarms/limits", { sensor })).limits.map((limit) =>
      limitAsRead(limit, unitsKept()),
    );
  baselines = async (sensor: string): Promise<readonly BaselineView[]> =>
    (await this.get<Of<typeof BASELINES>>("baselines", { sensor })).baselines.map((baseline) =>
      baselineAsRead(baseline, unitsKept()),
    );
  /** Machine data of the site file; none if it has none. */
  machines = async (): Promise<readonly Machine[]> => {
    type ConfigurationResponse = { readonly site: { readonly machines?: readonly Machine[] } };
    return (await this.get<ConfigurationResponse>("configuration", {})).site.machines ?? [];
  };

  worstMachines = async (): Promise<readonly RankedMachine[]> =>
    (
      await this.get<{ machines: readonly RankedMachine[] }>("machines", { sort: "worst" })
    ).machines.map((machine) => {
      const wanted = unitsKept();
      const reason = alarmTextAsRead(machine.reason, machine.alarms[0], wanted);
      const text = (of: Change) => alarmTextAsRead(of.text, { alarm: "", ...of }, wanted);
      const changed = machine.changed && { ...machine.changed, text: text(machine.changed) };
      const alarms = machine.alarms.map((one) => ({
        ...one,
        text: alarmTextAsRead(one.text, one, wanted),
      }));
      const activeFindings = machine.activeFindings.map((one) => ({
        ...one,
        text: alarmTextAsRead(one.text, null, wanted),
      }));
      return { ...machine, reason, changed, alarms, activeFindings };
    });

  async findings(machine: number): Promise<MachineFindings> {
    const found = await this.get<MachineFindings>(`machines/${machine}/findings`, {});
    return { ...found, findings: found.findings.map((one) => findingAsRead(one, unitsKept())) };
  }

  /** Acknowledges, shelves or notes an alarm; rejects with ApiError if the agent refuses. */
  async postAlarmAction(id: string, word: AlarmActionName, body: object): Promise<void> {
    const result = await this.send("POST", `alarms/${id}/${word}`, body);
    if (result.status >= 300) throw new ApiError(result.status, refusalText(result.body));
  }

  /** Any request; an error response is returned with its body. Rejects if there is no response. */
  async send<T = unknown>(
    method: "GET" | "POST" | "PUT" | "DELETE",
    path: string,
    body?: object,
    options: { readonly ifMatch?: string; readonly timeoutMs?: number } = {},
  ): Promise<{ readonly status: number; readonly body: T }> {
    const response = await request(path, {
      method,
      headers: {
        accept: "application/json",
        ...(body !== undefined && { "content-type": "application/json" }),
        ...(options.ifMatch !== undefined && { "if-match": `"${options.ifMatch}"` }),
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
      signal: AbortSignal.timeout(options.timeoutMs ?? TIMEOUT_MS),
    }).catch(rethrow);
    this.#readVersionHeaders(response);
    const result: T = await response.json().catch(() => null);
    return { status: response.status, body: result };
  }

  async signOut(): Promise<void> {
    await fetch(withoutLogin("sign-out"), { method: "POST", credentials: "same-origin" });
  }

  /** Every response says whether the page is signed in, and with which token. */
  #readVersionHeaders({ status, headers, type }: Response): void {
    if (type === "opaqueredirect") {
      this.#hooks.onRedirected();
      throw new Error("the session of the proxy in front of the agent has ended. Sign in there.");
    }
    if (status === 401) return this.#hooks.onSignedOut();
    this.#hooks.onSignedIn();
    if (headers.has("x-gateside-session")) this.hasSession = true;
    const role = headers.get("x-gateside-role");
    if (role !== null) this.mayChange = role === "all";
    const person = headers.get("x-gateside-person");
    if (person !== null) this.person = decodeURIComponent(person);
  }

  async get<T>(
    path: string,
    query: Readonly<Record<string, string | number | boolean>>,
    signal?: AbortSignal,
  ): Promise<T> {
    const search = new URLSearchParams(
      Object.entries(query).map(([name, value]): [string, string] => [name, String(value)]),
    ).toString();
    const limit = AbortSignal.timeout(TIMEOUT_MS);
    const asked = `${path}${search === "" ? "" : `?${search}`}`;
    const ending = { signal: signal === undefined ? limit : either(signal, limit) };
    const response = await (askedEarly(asked) ?? request(asked, ending)).catch(rethrow);
    this.#readVersionHeaders(response);
    if (!response.ok) throw new ApiError(response.status, await problemText(response));
    return await response.json().catch(rethrow);
  }
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
  return refusalText(await response.json().catch(() => null));
}

/** The message of an error response. */
export function refusalText(body: unknown): string {
  const { error } = (body ?? {}) as { error?: { message?: string } };
  return error?.message ?? "the agent returned no reason";
}

function measurementsOf(sensor: string): string {
  return `sensors/${encodeURIComponent(sensor)}/measurements`;
}

function instant(ms: number): string {
  return new Date(ms).toISOString();
}
