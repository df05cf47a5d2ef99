/** States of nodes from further read operations of the gateway's service (plant section 14). */

import type { DayResponse } from "../../core/day.ts";
import type { StateSource } from "../../core/ports.ts";
import type { JsonValue } from "../../core/record.ts";
import { type Sensor, type ServiceStateRead, sameCode } from "../../core/sensor.ts";
import type { Metrics } from "../../lib/metrics.ts";
import type { SecretGate } from "../../lib/secrets.ts";
import { Oddities } from "../../pipeline/decode/scalars.ts";
import type { WireNames } from "../../pipeline/wire/wire-names.ts";
import { readStateResponse } from "./rules/state-response.ts";
import { codeOf, type StateSample, sampleOfRecord } from "./rules/state-sample.ts";

export interface ServiceStatesParts {
  readonly source: StateSource;
  readonly names: WireNames;
  readonly metrics: Metrics;
  readonly gate: SecretGate;
  /** GATEWAY_EMPTY_STATUSES. */
  readonly emptyStatuses: ReadonlySet<number>;
}

export interface ServiceResponse {
  /** By time; at the end the last one of those without a time. */
  readonly samples: readonly StateSample[];
  /** Records received, usable or not. */
  readonly records: number;
  /** The gateway's clock, ms UTC; null where it sent none. */
  readonly gatewayTimeMs: number | null;
}

export class ServiceStates {
  readonly #parts: ServiceStatesParts;

  constructor(parts: ServiceStatesParts) {
    this.#parts = parts;
  }

  /** One response. Rejects with a CallFailure. `date` null asks without a day. */
  async read(
    sensor: Sensor,
    read: ServiceStateRead,
    date: string | null,
    signal: AbortSignal,
  ): Promise<ServiceResponse> {
    const { source, names, emptyStatuses, gate, metrics } = this.#parts;
    const { operation } = read;
    const response = await source.readState({ sensor, operation, date }, signal);
    const oddities = new Oddities();
    const redact = (text: string) => gate.redact(text);
    const { records, rejected } = readStateResponse(await wholeBody(response), {
      operation,
      names,
      oddities,
      emptyStatuses,
      redact,
    });
    if (rejected > 0) metrics.rejected.inc({ reason: "not_an_object" }, rejected);
    const samples: StateSample[] = [];
    for (const record of records) {
      if (!this.#isOwn(record, sensor)) continue;
      const sample = sampleOfRecord(record, read.fields, { names, oddities, redact });
      if (sample !== null) samples.push(sample);
    }
    for (const [oddity, count] of Object.entries(oddities.counts)) {
      metrics.wireOddities.inc({ oddity }, count);
    }
    return {
      samples: inOrder(samples),
      records: records.length + rejected,
      gatewayTimeMs: response.gatewayTimeMs,
    };
  }

  #isOwn(record: JsonValue, sensor: Sensor): boolean {
    const code = codeOf(record, this.#parts.names);
    if (code === null || sameCode(code, sensor.code)) return true;
    this.#parts.metrics.rejected.inc({ reason: "foreign_record" });
    return false;
  }
}

function inOrder(samples: readonly StateSample[]): StateSample[] {
  const timed = samples.flatMap((sample) =>
    sample.time === null ? [] : [{ sample, timeMs: sample.time.ms }],
  );
  const untimed = samples.findLast(({ time }) => time === null);
  // Stable: records of one time keep their order in the response.
  const sorted = timed.sort((a, b) => a.timeMs - b.timeMs).map(({ sample }) => sample);
  return untimed === undefined ? sorted : [...sorted, untimed];
}

/** The client limits its size. Pieces are copied: their memory is reused. */
async function wholeBody({ body }: DayResponse): Promise<Buffer> {
  const pieces: Buffer[] = [];
  for await (const piece of body) pieces.push(Buffer.from(piece));
  return Buffer.concat(pieces);
}
