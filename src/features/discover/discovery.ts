/** Queries an analytics service for its sensors, in the background of a running agent; the result stays in memory until the next one. */

import type { Logger } from "../../core/ports.ts";
import { isJsonObject, type JsonObject } from "../../core/record.ts";
import { normalCode, type PolledKind } from "../../core/sensor.ts";
import { withinMs } from "../../lib/time-limit.ts";
import { createWireNames } from "../../pipeline/wire/wire-names.ts";
import { AnalyticsClient } from "./client.ts";
import { draftSite } from "./draft.ts";
import { AnalyticsFailure } from "./failure.ts";
import type {
  DiscoveryDraft,
  DiscoveryHints,
  DiscoveryRequest,
  DiscoveryState,
} from "./rules/shown.ts";
import { type Survey, survey } from "./survey.ts";

/** A service with thousands of devices takes minutes. */
const DISCOVERY_MAX_MS = 10 * 60_000;

interface DiscoveryParts {
  /** This agent's WIRE_WORD. */
  readonly wireWord: string;
  /** The current content of the site file. */
  readonly site: () => unknown;
  readonly logger: Logger;
}

export class Discovery {
  readonly #parts: DiscoveryParts;
  #state: DiscoveryState = { state: "none", detail: "", devices: 0 };
  #found: Survey | null = null;

  constructor(parts: DiscoveryParts) {
    this.#parts = parts;
  }

  get state(): DiscoveryState {
    return this.#state;
  }

  /** False while one is in progress. The password is used for the login and not stored. */
  begin(request: DiscoveryRequest, signal: AbortSignal): boolean {
    if (this.#state.state === "running") return false;
    this.#found = null;
    this.#state = { state: "running", detail: "logging in", devices: 0 };
    void withinMs(signal, DISCOVERY_MAX_MS, (limited) => this.#run(request, limited));
    return true;
  }

  async #run({ url, email, password, wireWord }: DiscoveryRequest, signal: AbortSignal) {
    const names = createWireNames({ word: wireWord ?? this.#parts.wireWord, service: "" });
    const client = new AnalyticsClient(url, "", names);
    try {
      await client.login(email, password, signal);
      const progress = (detail: string) => {
        this.#state = { state: "running", detail, devices: 0 };
      };
      const found = await survey(client, progress, signal);
      this.#found = found;
      this.#state = { state: "found", detail: "", devices: found.devices.length };
    } catch (err) {
      const isExpected = err instanceof AnalyticsFailure || signal.aborted;
      if (!isExpected) this.#parts.logger.error({ err }, "discovery failed");
      const detail = signal.aborted
        ? "stopped: it took too long, or the agent is stopping"
        : err instanceof AnalyticsFailure
          ? err.message
          : "internal error; see the agent's log";
      this.#state = { state: "failed", detail, devices: 0 };
    } finally {
      await client.close();
    }
  }

  draft({ kinds, clamp, loop }: DiscoveryHints): DiscoveryDraft | null {
    const found = this.#found;
    if (found === null) return null;
    const existing = siteLike(this.#parts.site());
    const known = new Set(existing.sensors.map(({ code }) => normalCode(String(code))));
    const byType = new Map<number, readonly PolledKind[]>(
      Object.entries(kinds).map(([type, list]) => [Number(type), list]),
    );
    const { site, kept, left, notes } = draftSite(found, existing, {
      site: null,
      kinds: byType,
      clamp,
      loop,
      isForm: true,
    });
    return {
      sensors: site.sensors.filter(({ code }) => !known.has(normalCode(String(code)))),
      kept,
      left,
      notes,
      types: typesOf(found),
    };
  }
}

function typesOf({ devices }: Survey): DiscoveryDraft["types"] {
  const types = new Map<number, { count: number; example: string }>();
  for (const { device } of devices) {
    if (device.type === null || device.type < 0) continue;
    const known = types.get(device.type);
    if (known !== undefined) known.count += 1;
    else types.set(device.type, { count: 1, example: device.name || device.code });
  }
  return [...types].map(([type, rest]) => ({ type, ...rest })).sort((a, b) => a.type - b.type);
}

function siteLike(content: unknown): { readonly sensors: JsonObject[] } {
  const site = isJsonObject(content) ? content : {};
  const sensors = site["sensors"];
  return { ...site, sensors: Array.isArray(sensors) ? sensors.filter(isJsonObject) : [] };
}
