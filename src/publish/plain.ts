import type { Message } from "../core/ports.ts";
import type { Value } from "../core/reading.ts";
import type { Encode } from "./encoder.ts";
import { createTopics } from "./topics.ts";

export interface PlainEncoderOptions {
  readonly prefix: string;
  readonly site: string;
}

/** One retained message with the bare text per value of a live reading; a bad value clears its topic (contract 6). */
export function createPlainEncoder(options: PlainEncoderOptions): Encode {
  const topics = createTopics(options.prefix, options.site);
  return ({ reading, live }): readonly Message[] => {
    if (!live) return [];
    const values: Record<string, Value> = JSON.parse(reading.values);
    return Object.entries(values).map(([name, value]) => ({
      topic: topics.value(reading.sensor, reading.kind, name),
      payload: value === null ? "" : String(value),
      qos: 1,
      retain: true,
      userProperties: { id: reading.id, kind: reading.kind },
    }));
  };
}
