import type { Message } from "../../../core/message.ts";
import { intactJson } from "../../../core/parsed-json.ts";
import { type Reading } from "../../../core/reading.ts";
import { type Kind, readingKinds } from "../../../core/sensor.ts";
import { isUnlistedValue } from "../../../core/sensors/channel-labels.ts";
import { kindValues } from "../../../core/sensors/kind-values.ts";
import { fromSite } from "../../../core/site-source.ts";
import { type IsChosen } from "../../../core/stored-reading.ts";
import type { Encode } from "./encoder.ts";
import { createSiteTopics, type Naming, sensorsOf } from "./naming.ts";

export interface PlainEncoderOptions extends Naming {
  /** False if the uplink does not accept retained messages. */
  readonly retain?: boolean;
  /** The values that the uplink selects; by default all. */
  readonly isWanted?: IsChosen | null;
}

interface ValueTopic {
  readonly topic: string;
  readonly retain: boolean;
}

/**
 * One retained message with the bare text per value of a live reading; a bad value clears its topic (contract section
 * 6).
 */
export function createPlainEncoder(options: PlainEncoderOptions): Encode {
  const { retain = true, isWanted = null } = options;
  const topics = createSiteTopics(options);
  const sensors = sensorsOf(options.source);
  const knownTopics = fromSite(options.source, () => new Map<string, Map<string, ValueTopic>>());
  /** A value that the site file no longer names has been cleared: a late reading must not retain it again. */
  const isKept = (code: string, kind: Kind, name: string): boolean => {
    const sensor = sensors().get(code);
    if (sensor === undefined || !readingKinds(sensor).includes(kind)) return false;
    const isListed = kindValues(sensor, kind).some((value) => value.name === name);
    return isListed || isUnlistedValue(kind, name);
  };
  return ({ reading, live }): readonly Message[] => {
    if (!live) return [];
    const { sensor, kind } = reading;
    const known = knownTopics();
    const key = `${kind} ${sensor}`;
    const ofKind = known.get(key) ?? new Map<string, ValueTopic>();
    known.set(key, ofKind);
    const topicOf = (name: string): ValueTopic => {
      const topic = ofKind.get(name) ?? {
        topic: topics.value(sensor, kind, name),
        retain: retain && isKept(sensor, kind, name),
      };
      ofKind.set(name, topic);
      return topic;
    };
    const values = intactJson<Reading["values"]>(reading.values);
    const wanted = Object.entries(values).filter(([name]) => isWanted === null || isWanted(name));
    return wanted.map(([name, value]) => ({
      ...topicOf(name),
      payload: value === null ? "" : String(value),
      qos: 1,
      userProperties: { id: reading.id, kind },
    }));
  };
}
