/** One sensor as a Sparkplug device: its metrics, the content of its birth, and the conversion of readings. */

import type { Kind } from "../../core/sensor.ts";
import { isUnlistedValue } from "../../core/sensors/channel-labels.ts";
import { ALARM_PREFIX, type AlarmStand, alarmMetricName, alarmShape } from "./alarms.ts";
import { type MetricShape } from "./metric-shape.ts";
import { type ParsedReading } from "./parsed-reading.ts";
import type { Datatype, Metric, Property } from "./payload.ts";
import { SPARKPLUG_QUALITY, sparkplugQuality } from "./quality-map.ts";
import { type MetricLimits, SentLimits, SentQualities } from "./sent-properties.ts";
import { deviceId } from "./topics.ts";

export const metricName = (kind: Kind, value: string): string => `${kind}/${value}`;

const GOOD = SPARKPLUG_QUALITY.good;
const BAD = SPARKPLUG_QUALITY.bad;
const STALE = SPARKPLUG_QUALITY.stale;

/** The limits of a sensor's values as they are at one moment. */
export type LimitsOf = (sensor: string) => (kind: Kind, value: string) => MetricLimits;

export class Device {
  readonly id: string;
  readonly code: string;
  readonly #shapes = new Map<string, MetricShape>();
  readonly #qualities = new SentQualities();
  /** Alarms that hosts have received, by metric name. */
  readonly #severities = new Map<string, AlarmStand>();
  /** Of each alarm the time in its last message, ms. */
  readonly #alarmTimes = new Map<string, number>();
  /** Of alarms that a birth announced before their first reading: when that was, ms. */
  readonly #datedNow = new Map<string, number>();

  /** Those that the site file declares. */
  readonly #kinds: readonly Kind[];

  readonly #limits = new SentLimits();
  readonly #limitsNow: LimitsOf;

  /**
   * @param shapes as the site file declares them; none for a sensor that it no longer names
   * @param limits that judge its values now; by default none are told
   */
  constructor(code: string, shapes: readonly MetricShape[], limits: LimitsOf = () => () => ({})) {
    this.#limitsNow = limits;
    this.id = deviceId(code);
    this.code = code;
    for (const shape of shapes) this.#shapes.set(shape.name, shape);
    this.#kinds = this.kinds;
  }

  /** Kinds that its metrics come from. */
  get kinds(): Kind[] {
    return [
      ...new Set([...this.#shapes.values()].flatMap((s) => (s.source ? [s.source.kind] : []))),
    ];
  }
  shape(name: string): MetricShape | undefined {
    return this.#shapes.get(name);
  }

  /** True if the metric is new, so that a new birth is needed. */
  add(shape: MetricShape): boolean {
    if (this.#shapes.has(shape.name)) return false;
    this.#shapes.set(shape.name, shape);
    return true;
  }
  /**
   * An alarm that no birth has announced. It may be one that ends because its rule has gone: then it has followed nothing
   * any more, but a host that orders by time would keep what was active.
   */
  announce(stand: AlarmStand): void {
    this.add(alarmShape(stand));
    this.#alarmTimes.set(alarmMetricName(stand), stand.timeMs);
  }
  /** A message was made and not sent: send every quality again. */
  resendQualities(): void {
    this.#qualities.resend();
  }

  /** False for a sensor that the site file no longer names: nobody expects data of it. */
  #isFormer(kind: Kind, value: string): boolean {
    const hasKind = this.#kinds.includes(kind);
    return this.#kinds.length > 0 && !(hasKind && isUnlistedValue(kind, value));
  }

  /** Adds metrics that no birth announced (the site file changed since the reading); true if a new birth is needed. */
  learn(reading: ParsedReading): boolean {
    let hasNew = false;
    for (const [value, content] of Object.entries(reading.values)) {
      const name = metricName(reading.kind, value);
      if (this.#shapes.has(name)) continue;
      const unit = reading.units[value];
      this.#shapes.set(name, {
        name,
        type: typeOf(content),
        unit: typeof unit === "string" ? unit : null,
        source: { kind: reading.kind, value },
        isFormer: this.#isFormer(reading.kind, value),
      });
      hasNew = true;
    }
    return hasNew;
  }

  /**
   * Every metric with its newest value, or null if there is none, and the severity of every alarm. `isStale`: the
   * sensor is silent, and the birth is sent only so that its backlog can follow.
   */
  birth(
    nowMs: number,
    newest: ReadonlyMap<Kind, ParsedReading>,
    alarms: readonly AlarmStand[],
    normalMs: (alarmKey: string) => number,
    isStale: boolean,
  ): Metric[] {
    this.#qualities.clear();
    this.#severities.clear();
    this.#limits.clear();
    const limits = this.#limitsNow(this.code);
    for (const stand of alarms) {
      this.add(alarmShape(stand));
      this.#severities.set(alarmMetricName(stand), stand);
    }
    return [...this.#shapes.values()].map((shape) => {
      const { source } = shape;
      if (shape.name.startsWith(ALARM_PREFIX)) return this.#severity(shape, nowMs, normalMs);
      if (shape.constant !== undefined)
        return { name: shape.name, type: shape.type, timeMs: nowMs, value: shape.constant };
      if (source === null) return this.#unfilled(shape, nowMs);
      const reading = newest.get(source.kind);
      // A value measured in another unit, before the site file changed, is not a value of this metric.
      const isOurs = otherUnit(shape, reading, source.value) === null;
      const content = isOurs ? scalar(shape.type, reading?.values[source.value]) : null;
      const doubt = (isOurs ? reading?.quality[source.value] : null) ?? null;
      const isPast = isStale || shape.isFormer === true;
      const quality = content === null ? BAD : isPast ? STALE : sparkplugQuality(doubt);
      const reason = shape.isFormer
        ? "removed"
        : (doubt?.reason ?? (content === null ? "missing" : null));
      return {
        name: shape.name,
        type: shape.type,
        timeMs: reading?.timeMs ?? nowMs,
        value: content,
        properties: [
          ...this.#qualities.inBirth(shape.name, quality, reason),
          ...unitProperties(shape.unit),
          ...(shape.properties ?? []),
          ...this.#limits.inBirth(shape.name, limits(source.kind, source.value)),
        ],
      };
    });
  }

