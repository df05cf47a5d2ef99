/** Gathers what the report on a machine says (plant section 20). */

import type { LimitView } from "../../core/alarm/shown.ts";
import type { EvidenceLine } from "../../core/diagnosis/finding.ts";
import type { FindingView, MachineFindings } from "../../core/diagnosis/shown.ts";
import { findingAction, findingTitle, ZONE_ACTIONS } from "../../core/diagnosis/titles.ts";
import { contactSpans } from "../../core/drawing/contact-spans.ts";
import { drawnLine } from "../../core/drawing/drawn-line.ts";
import type { SignalSeries } from "../../core/query/ports.ts";
import type { ReadUnits } from "../../core/read-units.ts";
import { successors } from "../../core/replacement.ts";
import { type Kind, normalCode, readingKinds, type Sensor, sameCode } from "../../core/sensor.ts";
import { nameAtStart } from "../../core/sensor-names.ts";
import { GE_UNIT, type SignalUnit } from "../../core/unit.ts";
import type { OutlookPort } from "../../http/outlook-port.ts";
import { placeTrend } from "../../http/place-trend.ts";
import { VERSION } from "../../lib/version.ts";
import { zoneLimits } from "../../pipeline/signal/severity.ts";
import type { Alarms } from "../alarms/api.ts";
import { valueLabel } from "../alarms/api.ts";
import type { MachineConditions } from "../condition/api.ts";
import type { FeatureHost } from "../host.ts";
import { alarmsOf, notesOf } from "./gather-alarms.ts";
import { worstFirst } from "./rules/document.ts";
import type { ReportFinding, ReportInput, ReportTrend } from "./rules/input.ts";
import { labelOf, titleOf } from "./trend-names.ts";

export type ReportSources = Pick<
  FeatureHost,
  "gatewayNow" | "history" | "hours" | "measurements" | "series" | "site" | "status" | "waveforms"
> & { readonly settings: { readonly gatewayTimezone: string } } & ReportedParts;

/** What a report shows of other features; null without them. */
export interface ReportedParts {
  readonly alarms: Alarms | null;
  readonly findings: {
    findingsOf(machine: number): Pick<MachineFindings, "findings"> | null;
  } | null;
  readonly conditions: Pick<MachineConditions, "of"> | null;
  readonly outlook: OutlookPort | null;
}

type Condition = NonNullable<Awaited<ReturnType<MachineConditions["of"]>>>;

interface ReportQuery {
  readonly id: number;
  readonly fromMs: number;
  readonly toMs: number;
  readonly units: ReadUnits;
}

/** Points of a curve: more than paper shows. */
const BUCKETS = 240;
/** Curves of one kind, at most. */
const VALUES_MAX = 6;
/** A period that ended no longer ago is one until now. */
const NOW_MS = 60_000;
const VELOCITY: SignalUnit = 2;
const BOUNDARIES = ["zone A/B", "zone B/C", "zone C/D"];

