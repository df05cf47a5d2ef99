import { EVENT_KIND } from "../../../core/delivery/event-kind.ts";
import { parsedObject } from "../../../core/parsed-json.ts";
import { type Kind, normalCode } from "../../../core/sensor.ts";
import type { Database } from "./database.ts";

export interface Stream {
  readonly stream: number;
  /** As the site file spells it now: leading zeros do not count. */
  sensor: string;
  readonly kind: Kind;
}

interface UnitSet {
  readonly unitSet: number;
  readonly units: string;
}

/** Alarm events are registered like a kind, though no poll and no query knows it. */
export const EVENT_STREAM_KIND = EVENT_KIND as string as Kind;

/** Small numbers for what repeats in every row: sensor and kind, and the units of a reading. */
export class Streams {
  readonly #db: Database;
  readonly #byKey = new Map<string, Stream>();
  readonly #byNumber = new Map<number, Stream>();
  readonly #unitSets = new Map<string, number>();
  readonly #units = new Map<number, string>();
  /** The site's spelling by the normalised code. */
  #spelling: ReadonlyMap<string, string> = new Map();
  #highest = 0;
  #highestUnitSet = 0;

  constructor(db: Database) {
    this.#db = db;
  }

  /** Adds those on disk. Numbers assigned but not yet written stay assigned. */
  load(): void {
    const sql = "SELECT stream, sensor, kind FROM streams";
    for (const stream of this.#db.read<Stream>(sql).all()) this.#remember(stream);
    const unitSets = "SELECT unit_set AS unitSet, units FROM unit_sets";
    for (const { unitSet, units } of this.#db.read<UnitSet>(unitSets).all()) {
      this.#rememberUnits(unitSet, units);
      if (parsedObject(units) !== null) continue;
      this.#db.damaged.found("unit_sets", unitSet);
      this.#units.set(unitSet, "{}");
    }
  }

  /**
   * Adds what another process wrote since: one look-up at the end of the table. Numbers are assigned in ascending
   * order.
   */
  loadNewer(): void {
    const sql = "SELECT stream, sensor, kind FROM streams WHERE stream > ?";
    for (const stream of this.#db.read<Stream>(sql).all(this.#highest)) this.#remember(stream);
  }

  /** From now on codes are spelt like this; what is pending, too. Others keep the spelling in which they were stored. */
  spell(codes: readonly string[]): void {
    this.#spelling = new Map(codes.map((code) => [normalCode(code), code]));
    for (const stream of this.#byNumber.values()) stream.sensor = this.#spelt(stream.sensor);
  }

  /** Numbers of all kinds of a sensor. */
  ofSensor(sensor: string): number[] {
    const code = normalCode(sensor);
    const own = [...this.#byNumber.values()].filter((one) => normalCode(one.sensor) === code);
    return own.map(({ stream }) => stream);
  }

  #spelt(sensor: string): string {
    return this.#spelling.get(normalCode(sensor)) ?? sensor;
  }

  #remember(stream: Stream): void {
    stream.sensor = this.#spelt(stream.sensor);
    this.#byKey.set(keyOf(stream.sensor, stream.kind), stream);
    this.#byNumber.set(stream.stream, stream);
    this.#highest = Math.max(this.#highest, stream.stream);
  }

  #rememberUnits(unitSet: number, units: string): void {
    this.#unitSets.set(units, unitSet);
    this.#units.set(unitSet, units);
    this.#highestUnitSet = Math.max(this.#highestUnitSet, unitSet);
  }

  find(sensor: string, kind: Kind): Stream | null {
    return this.#byKey.get(keyOf(sensor, kind)) ?? null;
  }

  get(stream: number): Stream {
    return this.#byNumber.get(stream) ?? this.#reload(stream);
  }

  /** A reader of a running agent's store finds streams that are newer than its memory. */
  #reload(stream: number): Stream {
    this.load();
    const found = this.#byNumber.get(stream);
    if (found === undefined) throw new Error(`stream ${stream} is not in the store`);
    return found;
  }

  all(): readonly Stream[] {
    return [...this.#byNumber.values()];
  }

  units(unitSet: number): string {
    const known = this.#units.get(unitSet);
    if (known !== undefined) return known;
    this.load();
    return this.#units.get(unitSet) ?? "{}";
  }

  /** Number of a sensor and kind, assigned on first use; it is written by `write` in the caller's transaction. */
  intern(sensor: string, kind: Kind): Stream {
    const known = this.find(sensor, kind);
    if (known !== null) return known;
    const stream = { stream: this.#highest + 1, sensor, kind };
    this.#remember(stream);
    return stream;
  }

  internUnits(units: string): number {
    const known = this.#unitSets.get(units);
    if (known !== undefined) return known;
    const unitSet = this.#highestUnitSet + 1;
    this.#rememberUnits(unitSet, units);
    return unitSet;
  }

  /** In the transaction that first uses them. A number stays assigned if that one fails: the next writes it. */
  write(stream: Stream): void {
    this.#db
      .write(
        `INSERT INTO streams (stream, sensor, kind) VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET sensor = excluded.sensor
         WHERE streams.sensor <> excluded.sensor AND streams.stream = excluded.stream`,
      )
      .run(stream.stream, stream.sensor, stream.kind);
  }

  writeUnits(unitSet: number): void {
    this.#db
      .write("INSERT OR IGNORE INTO unit_sets (unit_set, units) VALUES (?, ?)")
      .run(unitSet, this.units(unitSet));
  }
}

function keyOf(sensor: string, kind: Kind): string {
  return `${normalCode(sensor)}/${kind}`;
}