  /** All values of one reading: each record is sent in full, changed or not, so that a recording host misses none. */
  data(reading: ParsedReading, isHistorical: boolean): Metric[] {
    const limits = this.#limitsNow(this.code);
    return Object.entries(reading.values).flatMap(([value, raw]) => {
      const shape = this.#shapes.get(metricName(reading.kind, value));
      if (!shape) return [];
      const content = scalar(shape.type, raw);
      const doubt = reading.quality[value] ?? null;
      const quality = content === null ? BAD : sparkplugQuality(doubt);
      const reason = doubt?.reason ?? (content === null ? "missing" : null);
      // Pending since before the site file changed: history in its own unit, which must not become the current value.
      const unit = otherUnit(shape, reading, value);
      const isPast = isHistorical || unit !== null || shape.isFormer === true;
      return [
        {
          name: shape.name,
          type: shape.type,
          timeMs: reading.timeMs,
          value: content,
          isHistorical: isPast,
          properties: [
            ...this.#qualities.inData(shape.name, quality, reason, isPast),
            ...unitProperties(unit),
            ...(isPast ? [] : this.#limits.inData(shape.name, limits(reading.kind, value))),
          ],
        },
      ];
    });
  }

  /**
   * A transition of an alarm that was announced; null if the host knows the severity already (an operator's action
   * changes none). Never older than what was sent before: a silence is dated by the gateway's clock, which may be set
   * back, and a host that orders by time would keep what it has.
   */
  alarm(stand: AlarmStand): Metric | null {
    const name = alarmMetricName(stand);
    const before = this.#severities.get(name)?.severity ?? "normal";
    if (before === stand.severity) return null;
    this.#severities.set(name, stand);
    const timeMs = Math.max(stand.timeMs, this.#alarmTimes.get(name) ?? 0);
    this.#alarmTimes.set(name, timeMs);
    return { name, type: "String", timeMs, value: stand.severity };
  }

  /** Dated by what it rests on: a host that orders by time would keep a `normal` of now while an older reading raises the alarm. */
  #severity(
    { name, type }: MetricShape,
    nowMs: number,
    normalMs: (alarmKey: string) => number,
  ): Metric {
    const stand = this.#severities.get(name);
    const known = this.#alarmTimes.get(name) ?? 0;
    const restsOnMs = stand?.timeMs ?? normalMs(name.slice(ALARM_PREFIX.length));
    // Judged by nothing yet: of now, as 1970 would be a time of its own. What it then gets may be older, and must not seem so.
    if (restsOnMs === 0 && known === 0) this.#datedNow.set(name, nowMs);
    const timeMs = Math.max(restsOnMs || known, this.#datedNow.get(name) ?? 0);
    this.#alarmTimes.set(name, timeMs);
    return { name, type, timeMs, value: stand?.severity ?? "normal" };
  }

  /** A value with a source other than `values`: waveforms and settings. */
  other(
    name: string,
    metric: Pick<Metric, "timeMs" | "value" | "isHistorical" | "properties" | "contentType">,
  ): Metric {
    const type = this.#shapes.get(name)?.type ?? "String";
    return {
      ...metric,
      name,
      type,
      properties: [
        ...this.#qualities.inData(name, GOOD, null, metric.isHistorical === true),
        ...(metric.properties ?? []),
      ],
    };
  }

  #unfilled(shape: MetricShape, nowMs: number): Metric {
    // A waveform is too large for a birth; its tag is stale until the next one. Settings cannot be read back.
    const isStale = shape.type === "Bytes";
    return {
      name: shape.name,
      type: shape.type,
      timeMs: nowMs,
      value: null,
      properties: [
        ...(isStale ? this.#qualities.inBirth(shape.name, STALE, null) : []),
        ...unitProperties(shape.unit),
        ...(shape.properties ?? []),
      ],
    };
  }
}

function unitProperties(unit: string | null): Property[] {
  return unit === null ? [] : [{ key: "engUnit", type: "String", value: unit }];
}

/** The unit of a reading's value if it differs from the metric's, otherwise null. */
function otherUnit(
  shape: MetricShape,
  reading: ParsedReading | undefined,
  value: string,
): string | null {
  const unit = reading?.units[value];
  return typeof unit === "string" && unit !== shape.unit ? unit : null;
}

/** Null, or a value of another type than the metric's, counts as no value. */
function scalar(type: Datatype, raw: unknown): number | string | boolean | null {
  if (type === "Double") return typeof raw === "number" && Number.isFinite(raw) ? raw : null;
  if (type === "Boolean") return typeof raw === "boolean" ? raw : null;
  // For a state without a unit, only the response shows whether it is a text, a number or a boolean.
  if (type === "String") return textOf(raw);
  return null;
}

function textOf(raw: unknown): string | null {
  if (typeof raw === "string") return raw;
  return typeof raw === "number" || typeof raw === "boolean" ? String(raw) : null;
}

function typeOf(content: unknown): Datatype {
  if (typeof content === "boolean") return "Boolean";
  return typeof content === "string" ? "String" : "Double";
}