/** Null for a machine that nothing names. */
export async function gatherReport(
  parts: ReportSources,
  query: ReportQuery,
): Promise<ReportInput | null> {
  const entry = (await parts.conditions?.of(query.id)) ?? null;
  if (entry === null) return null;
  const { site, status } = parts;
  const sensors = site.current.sensors.filter(({ location }) => location?.machine === query.id);
  const states = new Map(status.status().sensors.map((state) => [normalCode(state.code), state]));
  const trends: ReportTrend[] = [];
  // The curves of a sensor that was replaced are part of the next one's.
  const replaced = successors(site.current.sensors);
  const { atEnd, ...alarms } = alarmsOf(parts, sensors, query);
  const { since, sinceAtLeast, condition, reason, area } = entry;
  const isOver = query.toMs < parts.gatewayNow() - NOW_MS;
  // What was found later is not of the period.
  const found = (parts.findings?.findingsOf(query.id)?.findings ?? []).filter(
    (finding) => Date.parse(finding.since) < query.toMs,
  );
  const named = worstFirst(found, isOver ? atEnd.reason : reason);
  const worst = named[0] === undefined ? worstValueOf(entry) : valueOf(named[0]);
  for (const sensor of sensors.filter(({ code }) => !replaced.has(normalCode(code)))) {
    const value = worst !== null && sameCode(worst.sensor, sensor.code) ? worst.value : null;
    trends.push(...(await trendsOfSensor(parts, sensor, query, value)));
  }
  return {
    site: site.current.site,
    machine: entry.name ?? `Machine ${query.id}`,
    area,
    fromMs: query.fromMs,
    toMs: query.toMs,
    madeMs: parts.gatewayNow(),
    zone: parts.settings.gatewayTimezone,
    version: VERSION,
    units: query.units,
    isOver,
    ...(isOver
      ? { ...atEnd, action: "", isSinceAtLeast: false, speedRpm: null }
      : {
          condition,
          reason,
          action: ZONE_ACTIONS[entry.zone ?? ""] ?? "",
          worst: entry.alarms[0] ?? null,
          sinceMs: since === null ? null : Date.parse(since),
          isSinceAtLeast: sinceAtLeast,
          speedRpm: entry.speedRpm,
        }),
    sensors: sensors.map((sensor) => ({
      name: nameAtStart(sensor, site.current),
      zone: entry.zones.get(normalCode(sensor.code)) ?? null,
      lastMs: states.get(normalCode(sensor.code))?.lastReadingMs ?? null,
      isLive: states.get(normalCode(sensor.code))?.state === "online",
    })),
    findings: findingsOf(parts, sensors, named),
    trends,
    outlook: (parts.outlook?.valuesOf(query.id) ?? []).map(({ sensor: code, value, text }) => {
      const sensor = sensors.find((one) => normalCode(one.code) === normalCode(code));
      if (sensor === undefined) return { sensor: code, value, text };
      return { sensor: nameAtStart(sensor, site.current), value: valueLabel(sensor, value), text };
    }),
    ...alarms,
    notes: notesOf(parts, sensors),
  };
}

/** The value by which the machine is what it is, where no finding stands. */
function worstValueOf({ alarms, changed }: Pick<Condition, "alarms" | "changed">) {
  return alarms.find(({ alarm }) => alarm !== "finding") ?? changed;
}

/** The value that contains the finding's lines. */
function valueOf({ sensor, evidence: [line] }: FindingView) {
  const what = line?.unit === "mm/s" ? "vel_rms" : "env_rms";
  return { sensor, value: `channel${line?.channel ?? 1}_${what}` };
}

function findingsOf(
  { measurements, series, site, waveforms }: ReportSources,
  sensors: readonly Sensor[],
  views: readonly FindingView[],
): ReportFinding[] {
  return views.map((finding): ReportFinding => {
    const sensor = sensors.find(({ code }) => normalCode(code) === normalCode(finding.sensor));
    const [first] = finding.evidence;
    const measurement = measurements.find(finding.sensor, finding.readingId);
    const made = new Map<string, SignalSeries | null>();
    // Lines of the whitened envelope stand at the same frequencies in the envelope.
    const spectrumOf = (line: EvidenceLine): SignalSeries | null => {
      const unit = line.unit === "mm/s" ? VELOCITY : GE_UNIT;
      const key = `${line.channel} ${unit}`;
      const known = made.get(key);
      if (known !== undefined) return known;
      const file = measurement?.channels.find(({ channel }) => channel === line.channel);
      const stored = file === undefined ? null : waveforms.read(file.fileId);
      const spectrum = stored && series.spectrum(stored, unit, sensor ?? null);
      made.set(key, spectrum);
      return spectrum;
    };
    /** As the plot draws it, peak; of a line that no plot shows in its unit the tone's. */
    const drawnIn = (line: EvidenceLine): number => {
      const shown = line.unit === "%" ? null : spectrumOf(line);
      const drawn = shown && drawnLine(shown.values, shown.step, line.hz);
      return drawn?.amplitude ?? line.amplitude * Math.SQRT2;
    };
    const spectrum = first === undefined ? null : spectrumOf(first);
    const point = sensor?.location?.names?.point;
    return {
      title: findingTitle(
        finding.finding,
        finding.bearing,
        point ??
          (sensor === undefined ? `sensor ${finding.sensor}` : nameAtStart(sensor, site.current)),
        finding.stage,
      ),
      action: findingAction(finding.finding, finding.stage),
      stage: finding.stage,
      text: finding.text,
      sinceMs: Date.parse(finding.since),
      lastSeenMs: Date.parse(finding.lastSeen),
      speedRpm: finding.speedRpm,
      evidence: finding.evidence.map((line) => ({ ...line, amplitude: drawnIn(line) })),
      spectrum:
        spectrum === null || measurement === null || first === undefined
          ? null
          : {
              timeMs: measurement.timeMs,
              unit: first.unit === "mm/s" ? first.unit : "GE",
              stepHz: spectrum.step,
              values: spectrum.values,
            },
    };
  });
}

