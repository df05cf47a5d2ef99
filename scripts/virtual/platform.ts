/** What an IoT platform got, in the shape of its profile. */
import type { Wanted } from "../chaos/expectation.ts";
import { Received, type Values } from "../chaos/received.ts";
import type { PlatformProfile } from "./draw.ts";

type Rows = Readonly<Record<string, readonly { ts: number; values: Record<string, unknown> }[]>>;

export class PlatformSide {
  readonly received = new Received({ keepsValues: true });
  readonly #profile: PlatformProfile;
  /** ThingsBoard's telemetry has no ids: device, time and values. */
  readonly #telemetry = new Set<string>();

  constructor(profile: PlatformProfile) {
    this.#profile = profile;
  }

  take(topic: string, text: string): void {
    if (this.#profile === "thingsboard") this.#takeTelemetry(topic, text);
    else if (this.#profile === "azure-iot") this.#takeEvent(topic, text);
    else if (topic.startsWith("platform/")) this.received.take(topic, text);
  }

  /** Null: it did not arrive. False: it arrived with other values. */
  has(id: string, { sensor, timeMs }: Wanted, expected: Values | null): boolean | null {
    if (this.#profile === "thingsboard") {
      const text = telemetryText(sensor, timeMs, expected ?? {});
      return text === null || this.#telemetry.has(text) || null;
    }
    const seen = this.received.ids.get(id);
    return seen === undefined ? null : JSON.stringify(seen.values) === JSON.stringify(expected);
  }

  #takeTelemetry(topic: string, text: string): void {
    if (topic === "v1/devices/me/telemetry") {
      const { values }: { values: { gap?: object } } = JSON.parse(text);
      if (values.gap) this.received.take("platform/plant/agent/gap", JSON.stringify(values.gap));
    }
    if (topic !== "v1/gateway/telemetry") return;
    for (const [device, rows] of Object.entries(JSON.parse(text) as Rows))
      for (const { ts, values } of rows) {
        const row = telemetryText(device, ts, values);
        if (row !== null) this.#telemetry.add(row);
      }
  }

  #takeEvent(topic: string, text: string): void {
    const bag = new URLSearchParams(topic.split("/").at(-1));
    const kind = bag.get("type");
    const place =
      kind === "reading"
        ? `${bag.get("sensor")}/${bag.get("kind")}${bag.get("historical") === "true" ? "/history" : ""}`
        : kind === "gap" || kind === "event"
          ? `agent/${kind}`
          : null;
    if (place !== null) this.received.take(`platform/plant/${place}`, text);
  }
}

/** Null if nothing is left to send. */
function telemetryText(sensor: string, timeMs: number, values: Values): string | null {
  const isKnown = ([name, value]: readonly [string, unknown]) =>
    value !== null && name !== "quality";
  const known = Object.entries(values).filter(isKnown);
  return known.length === 0
    ? null
    : `${sensor} ${timeMs} ${JSON.stringify(Object.fromEntries(known))}`;
}
