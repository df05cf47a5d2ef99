import type { Client } from "pg";
import type { Delivery } from "../delivery.ts";
import type { Item, ReadingItem } from "../parse/item.ts";
import { rejected } from "../parse/parse-message.ts";
import { dropConnection, openConnection, withDeadline } from "./connection.ts";
import { Dictionary } from "./dictionary.ts";
import { isConnectionUsable } from "./failure.ts";
import { migrate } from "./migrate.ts";
import { Names } from "./names.ts";
import { Partitions } from "./partitions.ts";
import { type ReadingRow, readingRow } from "./reading-rows.ts";
import { Streams } from "./streams.ts";
import {
  type Rejection,
  writeEvents,
  writeGaps,
  writeRejected,
  writeWaveforms,
} from "./write-others.ts";
import { createStages, type NumberedRow, writeReadings } from "./write-readings.ts";
import {
  Descriptions,
  type Received,
  writeAbouts,
  writeBoxStates,
  writeBoxStats,
  writeSensorStates,
} from "./write-states.ts";

/** A message and its interpretation. */
export interface Entry {
  readonly delivery: Delivery;
  readonly item: Item;
}

/** The effect of a committed batch. */
export interface Written {
  readonly readings: number;
  readonly duplicates: number;
  readonly waveforms: number;
  readonly events: number;
  readonly gaps: number;
  /** Includes those that the writer itself rejected. */
  readonly rejections: readonly Rejection[];
}

/** Writes batches to PostgreSQL, one transaction each. Repeating one changes nothing. */
export class Writer {
  readonly #url: string;
  readonly #streams = new Streams();
  readonly #units = new Dictionary("unit_set");
  readonly #attributes = new Dictionary("attribute_set");
  readonly #descriptions = new Descriptions();
  readonly partitions = new Partitions();
  #client: Client | null = null;
  /** A connection does one thing at a time: maintenance must not get into a batch's transaction. */
  #turn: Promise<unknown> = Promise.resolve();

  constructor(url: string) {
    this.#url = url;
  }

  get isConnected(): boolean {
    return this.#client !== null;
  }

  /** Connects if necessary, with the schema up to date. Rejects if that fails. */
  async open(): Promise<Client> {
    if (this.#client !== null) return this.#client;
    const client = await openConnection(this.#url, "gateside collect");
    try {
      await migrate(client);
      await createStages(client);
    } catch (error) {
      dropConnection(client);
      throw error;
    }
    this.#client = client;
    client.once("end", () => {
      if (this.#client === client) this.#client = null;
    });
    return client;
  }

  async close(): Promise<void> {
    const client = this.#client;
    this.#client = null;
    await client?.end().catch(() => {});
  }

  /** Returns once committed. A batch that failed has changed nothing, except after a COMMIT whose response was lost. */
  write(entries: readonly Entry[]): Promise<Written> {
    return this.#inTurn(() => this.#write(entries));
  }

  async #write(entries: readonly Entry[]): Promise<Written> {
    const client = await this.open();
    try {
      return await withDeadline(client, this.#transaction(client, entries));
    } catch (error) {
      // A partition may have been dropped by another process, a table restored from a backup.
      this.partitions.forget();
      await this.#recover(client, error);
      throw error;
    }
  }

  /** Separate work on the writer's connection, between batches. */
  maintain<T>(work: (client: Client) => Promise<T>): Promise<T> {
    return this.#inTurn(async () => {
      const client = await this.open();
      try {
        return await withDeadline(client, work(client));
      } catch (error) {
        await this.#recover(client, error);
        throw error;
      }
    });
  }

  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const result = this.#turn.then(work);
    this.#turn = result.catch(() => {});
    return result;
  }

  async #recover(client: Client, error: unknown): Promise<void> {
    if (isConnectionUsable(error)) {
      try {
        await withDeadline(client, client.query("ROLLBACK"));
        return;
      } catch {
        // The connection is gone after all.
      }
    }
    if (this.#client === client) this.#client = null;
    dropConnection(client);
  }

