import type { Logger } from "../../core/ports.ts";
import { messageOf } from "../../core/thrown.ts";
import type { Received } from "../parse/item.ts";
import { rejected } from "../parse/parse-message.ts";
import { dropConnection, isLost } from "./connection.ts";
import { withUnits } from "./described-units.ts";
import { asConnectionFailure, failureKind, isConnectionUsable } from "./failure.ts";
import { markHours } from "./hours.ts";
import { Names } from "./names.ts";
import { readingRow } from "./reading-rows.ts";
import { arrivalMs, begin, type DatabaseSession, openSession } from "./session.ts";
import { type Entry, sortOut } from "./sorted-batch.ts";
import { DatabaseWatch, type WatchTimes } from "./watch.ts";
import { noteHeard, writeMachines } from "./write-machines.ts";
import {
  type Rejection,
  writeEvents,
  writeGaps,
  writeRejected,
  writeWaveforms,
} from "./write-others.ts";
import { type NumberedRow, writeReadings } from "./write-readings.ts";
import { writeAbouts, writeBoxStates, writeBoxStats, writeSensorStates } from "./write-states.ts";

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
  readonly #logger: Logger | null;
  readonly #watch: DatabaseWatch;
  #session: DatabaseSession | null = null;
  /** Of the connection before. */
  #failure: string | null = null;
  /** Why the newest batch has to be written again over a connection that works. */
  #refusal: string | null = null;
  #skewMs = 0;
  /** A connection does one thing at a time: maintenance must not get into a batch's transaction. */
  #turn: Promise<unknown> = Promise.resolve();

  constructor(url: string, logger: Logger | null = null, times?: WatchTimes) {
    this.#url = url;
    this.#logger = logger;
    this.#watch = new DatabaseWatch(url, logger, times);
  }

  /** Why batches cannot be written at present; null if nothing is known against it. */
  get problem(): string | null {
    if (this.#session === null) return this.#failure ?? "not connected";
    const { waitsFor } = this.#watch;
    return waitsFor === null ? this.#refusal : `waits for ${waitsFor}`;
  }

  /** The database's clock minus ours, as far as it is known, ms. */
  get skewMs(): number {
    if (this.#session !== null) this.#skewMs = this.#session.skewMs;
    return this.#skewMs;
  }

  /** Connects if necessary, with the schema up to date. Rejects if that fails. */
  async open(): Promise<DatabaseSession> {
    if (this.#session !== null) return this.#session;
    const session = await this.#open();
    this.#session = session;
    this.#failure = null;
    session.client.once("end", () => this.#forget(session));
    return session;
  }

  async #open(): Promise<DatabaseSession> {
    try {
      return await openSession(this.#url, this.#logger);
    } catch (error) {
      this.#failure = messageOf(error);
      throw error;
    }
  }

  async close(): Promise<void> {
    const session = this.#session;
    this.#session = null;
    await Promise.all([session?.client.end().catch(() => {}), this.#watch.close()]);
  }

  /** Returns once committed. A batch that failed has changed nothing, except after a COMMIT whose response was lost. */
  write(entries: readonly Entry[]): Promise<Written> {
    return this.#inTurn(() => this.#write(entries));
  }

  async #write(entries: readonly Entry[]): Promise<Written> {
    try {
      const written = await this.#use((session) => transaction(session, entries));
      this.#refusal = null;
      return written;
    } catch (error) {
      // A message that is refused is set aside, and the rest is accepted.
      this.#refusal = failureKind(error) === "data" ? null : messageOf(error);
      throw error;
    }
  }

  /** Separate work on the writer's connection, between batches. */
  maintain<T>(work: (session: DatabaseSession) => Promise<T>): Promise<T> {
    return this.#inTurn(() => this.#use(work));
  }

  async #use<T>(work: (session: DatabaseSession) => Promise<T>): Promise<T> {
    const session = await this.open().catch((error: unknown) => {
      throw asConnectionFailure(error);
    });
    try {
      return await this.#watched(session, work(session));
    } catch (error) {
      const failure = isLost(session.client) ? asConnectionFailure(error) : error;
      await this.#recover(session, failure);
      throw failure;
    }
  }

  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const result = this.#turn.then(work);
    this.#turn = result.catch(() => {});
    return result;
  }

  async #recover(session: DatabaseSession, error: unknown): Promise<void> {
    // A partition may have been dropped by another process.
    session.partitions.forget();
    if (isConnectionUsable(error)) {
      try {
        await this.#watched(session, session.client.query("ROLLBACK"));
        return;
      } catch {
        // The connection is gone after all.
      }
    }
    this.#failure = messageOf(error);
    this.#forget(session);
    dropConnection(session.client);
  }

  #watched<T>({ client, backend }: DatabaseSession, work: Promise<T>): Promise<T> {
    return this.#watch.during(client, backend, work);
  }

  #forget(session: DatabaseSession): void {
    if (this.#session === session) this.#session = null;
  }
}

