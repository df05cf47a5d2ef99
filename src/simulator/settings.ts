import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { makeDirectory } from "../lib/make-directory.ts";
import type { SimulatorConfig } from "./options.ts";
import type { RequestFields } from "./request.ts";

export interface AppliedSettings {
  readonly intervalSendDataMin: number;
  readonly rangeG: number;
  readonly intervalRmsS: number;
  readonly alarmsMms: readonly [number, number, number];
}

export interface SettingsState {
  /** Waiting for the sensor's next contact. */
  readonly queued: AppliedSettings | null;
  /** The settings in effect at the sensor. */
  readonly applied: AppliedSettings | null;
}

interface QueuedSettings {
  queued: AppliedSettings | null;
  pickUpMs: number;
  applied: AppliedSettings | null;
}

export interface SettingsResult {
  readonly status: number;
  readonly description: string;
}

const DESCRIPTIONS: Readonly<Record<number, string>> = {
  0: "OK",
  502: "Invalid Range",
  503: "IntervalSendData must be at least 10 minutes",
  504: "IntervalRMS must be at least 30 seconds",
  505: "Alarm thresholds must be at least 0.5 mm/s",
  506: "This type of sensor takes no settings",
};

/** Settings wait in the gateway until the sensor requests them; the last write wins. */
export class SettingsBox {
  readonly #config: SimulatorConfig["settings"];
  readonly #entries = new Map<string, QueuedSettings>();
  readonly #now: () => number;
  readonly #nextContactMs: (code: string, afterMs: number) => number;

  constructor(
    config: SimulatorConfig["settings"],
    now: () => number,
    nextContactMs: (code: string, afterMs: number) => number,
  ) {
    this.#config = config;
    this.#now = now;
    this.#nextContactMs = nextContactMs;
  }

  /** saveSettings: checks in the configured order; the first that fails is the response. */
  save(fields: RequestFields): SettingsResult {
    const type = fields.integer("sensorType");
    const code = String(fields.integer("sensorCode"));
    const settings: AppliedSettings = {
      intervalSendDataMin: fields.integer("IntervalSendData"),
      rangeG: fields.integer("Range"),
      intervalRmsS: fields.integer("IntervalRMS"),
      alarmsMms: [fields.number("alarm1"), fields.number("alarm2"), fields.number("alarm3")],
    };
    const isWrong: Readonly<Record<502 | 503 | 504 | 505 | 506, boolean>> = {
      506: !this.#config.types.includes(type),
      502: !this.#config.ranges.includes(settings.rangeG),
      503: settings.intervalSendDataMin < 10,
      504: settings.intervalRmsS < 30,
      505: settings.alarmsMms.some((alarm) => alarm < 0.5),
    };
    return this.#finish(code, settings, this.#config.order.find((status) => isWrong[status]) ?? 0);
  }

  /** UpdateConfig of the first generation knows only the alarm limit. */
  update(fields: RequestFields): SettingsResult {
    const settings: AppliedSettings = {
      intervalSendDataMin: fields.integer("intervalSendData"),
      rangeG: fields.integer("range"),
      intervalRmsS: fields.integer("intervalRMS"),
      alarmsMms: [fields.number("alarm1"), fields.number("alarm2"), fields.number("alarm3")],
    };
    const isWrong = settings.alarmsMms.some((alarm) => alarm < 0.5);
    return this.#finish(fields.text("sensorCode") ?? "", settings, isWrong ? 505 : 0);
  }

  #finish(code: string, settings: AppliedSettings, status: number): SettingsResult {
    if (status === 0) this.#queue(code, settings);
    return { status, description: DESCRIPTIONS[status] ?? "Error" };
  }

  #queue(code: string, settings: AppliedSettings): void {
    const now = this.#now();
    const { applied } = this.state(code);
    this.#entries.set(code, {
      queued: settings,
      pickUpMs: this.#nextContactMs(code, now),
      applied,
    });
    const { dir } = this.#config;
    if (dir === null || !/^\d+$/.test(code)) return;
    makeDirectory(dir);
    writeFileSync(
      join(dir, `${code}.json`),
      `${JSON.stringify({ sensor: code, ...settings }, null, 2)}\n`,
    );
  }

  state(code: string): SettingsState {
    const entry = this.#entries.get(code);
    if (!entry) return { queued: null, applied: null };
    if (entry.queued && this.#now() >= entry.pickUpMs) {
      entry.applied = entry.queued;
      entry.queued = null;
    }
    return { queued: entry.queued, applied: entry.applied };
  }

  codes(): string[] {
    return [...this.#entries.keys()];
  }
}
