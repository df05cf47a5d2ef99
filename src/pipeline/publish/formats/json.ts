import type { Message } from "../../../core/message.ts";
import { intactJson } from "../../../core/parsed-json.ts";
import { type Reading } from "../../../core/reading.ts";
import { type Kind, readingKinds, type Sensor } from "../../../core/sensor.ts";
import { channelLabels } from "../../../core/sensors/channel-labels.ts";
import { fromSite } from "../../../core/site-source.ts";
import { type IsChosen, withValues } from "../../../core/stored-reading.ts";
import { describedUnits } from "./about.ts";
import { createTimeText, type Encode } from "./encoder.ts";
import { createSiteTopics, type Naming, sensorsOf } from "./naming.ts";

export interface JsonEncoderOptions extends Naming {
  /** PUBLISH_RAW. */
  readonly withRaw: boolean;
  /** Without names, location, and the units that the sensor's description tells. */
  readonly compact?: boolean;
  /** False if the uplink does not accept retained messages. */
  readonly retain?: boolean;
  /** Readings of removed sensors and kinds are not retained. */
  readonly clearRemoved?: boolean;
  /** The values that the uplink selects; by default all. */
  readonly isWanted?: IsChosen | null;
}

/** Common to all messages of one sensor and kind. */
interface MessageFrame {
  readonly liveTopic: string;
  readonly historyTopic: string;
  /** From after the id to before the time's text. */
  readonly head: string;
  /** `,"location":{…},"channels":{…}` if the site file has them. */
  readonly tail: string;
  /** Whether the description tells these units, by their text; null where readings carry them. */
  readonly isDescribed: ((units: string) => boolean) | null;
  readonly isRetained: boolean;
}

/**
 * The JSON reading of contract section 6, joined from the texts in the store: nothing is parsed or serialised per
 * reading.
 */
export function createJsonEncoder(options: JsonEncoderOptions): Encode {
  const { retain = true, clearRemoved = false, isWanted = null, compact = false } = options;
  const topics = createSiteTopics(options);
  const sensors = sensorsOf(options.source);
  const framesOf = fromSite(options.source, () => new Map<string, MessageFrame>());
  const timeText = createTimeText();

  const frameOf = (code: string, kind: Kind): MessageFrame => {
    const frames = framesOf();
    const key = `${kind} ${code}`;
    const known = frames.get(key);
    if (known) return known;
    // Stored readings of a removed sensor are still sent, without name and location.
    const sensor = sensors().get(code);
    const shown = compact ? undefined : sensor;
    const name = shown?.name === undefined ? "" : `,"name":${JSON.stringify(shown.name)}`;
    const labels = shown ? channelLabels(shown, kind) : null;
    const location = shown?.location ? `,"location":${JSON.stringify(shown.location)}` : "";
    const frame: MessageFrame = {
      liveTopic: topics.reading(code, kind),
      historyTopic: topics.history(code, kind),
      head: `","site":${JSON.stringify(options.site)},"sensor":${JSON.stringify(code)},"kind":"${kind}"${name},"time":"`,
      isRetained:
        retain && (!clearRemoved || (sensor !== undefined && readingKinds(sensor).includes(kind))),
      isDescribed: compact && sensor !== undefined ? createUnitsCheck(sensor, kind) : null,
      tail: labels === null ? location : `${location},"channels":${JSON.stringify(labels)}`,
    };
    frames.set(key, frame);
    return frame;
  };

  return ({ reading: stored, live }): readonly Message[] => {
    const reading = isWanted === null ? stored : withValues(stored, isWanted);
    if (isWanted !== null && reading.values === "{}") return [];
    const frame = frameOf(reading.sensor, reading.kind);
    const units = frame.isDescribed?.(reading.units) ? "" : `,"units":${reading.units}`;
    const raw = options.withRaw ? `,"raw":${reading.raw}` : "";
    return [
      {
        topic: live ? frame.liveTopic : frame.historyTopic,
        payload: `{"v":1,"id":"${reading.id}${frame.head}${timeText(reading.timeMs)}","values":${reading.values}${units},"quality":${reading.quality},"attributes":${reading.attributes}${frame.tail}${raw},"historical":${!live}}`,
        qos: 1,
        retain: live && frame.isRetained,
        contentType: "application/json",
        userProperties: { id: reading.id, kind: reading.kind },
      },
    ];
  };
}

/**
 * A reading that was stored before the unit of a channel was changed must not take the new one from the description. Parses
 * each text once: a sensor has few.
 */
function createUnitsCheck(sensor: Sensor, kind: Kind): (units: string) => boolean {
  const described = describedUnits(sensor)[kind] ?? {};
  const known = new Map<string, boolean>();
  return (units) => {
    let isDescribed = known.get(units);
    if (isDescribed === undefined) {
      const own = Object.entries(intactJson<Reading["units"]>(units));
      isDescribed = own.every(([value, unit]) => described[value] === unit);
      known.set(units, isDescribed);
    }
    return isDescribed;
  };
}
