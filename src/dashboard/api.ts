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
import type { RankedMachine } from "../core/condition/shown.ts";
import type { Change } from "../core/condition/words.ts";
import type { GAPS, Gap } from "../core/delivery/delivery.ts";
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
import { AgentAccess, ApiError, refusalText } from "./agent-access.ts";
import {
  alarmAsRead,
  baselineAsRead,
  findingAsRead,
  limitAsRead,
  sensorAsRead,
  trendAsRead,
} from "./as-read.ts";
import type { Asking } from "./refresh.ts";
import {
  type PackedSpectra,
  type SpectrumSeries,
  unpacked,
  type WaterfallData,
  type WaveformSeries,
} from "./series.ts";
import { unitsKept } from "./units-kept.ts";

const SENSORS_PER_PAGE = 500;

export class Api extends AgentAccess {
  status = (asking: Asking): Promise<ShownStatus> => this.get("status", {}, asking);
  faults = async (asking: Asking): Promise<readonly Fault[]> =>
    (await this.get<Of<typeof FAULTS>>("faults", {}, asking)).faults;
  /** @param of a sensor alone */
  gaps = async (asking: Asking, of: { readonly sensor?: string } = {}): Promise<readonly Gap[]> =>
    (await this.get<Of<typeof GAPS>>("gaps", { limit: 100, ...of }, asking)).gaps;

  async sensors(asking: Asking): Promise<readonly ShownSensor[]> {
    const all: ShownSensor[] = [];
    const units = unitsKept();
    let cursor: number | null = 0;
    while (cursor !== null) {
      const query = { limit: SENSORS_PER_PAGE, cursor };
      const page: Of<typeof SENSORS> = await this.get("sensors", query, asking);
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
    asking: Asking,
  ): Promise<Trend> {
    const { sensor, kind, values, fromMs, toMs, buckets } = query;
    const range = { from: instant(fromMs), to: instant(toMs), buckets };
    const trend = await this.get<Trend>(
      "trend",
      { sensor, kind, values: values.join(","), ...range },
      asking,
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
    asking: Asking,
  ): Promise<Of<typeof MEASUREMENTS>> {
    const { toMs, ...rest } = query;
    const to = toMs === undefined ? {} : { to: instant(toMs) };
    return this.get(`${measurementsOf(sensor)}`, { ...rest, ...to }, asking);
  }
  /** Null if it is gone and no time is given. */
  async measurement(
    sensor: string,
    reading: string,
    atMs: number | null,
    asking: Asking,
  ): Promise<MeasurementAround | null> {
    const query: Record<string, string> = atMs === null ? {} : { at: instant(atMs) };
    try {
      const path = `${measurementsOf(sensor)}/${encodeURIComponent(reading)}`;
      return await this.get(path, query, asking);
    } catch (error) {
      if (error instanceof ApiError && error.status < 500) return null;
      throw error;
    }
  }
  async measurementDays(
    sensor: string,
    fromMs: number,
    toMs: number,
    asking: Asking,
  ): Promise<readonly string[]> {
    const range = { from: instant(fromMs), to: instant(toMs) };
    const path = `${measurementsOf(sensor)}/days`;
    return (await this.get<Of<typeof MEASUREMENT_DAYS>>(path, range, asking)).days;
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
    asking: Asking,
  ): Promise<WaterfallData> {
    const { fromMs, toMs, ...rest } = query;
    const range = { from: instant(fromMs), to: instant(toMs) };
    const path = `sensors/${encodeURIComponent(sensor)}/spectra`;
    const result = await this.get<PackedSpectra>(path, { ...range, ...rest }, asking);
    const spectra = result.spectra.map(unpacked);
    return { ...result, spectra };
  }
  waveform = async (fileId: number, unit: number, asking: Asking): Promise<WaveformSeries> =>
    unpacked(await this.get<Of<typeof WAVEFORM>>(`waveform/${fileId}`, { unit }, asking));
  spectrum = async (fileId: number, unit: number, asking: Asking): Promise<SpectrumSeries> =>
    unpacked(await this.get<Of<typeof SPECTRUM>>(`spectrum/${fileId}`, { unit }, asking));

  /** @param before the position in the history from which on older ones are wanted; null: the newest */
  async alarms(history: number, before: number | null, asking: Asking): Promise<AlarmLists> {
    const query = { history, ...(before !== null && { before }) };
    const lists = await this.get<AlarmLists>("alarms", query, asking);
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
  alarmActions = async (limit: number, asking: Asking): Promise<readonly AlarmAction[]> =>
    (await this.get<Of<typeof ALARM_ACTIONS>>("alarms/audit", { limit }, asking)).actions;
  limits = async (sensor: string, asking: Asking): Promise<readonly LimitView[]> =>
    (await this.get<Of<typeof LIMITS>>("alarms/limits", { sensor }, asking)).limits.map((limit) =>
      limitAsRead(limit, unitsKept()),
    );
  baselines = async (sensor: string, asking: Asking): Promise<readonly BaselineView[]> =>
    (await this.get<Of<typeof BASELINES>>("baselines", { sensor }, asking)).baselines.map(
      (baseline) => baselineAsRead(baseline, unitsKept()),
    );
  /** Machine data of the site file; none if it has none. */
  machines = async (asking: Asking): Promise<readonly Machine[]> => {
    type ConfigurationResponse = { readonly site: { readonly machines?: readonly Machine[] } };
    return (await this.get<ConfigurationResponse>("configuration", {}, asking)).site.machines ?? [];
  };

  worstMachines = async (asking: Asking): Promise<readonly RankedMachine[]> =>
    (
      await this.get<{ machines: readonly RankedMachine[] }>("machines", { sort: "worst" }, asking)
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

  async findings(machine: number, asking: Asking): Promise<MachineFindings> {
    const found = await this.get<MachineFindings>(`machines/${machine}/findings`, {}, asking);
    return { ...found, findings: found.findings.map((one) => findingAsRead(one, unitsKept())) };
  }

  /** Acknowledges, shelves or notes an alarm; rejects with ApiError if the agent refuses. */
  async postAlarmAction(id: string, word: AlarmActionName, body: object): Promise<void> {
    const result = await this.send("POST", `alarms/${id}/${word}`, body);
    if (result.status >= 300) throw new ApiError(result.status, refusalText(result.body));
  }
}

function measurementsOf(sensor: string): string {
  return `sensors/${encodeURIComponent(sensor)}/measurements`;
}

function instant(ms: number): string {
  return new Date(ms).toISOString();
}
