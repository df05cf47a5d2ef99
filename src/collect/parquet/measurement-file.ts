import { ByteWriter, ParquetWriter } from "hyparquet-writer";

/** A value of a reading, as in the view `measurement`. */
export interface ParquetRow {
  readonly timeMs: number;
  /** Null in files of a box, which has one site. */
  readonly site: string | null;
  readonly sensor: string;
  readonly kind: string;
  readonly name: string;
  readonly value: number | boolean | string | null;
  readonly unit: string | null;
  readonly quality: string;
  readonly reason: string | null;
  readonly id: string;
}

/** Rows of a group: some 2 MB of memory, and large enough that a reader of one column reads in pieces. */
const GROUP_ROWS = 50_000;

const TEXT = { type: "BYTE_ARRAY", converted_type: "UTF8" } as const;
const required = (name: string) => ({ name, repetition_type: "REQUIRED", ...TEXT }) as const;
const optional = (name: string) => ({ name, repetition_type: "OPTIONAL", ...TEXT }) as const;

const COLUMNS = [
  {
    name: "time",
    repetition_type: "REQUIRED",
    type: "INT64",
    converted_type: "TIMESTAMP_MILLIS",
    // Readers that know only this member take a time without it for local time.
    logical_type: { type: "TIMESTAMP", isAdjustedToUTC: true, unit: "MILLIS" },
  },
  optional("site"),
  required("sensor"),
  required("kind"),
  required("value_name"),
  { name: "number", repetition_type: "OPTIONAL", type: "DOUBLE" },
  optional("text"),
  optional("unit"),
  required("quality"),
  optional("reason"),
  required("id"),
] as const;

/**
 * A Parquet file of measurements, written while it is read: `add` returns bytes whenever a row group is full, `finish`
 * the rest. Contacts are 1 or 0 in `number` and `true` or `false` in `text`, zones a letter in `text`.
 */
export class MeasurementFile {
  readonly #writer = new ByteWriter();
  readonly #file: ParquetWriter;
  #rows: ParquetRow[] = [];

  constructor() {
    this.#file = new ParquetWriter({
      writer: this.#writer,
      schema: [{ name: "root", num_children: COLUMNS.length }, ...COLUMNS],
      createdBy: "gateside",
    });
  }

  /** Bytes to pass on, or null while the group is not full. */
  async add(row: ParquetRow): Promise<Uint8Array | null> {
    this.#rows.push(row);
    return this.#rows.length < GROUP_ROWS ? null : this.#group();
  }

  async finish(): Promise<Uint8Array> {
    const last = this.#rows.length > 0 ? await this.#group() : new Uint8Array();
    await this.#file.finish();
    return Buffer.concat([last, this.#drain()]);
  }

  async #group(): Promise<Uint8Array> {
    const rows = this.#rows;
    this.#rows = [];
    const { length } = rows;
    await this.#file.write({
      columnData: [
        { name: "time", data: rows.map(({ timeMs }) => new Date(timeMs)) },
        { name: "site", data: rows.map(({ site }) => site) },
        { name: "sensor", data: rows.map(({ sensor }) => sensor) },
        { name: "kind", data: rows.map(({ kind }) => kind) },
        { name: "value_name", data: rows.map(({ name }) => name) },
        // A dictionary would treat -0 as 0.
        { name: "number", data: rows.map(({ value }) => numberOf(value)), encoding: "PLAIN" },
        { name: "text", data: rows.map(({ value }) => textOf(value)) },
        { name: "unit", data: rows.map(({ unit }) => unit) },
        { name: "quality", data: rows.map(({ quality }) => quality) },
        { name: "reason", data: rows.map(({ reason }) => reason) },
        { name: "id", data: rows.map(({ id }) => id) },
      ],
      rowGroupSize: length,
    });
    return this.#drain();
  }

  /** What has been encoded; positions in the file use the writer's `offset`, which stays. */
  #drain(): Uint8Array {
    const bytes = new Uint8Array(this.#writer.buffer.slice(0, this.#writer.index));
    this.#writer.index = 0;
    return bytes;
  }
}

function numberOf(value: ParquetRow["value"]): number | null {
  if (typeof value === "number") return value;
  return typeof value === "boolean" ? Number(value) : null;
}

function textOf(value: ParquetRow["value"]): string | null {
  return typeof value === "string" || typeof value === "boolean" ? String(value) : null;
}
