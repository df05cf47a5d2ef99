/** Alarms with fixed limits against a plain evaluation of the readings that were seen stored. */
import type Sqlite from "better-sqlite3";
import { dayOf } from "../../src/core/time/time-zone.ts";
import { ALARMS } from "../chaos/scenes.ts";

interface Row {
  readonly id: string;
  readonly sensor: string;
  readonly kind: string;
  readonly timeMs: number;
  readonly values: string;
  readonly quality: string;
  readonly storedAtMs: number;
}
interface StoredEvent {
  readonly alarm: string;
  readonly sensor: string;
  readonly kind: string;
  readonly value: string;
  readonly readingId: string;
  readonly state: string;
  readonly historical: boolean;
}
type Side = "high" | "low" | null;

const ROWS_SQL = `SELECT lower(hex(r.id)) AS id, s.sensor AS sensor, s.kind AS kind, r.time_ms AS timeMs, r."values" AS "values", r.quality AS quality,
  r.stored_at_ms AS storedAtMs FROM readings r JOIN streams s USING (stream) WHERE r.seq > ? AND (s.kind = 'event' OR r.is_future = 0) ORDER BY r.seq`;
/** The same value in records of several kinds of a sensor: their order among each other is not that of one kind. */
const SHARED = ["battery", "batteryV"];

export class PlainAlarms {
  readonly #zone: string;
  readonly #newest = new Map<string, number>();
  readonly #sides = new Map<string, Side>();
  /** Transitions by sensor, each as alarm, value, reading and state. */
  readonly #right = new Map<string, Set<string>>();
  readonly #told = new Map<string, Set<string>>();

  /** @param zone of the gateway's days */
  constructor(zone: string) {
    this.#zone = zone;
  }

  /** Those stored since `seq`. */
  note(db: Sqlite.Database, seq: number): void {
    for (const row of inOrderOfTime(db.prepare<[number], Row>(ROWS_SQL).all(seq), this.#zone)) {
      if (row.kind === "event") this.#tell(JSON.parse(row.values));
      else this.#follow(row);
    }
  }

  /** What a sensor's alarms did, unless it is one of those whose configuration changed. */
  wrong(changed: ReadonlySet<string>): string[] {
    const sensors = new Set([...this.#right.keys(), ...this.#told.keys()]);
    return [...sensors]
      .filter((sensor) => !changed.has(sensor))
      .flatMap((sensor) => {
        const right = this.#right.get(sensor) ?? new Set<string>();
        const told = this.#told.get(sensor) ?? new Set<string>();
        return [
          ...[...right].filter((one) => !told.has(one)).map((one) => `${sensor}: no event ${one}`),
          ...[...told].filter((one) => !right.has(one)).map((one) => `${sensor}: event ${one}`),
        ];
      });
  }

  #tell({ alarm, sensor, value, readingId, state, historical }: StoredEvent): void {
    if (historical || SHARED.includes(value) || !ALARMS.some(({ name }) => name === alarm)) return;
    add(this.#told, sensor, `${alarm} ${value} ${readingId} ${state}`);
  }

  /** What is older than a reading that its kind has followed changes nothing. */
  #follow({ id, sensor, kind, timeMs, values, quality }: Row): void {
    const stream = `${sensor} ${kind}`;
    if (timeMs <= (this.#newest.get(stream) ?? Number.NEGATIVE_INFINITY)) return;
    this.#newest.set(stream, timeMs);
    const rules = ALARMS.filter(({ select }) => (select.kinds as readonly string[]).includes(kind));
    if (rules.length === 0) return;
    const qualities: Record<string, { quality: string }> = JSON.parse(quality);
    for (const [value, measured] of Object.entries(JSON.parse(values) as Record<string, unknown>)) {
      if (typeof measured !== "number" || qualities[value]?.quality === "bad") continue;
      if (SHARED.includes(value)) continue;
      for (const rule of rules) {
        if ("values" in rule.select && !(rule.select.values as readonly string[]).includes(value))
          continue;
        const key = `${stream} ${rule.name} ${value}`;
        const before = this.#sides.get(key) ?? null;
        const after = sideOf(rule, measured, before);
        this.#sides.set(key, after);
        if (after !== before)
          add(
            this.#right,
            sensor,
            `${rule.name} ${value} ${id} ${after === null ? "cleared" : "active"}`,
          );
      }
    }
  }
}

/**
 * A response may come newest first: its readings have one time of storing, and alarms follow them in the order of their own
 * times. Responses of several days, stored in one transaction, are followed one after the other.
 */
function inOrderOfTime(rows: readonly Row[], zone: string): Row[] {
  const responses = new Map<string, Row[]>();
  for (const row of rows) {
    const { storedAtMs, sensor, kind, timeMs } = row;
    const response = `${storedAtMs} ${sensor} ${kind} ${dayOf(timeMs, zone)}`;
    const known = responses.get(response);
    if (known === undefined) responses.set(response, [row]);
    else known.push(row);
  }
  return [...responses.values()].flatMap((response) =>
    response.sort((a, b) => a.timeMs - b.timeMs),
  );
}

/** Beyond a limit, or not yet back from it by the hysteresis. */
function sideOf(
  rule: { readonly high?: number; readonly low?: number; readonly hysteresis?: number },
  value: number,
  before: Side,
): Side {
  const { high = Number.POSITIVE_INFINITY, low = Number.NEGATIVE_INFINITY, hysteresis = 0 } = rule;
  if (value > high) return "high";
  if (value < low) return "low";
  // Decimal fractions have no exact doubles.
  if (before === "high" && value > high - hysteresis + 1e-9) return "high";
  if (before === "low" && value < low + hysteresis - 1e-9) return "low";
  return null;
}

function add(all: Map<string, Set<string>>, key: string, one: string): void {
  const set = all.get(key) ?? new Set<string>();
  all.set(key, set.add(one));
}
