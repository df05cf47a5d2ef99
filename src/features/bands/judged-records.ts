/**
 * Up to which record each sensor's have been judged for good: those of a machine that stood get no bands, and are not looked at
 * again at each start and reload for as long as their samples are stored. One of another machine, or of other signals, is.
 */

import { canonicalJson } from "../../core/configuration/site-difference.ts";
import { normalCode, type Sensor } from "../../core/sensor.ts";
import type { Site } from "../../core/site.ts";
import type { BandMakerParts, Candidates } from "./band-maker-parts.ts";

const FOLDER = "bands-judged";
/** Records between two writes: a write is a commit of its own. */
const RECORDS_PER_WRITE = 50;

export class JudgedRecords {
  readonly #memory: BandMakerParts["memory"];
  /** By normalised code: the newest judged record, and how many were judged since that was written. */
  readonly #judged = new Map<string, { seq: number; unwritten: number }>();

  constructor(memory: BandMakerParts["memory"]) {
    this.#memory = memory;
  }

  /** The newest record of a sensor up to which all are judged; -Infinity where that is not known. */
  upTo(site: Site, sensor: Sensor): number {
    const [seq = "", text] = (this.#memory.get(nameOf(sensor)) ?? "").split("\n");
    const written = text === textOf(site, sensor) && seq !== "" ? Number(seq) : Number.NaN;
    if (!Number.isNaN(written)) return written;
    this.#judged.delete(normalCode(sensor.code));
    return Number.NEGATIVE_INFINITY;
  }

  /** A record was judged for good, and these still wait. */
  done(site: Site, sensor: Sensor, seq: number, { waiting, unknown }: Candidates): void {
    const code = normalCode(sensor.code);
    const known = this.#judged.get(code) ?? { seq: Number.NEGATIVE_INFINITY, unwritten: 0 };
    const next = { seq: Math.max(known.seq, seq), unwritten: known.unwritten + 1 };
    this.#judged.set(code, next);
    if (next.unwritten < RECORDS_PER_WRITE) return;
    const oldest = Math.min(
      ...[...waiting, ...unknown].filter((one) => one.seq !== seq).map((one) => one.seq),
    );
    const upTo = Math.min(next.seq, oldest - 1);
    if (upTo <= this.upTo(site, sensor)) return;
    this.#memory.set(nameOf(sensor), `${upTo}\n${textOf(site, sensor)}`);
    this.#judged.set(code, { ...next, unwritten: 0 });
  }
}

/** What decides whether a record gets bands: its machine's state and speed, and the sensor's bands. */
function textOf({ machines = [] }: Site, { location, bands }: Sensor): string {
  const machine = machines.find(({ id }) => id === location?.machine);
  return canonicalJson([machine?.running ?? null, machine?.speed ?? null, bands?.bands ?? null]);
}

function nameOf({ code }: Pick<Sensor, "code">): string {
  return `${FOLDER}/${normalCode(code)}`;
}