  async #transaction(client: Client, entries: readonly Entry[]): Promise<Written> {
    const sorted = sortOut(entries);
    const rows = sorted.items.map(readingRow);
    const streams = await this.#streams.numbersOf(client, sorted.items);
    await this.#units.learn(client, new Set(rows.map(({ unitsText }) => unitsText)));
    await this.#attributes.learn(client, new Set(rows.map(({ attributesText }) => attributesText)));
    await this.partitions.ensure(client, sorted.timesMs);

    const rejections = [...sorted.rejections];
    const numbered: NumberedRow[] = [];
    rows.forEach((row, at) => {
      const stream = streams[at] ?? null;
      if (stream !== null) numbered.push({ row, numbers: this.#numbers(row, stream) });
      else {
        const delivery = sorted.deliveries[at];
        const item = rejected("too_many_streams", `site ${row.item.site} has too many sensors`);
        if (delivery) rejections.push({ delivery, item });
      }
    });

    await client.query("BEGIN");
    const readings = await writeReadings(client, numbered);
    const waveforms = await writeWaveforms(client, sorted.waveforms);
    const events = await writeEvents(client, sorted.events);
    const gaps = await writeGaps(client, sorted.gaps);
    const received = new Date(entries[0]?.delivery.receivedMs ?? Date.now());
    const described = await this.#descriptions.write(client, numbered, received);
    const { abouts, sensorStates, boxStates, boxStats } = sorted;
    const names = await Names.of(client, [...abouts, ...sensorStates, ...boxStates, ...boxStats]);
    await writeAbouts(client, names.named(abouts));
    await writeSensorStates(client, names.named(sensorStates));
    await writeBoxStates(client, names.named(boxStates));
    await writeBoxStats(client, names.named(boxStats));
    await writeRejected(client, rejections);
    await client.query("COMMIT");
    this.#descriptions.remember(described);
    const duplicates = numbered.length - readings;
    return { readings, duplicates, waveforms, events, gaps, rejections };
  }

  #numbers(row: ReadingRow, stream: number): NumberedRow["numbers"] {
    return {
      stream,
      unitSet: this.#units.number(row.unitsText),
      attributeSet: this.#attributes.number(row.attributesText),
    };
  }
}

/** The batch, grouped by the kind of its messages. */
function sortOut(entries: readonly Entry[]) {
  const sorted = {
    /** Readings, and the delivery of each. */
    items: [] as ReadingItem[],
    deliveries: [] as Delivery[],
    waveforms: [] as Extract<Item, { type: "waveform" }>[],
    events: [] as Extract<Item, { type: "event" }>[],
    gaps: [] as Extract<Item, { type: "gap" }>[],
    boxStates: [] as Received<Extract<Item, { type: "boxState" }>>[],
    boxStats: [] as Received<Extract<Item, { type: "boxStats" }>>[],
    sensorStates: [] as Received<Extract<Item, { type: "sensorState" }>>[],
    abouts: [] as Received<Extract<Item, { type: "about" }>>[],
    rejections: [] as Rejection[],
    /** Times that need a partition. */
    timesMs: [] as number[],
  };
  for (const { item, delivery } of entries) {
    const { receivedMs } = delivery;
    switch (item.type) {
      case "reading":
        sorted.items.push(item);
        sorted.deliveries.push(delivery);
        sorted.timesMs.push(item.timeMs);
        break;
      case "waveform":
        sorted.waveforms.push(item);
        sorted.timesMs.push(item.timeMs);
        break;
      case "event":
        sorted.events.push(item);
        sorted.timesMs.push(item.timeMs);
        break;
      case "gap":
        sorted.gaps.push(item);
        break;
      case "boxState":
        sorted.boxStates.push({ item, receivedMs });
        break;
      case "boxStats":
        sorted.boxStats.push({ item, receivedMs });
        break;
      case "sensorState":
        sorted.sensorStates.push({ item, receivedMs });
        break;
      case "about":
        sorted.abouts.push({ item, receivedMs });
        break;
      case "rejected":
        sorted.rejections.push({ item, delivery });
        break;
      case "ignored":
        break;
    }
  }
  return sorted;
}
