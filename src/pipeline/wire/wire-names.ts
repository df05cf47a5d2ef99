import type { PolledKind } from "../../core/sensor.ts";
import { withoutSlashes } from "../../core/text/text-ends.ts";
import { API_OPERATIONS, API_SERVICE, type Field, RECORD_FIELDS } from "./names.ts";

export interface WireNameOptions {
  /** The vendor's word for which the neutral name says sensor (WIRE_WORD). */
  readonly word: string;
  /** Path of the gateway service (GATEWAY_SERVICE). */
  readonly service: string;
}

/** Finds the field for a member of a record, in two steps (services section 2, rule 5). */
export interface FieldLookup {
  /** By the exact name, with either word. */
  readonly exact: ReadonlyMap<string, Field>;
  /** By the name in lower case. */
  readonly folded: ReadonlyMap<string, Field>;
}

/** The name of this operation contains the word in every vendor's interface (contract section 3). */
const KEEPS_WORD: ReadonlySet<string> = new Set([API_OPERATIONS.dataBySensor]);

export function createWireNames(options: WireNameOptions): WireNames {
  return new WireNames(options);
}

/** Converts between neutral names and wire names, for one vendor's word. Create one and share it. */
export class WireNames {
  readonly word: string;
  readonly #lower: string;
  readonly #upper: string;
  readonly #service: string;
  readonly #records = new Map<PolledKind, FieldLookup>();

  constructor({ word, service }: WireNameOptions) {
    // A word in capitals has no letter case to preserve.
    const plain = word === word.toUpperCase() ? word.toLowerCase() : word;
    this.word = word;
    this.#lower = plain.charAt(0).toLowerCase() + plain.slice(1);
    this.#upper = plain.charAt(0).toUpperCase() + plain.slice(1);
    this.#service = withoutSlashes(service);
  }

  /** The vendor's spelling of a field or operation. */
  wire(neutral: string): string {
    if (KEEPS_WORD.has(neutral)) return neutral;
    // In one pass: the vendor's word may contain ours, as smartSensor does.
    return neutral.replace(/sensor/gi, (found) => (found === "sensor" ? this.#lower : this.#upper));
  }

  /**
   * Which of `neutrals` a wire name stands for, with either word: the exact one, otherwise ignoring case; undefined if
   * none.
   */
  neutral(wireName: string, neutrals: readonly string[]): string | undefined {
    for (const name of neutrals) if (wireName === name || wireName === this.wire(name)) return name;
    const folded = wireName.toLowerCase();
    return neutrals.find(
      (name) => folded === name.toLowerCase() || folded === this.wire(name).toLowerCase(),
    );
  }

  /** An object's member by its neutral name: exact wire name first, then exact neutral, then any letter case. */
  member(object: Readonly<Record<string, unknown>>, neutral: string): unknown {
    const wire = this.wire(neutral);
    if (Object.hasOwn(object, wire)) return object[wire];
    if (Object.hasOwn(object, neutral)) return object[neutral];
    const wanted = [wire.toLowerCase(), neutral.toLowerCase()];
    const name = Object.keys(object).find((key) => wanted.includes(key.toLowerCase()));
    return name === undefined ? undefined : object[name];
  }

  /** The same object under the vendor's names. */
  toWire(fields: Readonly<Record<string, unknown>>): Record<string, unknown> {
    return Object.fromEntries(
      Object.entries(fields).map(([name, value]) => [this.wire(name), value]),
    );
  }

  /** Path of a gateway operation below the base address, with no leading slash. */
  gatewayPath(operation: string): string {
    return `${this.#service}/${this.wire(operation)}`;
  }

  /** Path of an analytics operation, with no leading slash. */
  apiPath(operation: string): string {
    return `${API_SERVICE}/${this.wire(operation)}`;
  }

  recordFields(kind: PolledKind): FieldLookup {
    const made = this.#records.get(kind);
    if (made) return made;
    const exact = new Map<string, Field>();
    const folded = new Map<string, Field>();
    for (const [name, type] of Object.entries(RECORD_FIELDS[kind])) {
      const field = { name, type };
      for (const spelling of [name, this.wire(name)]) {
        exact.set(spelling, field);
        folded.set(spelling.toLowerCase(), field);
      }
    }
    const lookup = { exact, folded };
    this.#records.set(kind, lookup);
    return lookup;
  }
}
