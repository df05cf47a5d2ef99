import type { Measurements } from "../../core/query/measurements.ts";
import type { Keeping, MeasurementPlace } from "../../pipeline/store/keeping.ts";
import type { StoreTables } from "../../pipeline/store/store.ts";
import { idOf, KeptRows, MUST_STAY_RANK } from "./kept-rows.ts";

export type PinOutcome = "done" | "unknown" | "gone" | "full";

export const PINS_MAX = 500;

interface PinsParts {
  readonly tables: StoreTables;
  readonly measurements: Pick<Measurements, "find">;
  readonly keeping: Pick<Keeping, "state">;
  /** False with WAVEFORM_DAYS=0: nothing is kept. */
  readonly isOn: boolean;
}

const IS_PIN = "stream = ? AND time_ms = ? AND reading_id = ? AND why = 'pin'";

/** What people want to keep. */
export class Pins {
  readonly #parts: PinsParts;
  readonly #rows: KeptRows;

  constructor(parts: PinsParts) {
    this.#parts = parts;
    this.#rows = new KeptRows(parts.tables.db);
  }

  /**
   * `unknown` where there are no samples: whoever knows the readings can tell whether there were any.
   * @param note null removes the pin: the measurement leaves with the next thinning, unless something else keeps it
   */
  async set(sensor: string, reading: string, note: string | null): Promise<PinOutcome> {
    const { measurements, tables } = this.#parts;
    const found = measurements.find(sensor, reading);
    const stream = tables.streams.find(sensor, "accel")?.stream;
    if (found === null || stream === undefined) return "unknown";
    const place = { stream, timeMs: found.timeMs, id: found.reading };
    return tables.queue.soon(note === null ? "unpin a measurement" : "pin a measurement", () => {
      // Retention may have taken it while a lock was waited for.
      if (this.#rows.kept(place) === null && !this.#rows.hasSamples(place)) return "unknown";
      return note === null ? this.#remove(place) : this.#add(place, note);
    });
  }

  #add(place: MeasurementPlace, note: string): PinOutcome {
    const { isOn, keeping, tables } = this.#parts;
    const rows = this.#rows;
    if (!isOn) return "gone";
    const at = [place.stream, place.timeMs, idOf(place.id)];
    const again = tables.db.write(`UPDATE kept_marks SET note = ? WHERE ${IS_PIN}`);
    if (again.run(note, ...at).changes > 0) return "done";
    const kept = rows.kept(place);
    const bytes = kept?.bytes ?? rows.bytesOf(place);
    const added = kept?.rank === MUST_STAY_RANK ? 0 : bytes;
    const taken = rows.bytesAbove(MUST_STAY_RANK, -1e15) + rows.bytesHeld;
    if (rows.pins >= PINS_MAX || taken + added > keeping.state.limitBytes) return "full";
    const insert = tables.db.write("INSERT INTO kept_marks VALUES (?, ?, ?, 'pin', '', ?, ?, ?)");
    insert.run(...at, note, MUST_STAY_RANK, kept === null ? bytes : 0);
    rows.rerank(place);
    return "done";
  }

  #remove(place: MeasurementPlace): PinOutcome {
    const remove = this.#parts.tables.db.write(`DELETE FROM kept_marks WHERE ${IS_PIN}`);
    remove.run(place.stream, place.timeMs, idOf(place.id));
    this.#rows.rerank(place);
    return "done";
  }
}