/** One stands for the sensor: that of its worst value, else the first. */
async function trendsOfSensor(
  parts: ReportSources,
  sensor: Sensor,
  query: ReportQuery,
  worst: string | null,
): Promise<ReportTrend[]> {
  const all: ReportTrend[] = [];
  for (const kind of readingKinds(sensor))
    all.push(...(await trendsOf(parts, sensor, kind, query, worst)));
  const main = all.find(({ isWorst }) => isWorst) ?? all.find(({ isMain }) => isMain);
  return all.map((trend) => ({ ...trend, isMain: trend === main }));
}

/** The curves of a sensor and kind: velocity and envelope of a vibration sensor, else the first numbers. */
async function trendsOf(
  parts: ReportSources,
  sensor: Sensor,
  kind: Kind,
  { fromMs, toMs }: ReportQuery,
  worst: string | null,
): Promise<ReportTrend[]> {
  const query = { sensor: sensor.code, kind, fromMs, toMs, buckets: BUCKETS, names: null };
  const { trend } = await placeTrend(parts, { ...query, resolution: "auto" }, () => false);
  const { series, bucketMs } = trend.result();
  const groups = new Map<string, { unit: string | null; names: string[] }>();
  for (const [name, { unit }] of Object.entries(series)) {
    const what = kind === "accel" ? /_(vel_rms|env_rms)$/.exec(name)?.[1] : (unit ?? "");
    const isBeside =
      ["battery", "module_temperature", "temperature"].includes(name) ||
      /^current\d_(min|max)$/.test(name);
    if (what === undefined || isBeside) continue;
    const group = groups.get(what) ?? { unit, names: [] };
    if (group.names.length < VALUES_MAX) group.names.push(name);
    groups.set(what, group);
  }
  const limits = [...(parts.alarms?.limits(sensor.code) ?? [])];
  return [...groups.values()].map(({ unit, names }, group) => ({
    isMain: group === 0 && (kind !== "bands" || sensor.kinds.length === 1),
    isWorst: names.includes(worst ?? ""),
    title: `${nameAtStart(sensor, parts.site.current)}: ${titleOf(sensor, kind, names)}`,
    kind,
    value: names[0] ?? "",
    unit,
    isRms: names.some(
      (name) => name.endsWith("_rms") || (kind === "bands" && name !== "speed_rpm"),
    ),
    lines: names.map((name) => ({
      label: labelOf(sensor, kind, name),
      points: (series[name]?.timesMs ?? []).map((x, at) => {
        const { min = [], max = [], mean = [] } = series[name] ?? {};
        const y = mean[at] ?? 0;
        const [low = y, high = y] = [min[at], max[at]];
        return low === high ? { x, y } : { x, y, low, high };
      }),
    })),
    levels: levelsOf(parts, sensor, names, limits),
    ...(kind === "dryContact" && {
      lanes: names.map((name) => ({
        label: labelOf(sensor, kind, name),
        spans: contactSpans(series[name], bucketMs, toMs),
      })),
    }),
  }));
}

function levelsOf(
  { alarms }: ReportSources,
  sensor: Sensor,
  names: readonly string[],
  own: readonly LimitView[],
): ReportTrend["levels"] {
  const zones = zoneLimits(sensor) ?? [];
  const isVelocity = names.some((name) => name.endsWith("_vel_rms"));
  const fixed = own
    .filter(({ value, alarm }) => names.includes(value) && !alarm.startsWith("zone"))
    .flatMap(({ alarm, high, highHigh }) => [
      { label: alarm, y: high },
      { label: `${alarm}, alarm`, y: highHigh },
    ]);
  const learned = (alarms?.baselines(sensor.code) ?? [])
    // Curves are of the running machine.
    .filter(({ value, machineState }) => names.includes(value) && machineState !== "standing")
    .map(({ alarm, high }) => ({ label: alarm, y: high }));
  const levels = [
    ...(isVelocity ? zones.map((y, at) => ({ label: BOUNDARIES[at] ?? "zone", y })) : []),
    ...[...fixed, ...learned].flatMap(({ label, y }) => (y === null ? [] : [{ label, y }])),
  ];
  // One line each, where several axes share it.
  return [...new Map(levels.map((level) => [level.y, level])).values()];
}
