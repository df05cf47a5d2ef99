/** The site file of a campaign and what people change in it while the agent runs. None of the changes alters the id of a record. */
import { renameSync, writeFileSync } from "node:fs";
import type { ChannelConfig, Sensor } from "../../src/core/sensor.ts";
import type { Site } from "../../src/core/site.ts";
import type { SeededRandom } from "./random.ts";

export type SiteChange = "added" | "removed" | "renamed" | "re-typed" | "clamp" | "class";

/** A type code that no sensor of the simulated plant has. */
const WRONG_TYPE = 99;
/** At most this many sensors are left out. */
const REMOVED_MAX = 4;
const CLAMPS = [50, 100, 250, 500];
const CLASSES = ["group1-rigid", "group2-rigid", "class2"] as const;

export class SiteFile {
  /** Codes of sensors that were changed in any way. */
  readonly changed = new Set<string>();
  /** How often it was written from here. */
  writes = 0;
  readonly path: string;
  readonly #whole: Site;
  #now: Site;
  #names = 0;

  constructor(path: string, whole: Site) {
    this.path = path;
    this.#whole = whole;
    this.#now = whole;
    this.#write();
  }

  /** Writes one change of this kind, to a sensor chosen by the numbers. Returns whether there was anything to change. */
  change(what: SiteChange, random: SeededRandom): boolean {
    const sensors = this.#proposed(what, random);
    return sensors !== null && this.#put(sensors);
  }

  /** One change of this kind, not written: what somebody else may write. Null if there is nothing to change. */
  proposal(what: SiteChange, random: SeededRandom): Site | null {
    const sensors = this.#proposed(what, random);
    if (sensors === null) return null;
    this.#note(sensors);
    return { ...this.#whole, sensors: [...sensors] };
  }

  #proposed(what: SiteChange, random: SeededRandom): readonly Sensor[] | null {
    const { sensors } = this.#now;
    const missing = this.#whole.sensors.filter(({ code }) => !sensors.some((s) => s.code === code));
    if (what === "added") {
      if (missing.length === 0) return null;
      return [...sensors, random.pick(missing)];
    }
    if (what === "removed") {
      if (missing.length >= REMOVED_MAX) return null;
      const gone = random.pick(sensors).code;
      return sensors.filter(({ code }) => code !== gone);
    }
    const fitting = sensors.filter((sensor) => suits(what, sensor));
    if (fitting.length === 0) return null;
    const before = random.pick(fitting);
    const after = this.#changed(what, before, random);
    return sensors.map((sensor) => (sensor === before ? after : sensor));
  }

  /** None of the changes alters them. */
  kindsOf(code: string): readonly string[] {
    return this.#whole.sensors.find((sensor) => sensor.code === code)?.kinds ?? [];
  }

  /** None alters its own interval either, s. */
  pollIntervalS(code: string): number | undefined {
    return this.#whole.sensors.find((sensor) => sensor.code === code)?.pollIntervalS;
  }

  /** As it was at the beginning. */
  restore(): void {
    this.#put(this.#whole.sensors);
  }

  #changed(
    what: Exclude<SiteChange, "added" | "removed">,
    sensor: Sensor,
    random: SeededRandom,
  ): Sensor {
    switch (what) {
      case "renamed":
        this.#names += 1;
        return { ...sensor, name: `Name ${this.#names}` };
      case "re-typed":
        return { ...sensor, type: sensor.type === WRONG_TYPE ? this.#typeOf(sensor) : WRONG_TYPE };
      case "clamp":
        return { ...sensor, channels: withClamps(sensor.channels, random.pick(CLAMPS)) };
      case "class":
        return { ...sensor, machineClass: random.pick(CLASSES) };
    }
  }

  #typeOf({ code, type }: Sensor): number {
    return this.#whole.sensors.find((sensor) => sensor.code === code)?.type ?? type;
  }

  #note(sensors: readonly Sensor[]): void {
    for (const sensor of [...sensors, ...this.#now.sensors])
      if (!(sensors.includes(sensor) && this.#now.sensors.includes(sensor)))
        this.changed.add(sensor.code);
  }

  #put(sensors: readonly Sensor[]): true {
    this.#note(sensors);
    this.#now = { ...this.#whole, sensors: [...sensors] };
    this.#write();
    return true;
  }

  #write(): void {
    this.writes += 1;
    writeWhole(this.path, this.#now);
  }
}

/** As an editor saves: a reader finds either the complete old text or the complete new one. */
export function writeWhole(path: string, content: unknown): void {
  writeFileSync(`${path}.new`, JSON.stringify(content));
  renameSync(`${path}.new`, path);
}

function suits(what: SiteChange, { channels, machineClass }: Sensor): boolean {
  if (what === "clamp") return Object.values(channels).some(({ clamp }) => clamp !== undefined);
  return what !== "class" || machineClass !== undefined;
}

function withClamps(
  channels: Readonly<Record<string, ChannelConfig>>,
  clamp: number,
): Record<string, ChannelConfig> {
  const entries = Object.entries(channels).map(([name, channel]) => [name, { ...channel, clamp }]);
  return Object.fromEntries(entries) as Record<string, ChannelConfig>;
}