async function transaction(session: DatabaseSession, entries: readonly Entry[]): Promise<Written> {
  const { client, streams, units, attributes, descriptions, partitions } = session;
  const sorted = sortOut(entries, session.horizonMs);
  const items = await withUnits(client, sorted.items, sorted.abouts);
  const rows = items.map(readingRow);
  const numbers = await streams.numbersOf(client, sorted.items);
  await units.learn(client, new Set(rows.map(({ unitsText }) => unitsText)));
  await attributes.learn(client, new Set(rows.map(({ attributesText }) => attributesText)));
  await partitions.ensure(client, sorted.timesMs);

  const rejections = [...sorted.rejections];
  const numbered: NumberedRow[] = [];
  rows.forEach((row, at) => {
    const stream = numbers[at] ?? null;
    if (stream !== null) {
      const unitSet = units.number(row.unitsText);
      const attributeSet = attributes.number(row.attributesText);
      numbered.push({ row, numbers: { stream, unitSet, attributeSet } });
      return;
    }
    const delivery = sorted.deliveries[at];
    const { site } = row.item;
    const item = rejected("too_many_streams", `site ${site} has too many sensors`);
    if (delivery) rejections.push({ delivery, item: { ...item, site } });
  });

  if (await begin(session)) {
    await client.query("ROLLBACK");
    return transaction(session, entries);
  }
  const nowMs = Date.now() + Math.max(0, session.skewMs);
  const readings = await writeReadings(client, numbered, nowMs);
  const waveforms = await writeWaveforms(client, sorted.waveforms);
  const events = await writeEvents(client, sorted.events);
  const gaps = await writeGaps(client, sorted.gaps);
  const received = new Date(arrivalMs(session, entries[0]?.delivery.receivedMs ?? Date.now()));
  const described = await descriptions.write(client, numbered, received);
  const arrived = <T>(all: readonly Received<T>[]) =>
    all.map((one) => ({ ...one, receivedMs: arrivalMs(session, one.receivedMs) }));
  const abouts = arrived(sorted.abouts);
  const sensorStates = arrived(sorted.sensorStates);
  const boxStates = arrived(sorted.boxStates);
  const boxStats = arrived(sorted.boxStats);
  const names = await Names.of(client, [...abouts, ...sensorStates, ...boxStates, ...boxStats]);
  await writeAbouts(client, names.named(abouts));
  await writeSensorStates(client, names.named(sensorStates));
  await writeBoxStates(client, names.named(boxStates));
  await writeBoxStats(client, names.named(boxStats));
  await writeMachines(client, arrived(sorted.machines));
  await noteHeard(client, [...sorted.sites].sort());
  await writeRejected(client, rejections);
  await markHours(client, numbered);
  await client.query("COMMIT");
  descriptions.remember(described);
  const duplicates = numbered.length - readings;
  return { readings, duplicates, waveforms, events, gaps, rejections };
}
