import type { Message } from "../../core/message.ts";
import type { Value } from "../../core/reading.ts";
import { fromSite } from "../../core/site-source.ts";
import type { Encode } from "./encoder.ts";
import { createSiteTopics, type Naming, sensorsOf } from "./naming.ts";
import type { ValueFilter } from "./value-filter.ts";

export interface PlainEncoderOptions extends Naming {
  /** False if the uplink does not accept retained messages. */
  readonly retain?: boolean;
  /** Readings of removed sensors are not retained. */
  readonly clearRemoved?: boolean;
  /** The values that the uplink selects; by default all. */
  readonly isWanted?: ValueFilter | null;
}

/**
 * One retained message with the bare text per value of a live reading; a bad value clears its topic (contract section
 * 6).
 */
export function createPlainEncoder(options: PlainEncoderOptions): Encode {
  const { retain = true, clearRemoved = false, isWanted = null } = options;
  const topics = createSiteTopics(options);
  const sensors = sensorsOf(options.source);
  const knownTopics = fromSite(options.source, () => new Map<string, Map<string, string>>());
  return ({ reading, live }): readonly Message[] => {
    if (!live) return [];
    const { sensor, kind } = reading;
    const known = knownTopics();
    const key = `${kind} ${sensor}`;
    const ofKind = known.get(key) ?? new Map<string, string>();
    known.set(key, ofKind);
    const topicOf = (name: string): string => {
      const topic = ofKind.get(name) ?? topics.value(sensor, kind, name);
      ofKind.set(name, topic);
      return topic;
    };
    const values: Record<string, Value> = JSON.parse(reading.values);
    const wanted = Object.entries(values).filter(([name]) => isWanted === null || isWanted(name));
    const isRetained = retain && (!clearRemoved || sensors().has(sensor));
    return wanted.map(([name, value]) => ({
      topic: topicOf(name),
      payload: value === null ? "" : String(value),
      qos: 1,
      retain: isRetained,
      userProperties: { id: reading.id, kind },
    }));
  };
}
