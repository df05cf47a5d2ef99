/** What becomes of each record of a response: rejected, known already, or a reading of its batch. */

import type { Reading } from "../../core/reading.ts";
import { findReject, readingId, readingTime } from "../../core/record/identity.ts";
import type { RawRecord, RejectReason } from "../../core/record.ts";
import type { Metrics } from "../../lib/metrics.ts";
import { openGate, type SecretGate } from "../../lib/secrets.ts";
import { type ReadingContext, readingSteps, toReading } from "../convert/to-reading.ts";
import type { DayItem } from "../decode/day-reader.ts";
import type { DftPlans } from "../signal/fft.ts";
import type { WantedTones } from "../signal/tones.ts";
import type { ReadRequest, Rejected } from "./day-read.ts";
import { LARGE_RECORD_SAMPLES } from "./large-records.ts";
import type { ResponseBatch } from "./response-batch.ts";
import type { TimeSlice } from "./time-slice.ts";

export interface RecordTakerParts {
  readonly metrics: Metrics;
  /** Transform tables, shared by all records. */
  readonly plans: DftPlans;
  /** Which tones of this sensor's records diagnosis needs; absent if there is no diagnosis. */
  readonly wantedTones?: (sensor: string) => WantedTones;
  /** Removes secrets from displayed parts of a record or response; absent if none are configured. */
  readonly gate?: SecretGate;
}

/** The read that the records belong to. */
interface TakingRead {
  /** Returns the reason in words. */
  reject(reason: RejectReason, detail: string): string;
  /** Resolves once it may hold a large record. */
  takeLarge(): Promise<void>;
  readonly slice: TimeSlice;
}

export class RecordTaker {
  readonly #parts: RecordTakerParts;
  readonly #request: ReadRequest;
  readonly #read: TakingRead;
  /** Null while the read has found no record. */
  #rejected: Rejected | null = null;

  constructor(parts: RecordTakerParts, request: ReadRequest, read: TakingRead) {
    this.#parts = parts;
    this.#request = request;
    this.#read = read;
  }

  take(item: DayItem, batch: ResponseBatch, gatewayNowMs: number): void | Promise<void> {
    const { metrics } = this.#parts;
    if ("reject" in item) return this.#reject(item.reject.reason, item.reject.detail);
    const { record } = item;
    for (const fault of record.faults) metrics.fieldFaults.inc({ reason: fault.reason });
    const { sensor } = this.#request;
    const time = readingTime(record);
    const reject = findReject(record, sensor.code);
    if (reject !== null || time === null) {
      const reason = reject?.reason ?? "no_time";
      return this.#reject(reason, reject?.detail ?? "no plausible time");
    }
    this.#rejected = { count: 0, isAfterUsable: true, reason: "" };
    const id = readingId(sensor.code, this.#request.kind, time.time.ms, record);
    batch.hashes.push(item.bytesHash);
    const isKnown = batch.writer.isKnown(time.time.ms, id) || batch.holds(id);
    const { wanted } = this.#request;
    if (isKnown && wanted?.has(id) !== true) return;
    const context: ReadingContext = {
      id,
      time: time.time,
      timeSource: time.source,
      gatewayNowMs,
      plans: this.#parts.plans,
      tones: this.#parts.wantedTones?.(sensor.code) ?? false,
    };
    const take = (reading: Reading) =>
      isKnown ? wanted?.take(reading) : batch.add(this.#clean(reading));
    if (record.channels.length > 0) return this.#takeSamples(record, take, context);
    return take(toReading(record, sensor, context));
  }

  #reject(reason: RejectReason, detail: string): void {
    const { count, isAfterUsable } = this.#rejected ?? { count: 0, isAfterUsable: false };
    const shown = this.#read.reject(reason, detail);
    this.#rejected = { count: count + 1, isAfterUsable, reason: shown };
  }

  async #takeSamples(
    record: RawRecord,
    take: (reading: Reading) => void | Promise<void>,
    context: ReadingContext,
  ): Promise<void> {
    if (samplesOf(record) > LARGE_RECORD_SAMPLES) await this.#read.takeLarge();
    const { slice } = this.#read;
    if (slice.isOver) await slice.yieldToLoop();
    const steps = readingSteps(record, this.#request.sensor, context);
    let step = steps.next();
    while (step.done !== true) {
      if (slice.isOver) await slice.yieldToLoop();
      step = steps.next();
    }
    await take(step.value);
  }

  /** Texts of a record are published with its reading: they must not repeat what we sent. */
  #clean(reading: Reading): Reading {
    const { gate = openGate } = this.#parts;
    if (gate.isEmpty) return reading;
    return {
      ...reading,
      attributes: gate.redactValue(reading.attributes),
      raw: gate.redactValue(reading.raw),
    };
  }

  /** A day that is read completely shows its rejected records again each time: they count once, and only if it has no others. */
  rejectedOf(records: number, isReadWhole: boolean): Rejected | null {
    const { count = 0, reason = "" } = this.#rejected ?? {};
    if (!isReadWhole) return this.#rejected;
    return { count: records > count ? 0 : count, isAfterUsable: true, reason };
  }
}

function samplesOf({ channels }: RawRecord): number {
  let samples = 0;
  for (const channel of channels) if (channel.state === "ok") samples += channel.samples.length;
  return samples;
}
